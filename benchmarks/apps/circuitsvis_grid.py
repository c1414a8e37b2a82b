"""The slider and CircuitsVis's heads of the same weights."""

import re

import peer
import streamlit as st
from circuitsvis.attention import attention_heads
from setting import chosen

# Every drawing of a map starts with clearing its canvas.
WATCH = """
const { clearRect } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.clearRect = function (...sides) {
  drawn();
  return clearRect.apply(this, sides);
};
"""

st.set_page_config(layout="wide")
_, layer = chosen()
trace = layer.trace
page = attention_heads(trace.weights, list(trace.key_tokens), mask_upper_tri=False).cdn_src
page = re.sub(r'import (\{[^}]*\}) from "https://[^"]*"', r"const \1 = CircuitsVis", page)
bundle = f'<script src="{peer.SCRIPTS}/circuitsvis.js"></script>'
peer.show(bundle + page, WATCH)
