"""Controls of the variants of attention, folded; and of the second input in cross-attention."""

from __future__ import annotations

import streamlit as st

from attnviz.core.config import divisors
from attnviz.scenario import PARAMS, Scenario
from attnviz.ui.parameters import parameter

VARIANTS = ("n_kv_heads", "d_value", "is_scaled", "softcap", "sinks", "dropout")


def variants(scenario: Scenario) -> None:
    """Key/value heads, value columns, scaling, soft cap, sinks and dropout; drawn only while they are unfolded."""
    changed = sum(getattr(scenario, name) != getattr(Scenario, name) for name in VARIANTS)
    label = f"Variants ({changed} on)" if changed else "Variants"
    folded = st.expander(label, key="variants", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.selectbox(
            "Key/value heads",
            [0, *divisors(scenario.n_heads)[:-1]],
            key="n_kv_heads",
            format_func=lambda count: str(count) if count else "one each",
            help="Fewer than heads: each serves several query heads (grouped queries); 1 is multi-query attention.",
        )
        says = "Columns of each head's value; 0 for as many as its query has."
        parameter("d_value", PARAMS["d_value"], label="Value columns", summary=says)
        says = "Whether scores are divided by √d_head, which keeps their spread the same for any width."
        parameter("is_scaled", PARAMS["is_scaled"], label="Scores over √d_head", summary=says)
        says = "Keeps every score between minus and plus this size, by tanh; 0 for none."
        parameter("softcap", PARAMS["softcap"], label="Soft cap", summary=says)
        says = "One more key for each head, without a value, that takes a part of every row: rows sum to less than 1."
        parameter("sinks", PARAMS["sinks"], label="Learned sinks", summary=says)
        says = "Share of the weights that training drops at random; pictures and numbers show the weights before it."
        parameter("dropout", PARAMS["dropout"], label="Dropout", summary=says)


def second_input(scenario: Scenario) -> None:
    """The other text, or the other vectors, that keys and values come from."""
    st.toggle(
        "Cross-attention",
        key="cross",
        help="Queries come from the input above, keys and values from another: as a decoder reads an encoder.",
    )
    if not scenario.cross:
        return
    if scenario.input == "vectors":
        says = "How many other vectors the keys and values come from."
        parameter("n_keys", PARAMS["n_keys"], label="Length of the keys (tokens)", summary=says)
    else:
        st.text_area(
            "Sentence of the keys",
            key="key_text",
            height=88,
            placeholder="Type a sentence.",
            help="Press Ctrl+Enter to apply. The same word has the same vector as in the sentence above.",
        )
