"""One query's attention, key by key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.core.trace import AttentionTrace
from attnviz.figures.labels import escaped, short
from attnviz.figures.meta import Ticks
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout

MOST_KEYS = 24


def keys_to_show(weights: np.ndarray, allowed: np.ndarray, key: int, most: int = MOST_KEYS) -> list[int]:
    """All keys if they are few, else the allowed ones with the largest weights and the chosen one, in their order.

    >>> keys_to_show(np.array([0.1, 0.6, 0.2, 0.1, 0.0]), np.array([1, 1, 1, 1, 0], bool), key=3, most=3)
    [1, 2, 3]
    """
    if weights.size <= most:
        return list(range(weights.size))
    order = np.argsort(-weights, kind="stable")
    largest = [int(place) for place in order[allowed[order]][:most]] or [key]
    if key not in largest:
        largest = [*largest[: most - 1], key]
    return sorted(largest)


def key_axis(labels: Sequence[str]) -> dict[str, object]:
    """The axis of keys that stand one below the other, the first on top."""
    return axis(
        "key",
        range=[len(labels) - 0.5, -0.5],
        tickmode="array",
        tickvals=list(range(len(labels))),
        ticktext=[escaped(label) for label in labels],
        type="linear",
    )


def query_bars(trace: AttentionTrace, *, head: int, query: int, key: int) -> go.Figure:
    """Weight of each key for one query, beside what a uniform head would give each allowed key."""
    row, allowed = trace.row(head, query)
    weights = row.astype(np.float64)
    keys = keys_to_show(weights, allowed, key)
    share = 1 / max(int(allowed.sum()), 1)
    rows = np.arange(len(keys))
    labels = [
        f"{place} {short(trace.key_tokens[place])}" + ("" if allowed[place] else " (forbidden)") for place in keys
    ]
    bars: dict[str, object] = {
        "type": "bar",
        "orientation": "h",
        "x": weights[keys],
        "y": rows,
        "marker": {"color": [LIGHT.accent if place == key else LIGHT.mark for place in keys]},
        "hovertemplate": "%{x:.4f}<extra></extra>",
        "name": "weight",
    }
    uniform: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "x": np.where(allowed[keys], share, np.nan),
        "y": rows,
        "marker": {"symbol": "line-ns-open", "size": 12, "color": LIGHT.baseline, "line": {"width": 2}},
        "hovertemplate": "%{x:.4f}<extra>uniform</extra>",
        "name": "uniform over the allowed keys",
    }
    picture = layout(
        meta=Ticks(y=tuple(labels), strong=keys.index(key)).to_meta(),
        showlegend=True,
        legend=LEGEND,
        bargap=0.25,
        xaxis=axis("weight", rangemode="tozero", showgrid=True, gridcolor=LIGHT.line, nticks=5),
        yaxis=key_axis(labels),
        height=90 + 19 * max(len(keys), 4),
    )
    return figure([bars, uniform], picture)
