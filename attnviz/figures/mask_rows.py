"""One query under two ways to use its mask, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.core.trace import AttentionTrace
from attnviz.figures.labels import short
from attnviz.figures.mask import query_axis, query_name
from attnviz.figures.meta import Ticks
from attnviz.figures.row import key_axis
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.pooling import pool_factor
from attnviz.shapes import MaskRow, PerKey

MOST_POINTS = 2048
FEW_KEYS = 12
COLOURS = (LIGHT.mark, LIGHT.baseline)


def two_rows(
    rows: Mapping[str, PerKey], trace: AttentionTrace, allowed: MaskRow, keys: Sequence[int], *, key: int
) -> go.Figure:
    """Weights of one query in two versions, key by key.

    Parameters
    ----------
    rows
        The versions by name, the right one first.
    trace, allowed
        The layer, and the keys that the query may attend to.
    keys, key
        Keys that are shown, and the chosen one.
    """
    places = np.arange(len(keys))
    labels = [
        f"{place} {short(trace.key_tokens[place])}" + ("" if allowed[place] else " (forbidden)") for place in keys
    ]
    bars: list[dict[str, object]] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": row.astype(np.float64)[list(keys)],
            "y": places,
            "marker": {"color": colour},
            "hovertemplate": f"{name}: %{{x:.4f}}<extra></extra>",
            "name": name,
        }
        for (name, row), colour in zip(rows.items(), COLOURS, strict=True)
    ]
    picture = layout(
        meta=Ticks(y=tuple(labels), strong=keys.index(key) if key in keys else None).to_meta(),
        showlegend=True,
        legend=LEGEND,
        bargap=0.3,
        xaxis=axis("weight", range=[0, 1.02], showgrid=True, gridcolor=LIGHT.line, nticks=6),
        yaxis=key_axis(labels),
        height=90 + (24 if len(keys) <= FEW_KEYS else 17) * max(len(keys), 3),
    )
    return figure(bars, picture)


def row_sums(sums: Mapping[str, Float[np.ndarray, " q"]], trace: AttentionTrace, *, query: int) -> go.Figure:
    """What the weights of each query sum to in two versions, with the chosen query marked."""
    step = pool_factor(trace.n_q, MOST_POINTS)
    places = np.arange(0, trace.n_q, step)
    lines: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": places,
            "y": values[places],
            "line": {"color": colour, "width": 2, "shape": "hvh"},
            "hovertemplate": f"{name}, query %{{x}}: %{{y:.4f}}<extra></extra>",
        }
        for (name, values), colour in zip(sums.items(), COLOURS, strict=True)
    ]
    chosen: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": query_name(trace, query),
        "x": [query] * len(sums),
        "y": [float(values[query]) for values in sums.values()],
        "marker": {"color": LIGHT.accent, "size": 9},
        "hovertemplate": "query %{x}: %{y:.4f}<extra></extra>",
    }
    xaxis, ticks = query_axis(trace)
    picture = layout(
        meta=ticks.to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=xaxis,
        yaxis=axis("sum of the weights", range=[0, 1.08], showgrid=True, gridcolor=LIGHT.line, nticks=6),
        height=300,
    )
    return figure([*lines, chosen], picture)
