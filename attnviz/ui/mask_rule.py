"""The way to a mask that is typed as a rule: what may stand in one, and examples."""

from __future__ import annotations

import streamlit as st

from attnviz.masks.reading import ARITHMETIC, COMPARISONS, NAMES
from attnviz.registries import MASKS
from attnviz.registry import Text
from attnviz.scenario import Scenario
from attnviz.ui import session

RULE = "rule"
MOST_EXAMPLES = 3
MEANINGS = ("place of the query", "place of the key", "number of keys", "head")


def is_rule(scenario: Scenario) -> bool:
    """Whether the structure on screen is a rule."""
    return scenario.mask.name == RULE


def invitation(scenario: Scenario) -> None:
    """The button that makes the structure a rule, where it is none."""
    if not is_rule(scenario):
        st.button(
            "Type a rule",
            on_click=session.setter(mask=RULE),
            help="Makes the structure a rule of your own, such as k <= q, which is typed in the sidebar.",
        )


def examples(scenario: Scenario) -> None:
    """What a rule may hold, and a button for each of some examples; nothing where the structure is no rule."""
    if not is_rule(scenario):
        return
    names = ", ".join(f"`{name}` ({meaning})" for name, meaning in zip(NAMES, MEANINGS, strict=True))
    arithmetic, comparisons = (" ".join(symbols.values()) for symbols in (ARITHMETIC, COMPARISONS))
    st.markdown(
        "A query may attend to a key where the rule is true. It is typed in the sidebar, below Mask, with "
        f"{names}, where places and heads count from 0, with whole numbers, `{arithmetic}` (the last two: whole part "
        f"and rest of a division) and `{comparisons}`, also two at once as in `0 <= q - k < 4`. Join comparisons, each "
        "in parentheses, by `&` (and) or `|` (or); `~` is not. For example:"
    )
    with st.container(horizontal=True, gap="small", key="rule_examples"):
        for text in _texts():
            st.button(f"`{text}`", on_click=session.setter(**{f"mask.{RULE}": text}))


def _texts() -> tuple[str, ...]:
    """The first examples that the rule itself gives."""
    (param,) = MASKS[RULE].params
    assert isinstance(param.domain, Text)
    return param.domain.examples[:MOST_EXAMPLES]
