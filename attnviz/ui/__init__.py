"""The user interface: the only package that imports Streamlit."""
