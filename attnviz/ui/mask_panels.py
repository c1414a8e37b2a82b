"""The panels of the page about masks that are always on screen: the picture, and its numbers."""

from __future__ import annotations

import numpy as np

from attnviz.cost import attention_cost, pair_cost
from attnviz.figures import answers, keys_allowed, mask_heatmap, mask_words
from attnviz.figures.pattern import MOST_SIDE, fitting_window, is_exact
from attnviz.masks import build_mask, padded_position_ids
from attnviz.metrics.reach import Reach
from attnviz.scenario import Scenario
from attnviz.ui import compute, drawing, mask_rule, session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words

MOST_TOKENS = 512


def at_a_glance(scenario: Scenario, layer: Layer) -> tuple[str, ...]:
    """Sentences on what the mask saves, where positions start, and which pairs are reachable through many layers."""
    trace, n_allowed = layer.trace, layer.survey().small.n_allowed
    pairs = trace.n_heads * trace.n_q * trace.n_k
    allowed = int(n_allowed.sum()) * (trace.n_heads // len(n_allowed))
    width, columns, size = trace.d_head, trace.value.shape[2], trace.query.dtype.itemsize
    whole, few = (pair_cost(count, width, columns, bytes_per_number=size) for count in (pairs, allowed))
    d_model, kv_heads = trace.x.shape[1], trace.key.shape[0]
    cost = attention_cost(trace.n_q, trace.n_k, d_model, trace.n_heads, n_kv_heads=kv_heads, d_value=columns)
    found = reach_of(scenario, layer)
    said = (mask_words.saved_answer(whole, few, cost.flops), *_positions(scenario, layer))
    return (*said, mask_words.reachable_answer(found)) if found else said


def _positions(scenario: Scenario, layer: Layer) -> tuple[str, ...]:
    """From where positions count, where padding stands on the left; the trained model counts from its first place."""
    n_k = layer.trace.n_k
    places = np.flatnonzero(build_mask([scenario.padding], 1, n_k)[0])
    if scenario.input == "trained" or not len(places) or not places[0]:
        return ()
    positions = padded_position_ids(scenario.masks, n_k)[places]
    return (mask_words.positions_answer(places.tolist(), positions.tolist(), of_keys=is_cross(scenario)),)


def reach_of(scenario: Scenario, layer: Layer) -> Reach | None:
    """Which token gets to which; None in cross-attention, and where the map is too large."""
    trace = layer.trace
    if is_cross(scenario) or trace.n_q > MOST_TOKENS:
        return None
    return compute.reach_of(scenario.masks, trace.n_q, trace.n_heads)


def is_cross(scenario: Scenario) -> bool:
    """Whether keys come from another input than queries."""
    return scenario.cross and scenario.input != "trained"


def picture(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """Which pairs may attend; a click chooses a pair, or draws."""
    trace, found = layer.trace, layer.survey()
    drawing.tools(scenario, trace)
    window = fitting_window(session.zoomed(drawing.PICTURE, trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    has_keys = np.broadcast_to(found.small.has_keys, (trace.n_heads, trace.n_q))[head]
    caption = (
        "Click a cell to switch it; "
        if drawing.is_drawing(scenario, trace)
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
            mask_words.mask_answer(found.small, head),
            caption,
            mask_words.mask_alt(trace, found.small, head),
        ),
        on_click=drawing.on_click(scenario, trace),
    )
    mask_rule.examples(scenario)


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
            mask_words.keys_answer(allowed, trace),
            "The fewer keys a query may attend to, the larger its weights are for that alone.",
            mask_words.keys_alt(allowed),
        ),
    )
