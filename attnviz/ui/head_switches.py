"""A switch for each head of the layer on screen: what is off is the scenario's, the control only shows it."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from attnviz.picks import HeadAt, heads_as_text, heads_in
from attnviz.scenario import Scenario
from attnviz.ui import session
from attnviz.ui.layer import Shown

MOST_PILLS = 32
ON = "heads_on"
OFF = "heads_off"
HELP = (
    "A head that is off still shows where it looks, but what it writes is left out of the output, and with a trained "
    "model every later layer goes without it. The link keeps it."
)


def switches(scenario: Scenario, shown: Shown) -> None:
    """A control that switches heads of the layer on screen off and on; of many heads it lists those that are off."""
    trace = shown.layer.trace
    heads, off = range(trace.n_heads), set(trace.removed)
    named = f"layer {shown.index}, " if shown.count > 1 else ""
    if trace.n_heads <= MOST_PILLS:
        session.follow_choices(ON, [head for head in heads if head not in off])
        st.pills(
            f"Heads that are on ({named}click to switch)",
            heads,
            selection_mode="multi",
            key=ON,
            help=HELP,
            wrap=True,
            on_change=lambda: _take(scenario, shown.index, set(heads) - set(session.choices(ON))),
        )
        return
    session.follow_choices(OFF, sorted(off))
    st.multiselect(
        f"Heads that are off{f' ({named[:-2]})' if named else ''}",
        heads,
        key=OFF,
        help=HELP,
        placeholder="All heads are on.",
        wrap=True,
        on_change=lambda: _take(scenario, shown.index, session.choices(OFF)),
    )


def _take(scenario: Scenario, layer: int, off: Iterable[int]) -> None:
    session.change(removed=with_layer(scenario.removed, layer, off))


def with_layer(removed: str, layer: int, off: Iterable[int]) -> str:
    """The heads that are off, with those of one layer replaced.

    >>> with_layer("3, 1.2, 1.4", 1, [0])
    '3, 1.0'
    """
    others = [at for at in heads_in(removed) if at.layer != layer]
    return heads_as_text([*others, *(HeadAt(layer, head) for head in off)])
