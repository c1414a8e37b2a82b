"""The panels of the page about masks."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.figures import alt, answers, keys_allowed, mask_heatmap, mask_row
from attnviz.figures.pattern import MOST_SIDE, fitting_window, is_exact
from attnviz.masks import build_mask, flex_attention_code, numpy_code, sdpa_code
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from attnviz.ui import drawing, session, show
from attnviz.ui.compute import Layer
from attnviz.ui.live import Words

MOST_COMPOSED = 512
CODE = {"NumPy": numpy_code, "PyTorch SDPA": sdpa_code, "FlexAttention": flex_attention_code}
PARTS = {"mask": "Structure", "sparsity": "Sparsity", "padding": "Padding"}


def picture(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """Which pairs may attend; a click chooses a pair, or draws."""
    trace, found = layer.trace, layer.survey()
    drawing.tools(scenario, trace)
    window = fitting_window(session.zoomed(drawing.PICTURE, trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    has_keys = np.broadcast_to(found.small.has_keys, (trace.n_heads, trace.n_q))[head]
    caption = (
        "Click a cell to switch it; "
        if drawing.is_canvas(scenario, trace)
        else "Click a cell to choose its query and key; "
    )
    caption += "drag to zoom, double-click to go back."
    if not is_exact(window):
        caption += f" A cell is allowed where any pair of its block is; zoom in to at most {MOST_SIDE} tokens for all."
    if not has_keys.all():
        caption += " ⊘ marks a query with no key allowed."
    show.figure(
        mask_heatmap(trace, layer.part(head, window), window, head=head, query=query, key=key, has_keys=has_keys),
        key=drawing.PICTURE,
        words=Words(
            f"Which pairs may attend{_where(layer, head)}?",
            answers.mask_answer(found.small, head),
            caption,
            alt.mask(trace, found.small, head),
        ),
        on_click=drawing.on_click(scenario, trace),
    )


def _where(layer: Layer, head: int) -> str:
    """The head, where the mask differs from head to head."""
    return f" in {answers.named(head, layer.roles)}" if len(layer.survey().small.n_allowed) > 1 else ""


def keys_per_query(layer: Layer, head: int, query: int) -> None:
    """How many keys each query may attend to."""
    found, trace = layer.survey(), layer.trace
    allowed = np.broadcast_to(found.small.n_allowed, (trace.n_heads, trace.n_q))[head]
    show.figure(
        keys_allowed(allowed, trace, query=query),
        key="keys_allowed",
        words=Words(
            "How many keys does each query see?",
            answers.keys_answer(allowed, trace.n_k),
            "The fewer keys a query may attend to, the larger its weights are for that alone.",
            alt.keys_allowed(allowed),
        ),
    )


def composition(scenario: Scenario, layer: Layer, head: int) -> None:
    """Structure, sparsity and padding, and what all three allow together."""
    trace = layer.trace
    if max(trace.n_q, trace.n_k) > MOST_COMPOSED:
        st.caption(f"The three masks are shown side by side up to {MOST_COMPOSED} tokens.")
        return
    h = trace.n_heads
    parts = {
        f"{PARTS[field]}: {MASKS[spec.name].label}": build_mask([spec], trace.n_q, trace.n_k, n_heads=h)
        for field, spec in zip(PARTS, scenario.masks, strict=True)
    }
    masks = {name: mask[head if len(mask) > 1 else 0] for name, mask in parts.items()}
    together = np.logical_and.reduce(list(masks.values()))
    shares = [float(mask.mean()) for mask in masks.values()]
    show.figure(
        mask_row({**masks, "All three": together}, trace, fit=4 if session.fitting_maps("composition") > 4 else 2),
        key="composition",
        words=Words(
            "What do the three masks make together?",
            answers.composition_answer(shares, float(together.mean())),
            "A pair may attend where structure AND sparsity AND padding allow it.",
            alt.composition(list(masks), shares, float(together.mean())),
        ),
    )


def code(scenario: Scenario, layer: Layer) -> None:
    """The mask as a program."""
    trace = layer.trace
    st.markdown("### The mask as code")
    chosen = st.segmented_control(
        "Library",
        list(CODE),
        key="mask_code",
        default="NumPy",
        required=True,
        label_visibility="collapsed",
    )
    st.code(CODE[chosen](scenario.masks, trace.n_q, trace.n_k, n_heads=trace.n_heads), language="python")
