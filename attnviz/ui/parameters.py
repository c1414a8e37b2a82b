"""The control of a parameter, from its declared type and range."""

from __future__ import annotations

import streamlit as st

from attnviz.registry import Choice, Param, Range, Text
from attnviz.ui import session
from attnviz.ui.show import marked

MOST_SLIDER_STEPS = 100


def parameter(key: str, param: Param, label: str | None = None, summary: str | None = None) -> None:
    """The control that a parameter's declared type and range ask for, with what it does as its help."""
    words, says = label or param.label.capitalize(), summary or param.summary or None
    if isinstance(param.domain, Choice):
        st.selectbox(words, param.domain.options, key=key, help=says)
    elif isinstance(param.domain, Range):
        low, high = param.kind(param.domain.low), param.kind(param.domain.high)
        step = param.kind(param.domain.step or 1)
        if (high - low) / step <= MOST_SLIDER_STEPS:
            st.slider(words, low, high, step=step, key=key, help=says)
        else:
            form = "%d" if param.kind is int else "%g"
            st.number_input(words, low, high, step=step, key=key, format=form, help=says)
    elif isinstance(param.domain, Text):
        st.text_input(words, max_chars=param.domain.longest, key=key, help=says)
        problem = session.refused(key)
        if problem:
            st.error(marked(problem))
    else:
        st.toggle(words, key=key, help=says)
