"""The slider and attnviz's grid of heads alone, drawn by the function that the Playground calls."""

import streamlit as st
from setting import chosen

from attnviz.ui import panels

st.set_page_config(layout="wide")
panels.grid(*chosen(), head=0)
