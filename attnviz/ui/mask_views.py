"""The views of a mask of which one at a time is chosen, computed and drawn."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.figures import mask_row, mask_words
from attnviz.masks import build_mask, flex_attention_code, numpy_code, sdpa_code
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from attnviz.ui import controls, mask_depth, mask_gallery, mask_mistakes, session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words
from attnviz.ui.mask_panels import MOST_TOKENS

CODE = {"NumPy": numpy_code, "PyTorch SDPA": sdpa_code, "FlexAttention": flex_attention_code}
PARTS = {"mask": "Structure", "sparsity": "Sparsity", "padding": "Padding"}
VIEWS = {
    "gallery": "All masks",
    "together": "Three masks together",
    "depth": "Through layers",
    "polarity": "True or False?",
    "order": "Before or after the softmax",
    "code": "Code",
}


def chosen(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """The control that chooses a view, and that view."""
    controls.view_picker("mask_view", VIEWS)
    view = scenario.mask_view
    if view == "gallery":
        mask_gallery.gallery(scenario, layer)
    elif view == "together":
        together(scenario, layer, head)
    elif view == "depth":
        mask_depth.depth(scenario, layer, head, query, key)
    elif view == "polarity":
        mask_mistakes.polarity(scenario, layer, head, query, key)
    elif view == "order":
        mask_mistakes.order(layer, head, query, key)
    else:
        code(scenario, layer)


def together(scenario: Scenario, layer: Layer, head: int) -> None:
    """Structure, sparsity and padding, and what all three allow together."""
    trace = layer.trace
    if max(trace.n_q, trace.n_k) > MOST_TOKENS:
        st.caption(f"The three masks are shown side by side up to {MOST_TOKENS} tokens.")
        return
    h = trace.n_heads
    parts = {
        f"{PARTS[field]}: {MASKS[spec.name].label}": build_mask([spec], trace.n_q, trace.n_k, n_heads=h)
        for field, spec in zip(PARTS, scenario.masks, strict=True)
    }
    masks = {name: mask[head if len(mask) > 1 else 0] for name, mask in parts.items()}
    all_three = np.logical_and.reduce(list(masks.values()))
    shares = [float(mask.mean()) for mask in masks.values()]
    show.figure(
        mask_row({**masks, "All three": all_three}, trace, fit=4 if session.fitting_maps("composition") > 4 else 2),
        key="composition",
        words=Words(
            "What do the three masks make together?",
            mask_words.composition_answer(shares, float(all_three.mean())),
            "A pair may attend where structure AND sparsity AND padding allow it.",
            mask_words.composition_alt(list(masks), shares, float(all_three.mean())),
        ),
    )


def code(scenario: Scenario, layer: Layer) -> None:
    """The mask as a program."""
    trace = layer.trace
    st.markdown("### The mask as code\nThe button at the top right of the code copies it.")
    library = str(session.keep_view("mask_code", "NumPy"))
    st.segmented_control(
        "Library",
        list(CODE),
        key="mask_code",
        required=True,
        label_visibility="collapsed",
    )
    program = CODE[library](scenario.masks, trace.n_q, trace.n_k, n_heads=trace.n_heads)
    st.code(program, language="python", wrap_lines=True)
