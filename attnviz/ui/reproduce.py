"""The way from the page to a program of one's own."""

from __future__ import annotations

import streamlit as st

from attnviz.scenario import Scenario
from attnviz.snippet import snippet


def in_python(scenario: Scenario) -> None:
    """A folded program that computes what is on screen; written when it is opened."""
    folded = st.expander("Reproduce in Python", key="reproduce", on_change="rerun")
    if folded.open:
        folded.code(snippet(scenario, has_measure=scenario.heads_view == "measure"), language="python", wrap_lines=True)
