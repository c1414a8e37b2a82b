"""How far tokens see through several layers of the mask on screen."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.figures import mask_words
from attnviz.figures.pattern import fitting_window, is_exact
from attnviz.figures.reach import reach_line, reach_map
from attnviz.metrics.reach import Reach
from attnviz.numbers import counted
from attnviz.scenario import PARAMS, Scenario
from attnviz.ui import session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words
from attnviz.ui.mask_panels import MOST_TOKENS, is_cross, reach_of
from attnviz.ui.parameters import parameter

MAP = "reach_map"


def depth(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """The map of what is reached after so many layers, beside how it grows."""
    found = reach_of(scenario, layer)
    if found is None:
        if is_cross(scenario):
            reason = (
                "In cross-attention every layer reads the same keys, so more layers reach no more of them: "
                "the picture above is all there is."
            )
        else:
            reason = f"Reach is computed for up to {MOST_TOKENS} tokens; here are {layer.trace.n_q}."
        st.info(reason)
        return
    large, beside = st.columns([3, 2], gap="medium")
    with beside:
        summary = "How many layers with this mask stand one upon the other."
        parameter("depth", PARAMS["depth"], label="Layers", summary=summary)
        _growth(found, layer, scenario.depth, query)
    with large:
        _map(found, layer, head, query, key, scenario.depth)


def _map(found: Reach, layer: Layer, head: int, query: int, key: int, n_layers: int) -> None:
    trace = layer.trace
    window = fitting_window(session.zoomed(MAP, trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    small = layer.survey().small
    has_keys = np.broadcast_to(small.has_keys, (trace.n_heads, trace.n_q))[head]
    caption = (
        "Row: the token that gathers; column: where it comes from. R = (I or M)ᴸ in booleans, M the mask: a layer adds "
        "to what a token holds already, so each keeps itself (residual stream). It says what can flow, not what does."
    )
    if len(small.n_allowed) > 1:
        caption += " A pair counts where any head allows it."
    if not is_exact(window):
        caption += " Of several pairs in one cell the nearest is shown."
    show.figure(
        reach_map(trace, found, window, depth=n_layers, query=query, key=key, has_keys=has_keys),
        key=MAP,
        words=Words(
            f"What can reach a token through {counted(n_layers, 'layer')} of this mask?",
            mask_words.depth_answer(found, trace, query, n_layers),
            caption,
            mask_words.reach_alt(found, n_layers),
        ),
        on_click=session.click_setter(MAP),
    )


def _growth(found: Reach, layer: Layer, n_layers: int, query: int) -> None:
    show.figure(
        reach_line(found, layer.trace, depth=n_layers, query=query),
        key="reach_line",
        words=Words(
            "How many layers does it take?",
            mask_words.growth_answer(found),
            "Share of all pairs, and of the tokens for the chosen query, that are reached after so many layers, in %.",
            mask_words.growth_alt(found),
        ),
    )
