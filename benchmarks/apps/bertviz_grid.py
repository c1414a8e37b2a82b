"""The slider and BertViz's head view of the same weights."""

import re

import peer
import streamlit as st
import torch
from bertviz import head_view
from setting import chosen

# All lines are drawn in one task, after which the observer is called.
WATCH = """
new MutationObserver((_, observer) => {
  if (document.querySelectorAll(".headAttention").length < %d) return;
  observer.disconnect();
  drawn();
}).observe(document, { childList: true, subtree: true });
"""

st.set_page_config(layout="wide")
_, layer = chosen()
trace = layer.trace
page = head_view([torch.tensor(trace.weights)[None]], list(trace.key_tokens), html_action="return").data
page = re.sub(r"https://[^'\"]*/(require|d3|jquery)(\.min)?(\.js)?(?=['\"])", rf"{peer.SCRIPTS}/\1\3", page)
peer.show(page, WATCH % trace.n_heads)
