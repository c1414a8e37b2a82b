"""A page with one sentence: what opening any Streamlit page costs."""

import streamlit as st

st.markdown("One sentence.")
