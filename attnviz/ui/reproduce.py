"""The way from the page to a program of one's own."""

from __future__ import annotations

import streamlit as st

from attnviz.scenario import Scenario
from attnviz.snippet import snippet


def in_python(scenario: Scenario) -> None:
    """A folded program that computes what is on screen; written when it is opened."""
    if scenario.heads_view == "number" and scenario.input == "trained":
        return
    folded = st.expander("Reproduce in Python", key="reproduce", on_change="rerun")
    if folded.open:
        folded.code(snippet(scenario, scenario.heads_view), language="python", wrap_lines=True)
