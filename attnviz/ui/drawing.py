"""Drawing a mask by clicking on its picture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from attnviz.core.trace import AttentionTrace
from attnviz.masks import decode_drawing, drawing_of, encode_drawing, toggled
from attnviz.masks.drawing import LARGEST_SIDE, LINES
from attnviz.numbers import counted
from attnviz.scenario import Scenario
from attnviz.shapes import Mask
from attnviz.ui import mask_rule, session

PICTURE = "mask_picture"
KIND = "drawing.kind"
CHOOSE = "choose"
LABELS = {CHOOSE: "Choose", "cell": "Cell", "row": "Row", "column": "Column", "diagonal": "Diagonal", "band": "Band"}


def is_canvas(scenario: Scenario, trace: AttentionTrace) -> bool:
    """Whether the mask on screen can be drawn on: it is a drawing, and not too large for one."""
    return scenario.mask.name == "drawn" and trace.n_k <= LARGEST_SIDE


def is_drawing(scenario: Scenario, trace: AttentionTrace) -> bool:
    """Whether clicks on the mask on screen draw now, and do not choose a pair."""
    return is_canvas(scenario, trace) and session.view(KIND, LINES[0]) != CHOOSE


def on_canvas(text: str, side: int) -> Mask:
    """A drawing on a canvas of this side: cut where it is larger, with forbidden cells where it is smaller.

    >>> on_canvas("1-gA", 2).astype(int)
    array([[1, 0],
           [0, 0]])
    """
    drawn = decode_drawing(text)[:side, :side]
    canvas = np.zeros((side, side), dtype=bool)
    canvas[: len(drawn), : len(drawn)] = drawn
    return canvas


def after_click(text: str, kind: str, query: int, key: int, *, n_q: int, n_k: int) -> str:
    """The drawing with the clicked line switched; a query's row is its place among the keys."""
    row = query + n_k - n_q
    if row < 0:
        return text
    return encode_drawing(toggled(on_canvas(text, n_k), kind, row, key))


def tools(scenario: Scenario, trace: AttentionTrace) -> None:
    """What a click does, undo, and the ways from the mask on screen to a drawing of it and to a rule."""
    if trace.n_k > LARGEST_SIDE:
        st.caption(f"A mask can be drawn on up to {LARGEST_SIDE} keys; here are {counted(trace.n_k, 'key')}.")
        mask_rule.invitation(scenario)
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="drawing_tools"):
        if is_canvas(scenario, trace):
            session.keep_view(KIND, LINES[0])
            st.segmented_control(
                "What a click does",
                list(LABELS),
                key=KIND,
                format_func=LABELS.__getitem__,
                required=True,
                help="Choose takes query and key and leaves the drawing as it is. The others draw: the whole line "
                "through the clicked cell is set to what that cell becomes. A band reaches from the main diagonal to "
                "the clicked one.",
            )
            st.button("Undo", on_click=_undo, disabled=not session.earlier("drawing"), help="One click back.")
        else:
            st.button(
                "Draw on this mask",
                on_click=_start(scenario, trace.n_k),
                help="Makes a drawing of the three masks together, of the first head; then every click changes it.",
            )
        mask_rule.invitation(scenario)


def on_click(scenario: Scenario, trace: AttentionTrace) -> Callable[[], None]:
    """What a click on the picture does: while one draws it switches cells, else it chooses query and key."""
    if not is_drawing(scenario, trace):
        return session.click_setter(PICTURE)
    before = str(scenario.mask["drawing"])

    def draw() -> None:
        cell = session.clicked_cell(PICTURE)
        if cell is None:
            return
        kind = str(session.view(KIND, LINES[0]))
        session.remember("drawing", [*session.earlier("drawing"), before])
        after = after_click(before, kind, *cell, n_q=trace.n_q, n_k=trace.n_k)
        session.setter(**{"mask.drawing": after, "query": cell[0], "key": cell[1]})()

    return draw


def _start(scenario: Scenario, side: int) -> Callable[[], None]:
    def start() -> None:
        session.remember("drawing", [])
        drawing = drawing_of(scenario.masks, side)
        changes = {"mask": "drawn", "mask.drawing": drawing, "sparsity": "dense", "padding": "no_padding"}
        session.setter(**changes)()

    return start


def _undo() -> None:
    texts = session.earlier("drawing")
    if texts:
        session.remember("drawing", texts[:-1])
        session.setter(**{"mask.drawing": texts[-1]})()
