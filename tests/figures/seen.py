"""Weights in another view, as the pages hand them to the pictures."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from attnviz import AttentionTrace
from attnviz.figures import head_grid, viewing_words
from attnviz.figures.pattern import MOST_SIDE
from attnviz.figures.theme import SINGLE_HUE
from attnviz.figures.viewed import Seen
from attnviz.metrics import overview
from attnviz.metrics.pooling import Window
from attnviz.metrics.viewing import View, rows_left_empty, viewed, viewed_window


def viewed_maps(trace: AttentionTrace, view: View) -> Seen:
    """The small maps of all heads."""
    shown, weights = viewed(trace, view), viewed(trace, view.of_weights)
    return Seen(view, shown.maps, weights.maps, weights.is_empty, viewing_words.badge(view, trace.key_tokens))


def viewed_part(trace: AttentionTrace, view: View, head: int = 0) -> Seen:
    """The whole map of one head."""
    window = Window(0, trace.n_q, 0, trace.n_k)
    shown, weights = (viewed_window(trace, head, window, MOST_SIDE, each) for each in (view, view.of_weights))
    badge = viewing_words.badge(view, trace.key_tokens)
    return Seen(view, shown, weights, rows_left_empty(trace, head, view), badge)


def viewed_grid(
    trace: AttentionTrace, view: View, *, shared_scale: bool = True, roles: Sequence[str] | None = None
) -> go.Figure:
    """The grid of heads in a view."""
    return head_grid(
        trace,
        overview(trace),
        roles or ("",) * trace.n_heads,
        selected=0,
        scale=SINGLE_HUE,
        shared_scale=shared_scale,
        seen=viewed_maps(trace, view),
    )
