"""A peer's page inside the app: its scripts from the benchmark's own server, and word when its picture is drawn."""

import os

import streamlit as st

SCRIPTS = os.environ.get("BENCHMARK_SCRIPTS", "")
HEIGHT = 800


def show(page: str, watch: str) -> None:
    """Show a page; `watch` is JavaScript that runs before it and calls `drawn()` whenever the picture is drawn."""
    said = f'<script>const drawn = () => parent.postMessage("drawn", "*"); {watch}</script>'
    st.iframe(said + page, height=HEIGHT)
