"""A slider that changes a number: the least that any change of a Streamlit page costs."""

import streamlit as st

sharpness = st.slider("Sharpness", 0.0, 8.0, 1.0, step=0.1)
st.markdown(f"{sharpness:.1f}")
