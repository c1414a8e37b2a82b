"""A measure of all heads, beside the head that knows nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.labels import escaped
from attnviz.figures.meta import Ticks
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics import mean_over_queries
from attnviz.shapes import PerQuery, UniformPerQuery

MOST_TICKS = 24
QUARTILES = (0.0, 0.25, 0.75, 1.0)
UNIFORM = "uniform over the allowed keys"
AROUND, LEAST_PITCH, LEAST_SIZE = 60, 7, 3
"""Pixels above and below the lines of the heads, from line to line below which they would merge, and of a dot."""


def measure_panel(
    values: PerQuery,
    uniform: UniformPerQuery,
    roles: Sequence[str],
    *,
    selected: int,
    name: str,
    unit: str = "",
    height: int = 340,
) -> go.Figure:
    """A measure of each head with its spread over the queries, beside a head uniform over the allowed keys.

    Parameters
    ----------
    values
        The measure for each head and query; NaN for a query for which it is not defined.
    uniform
        The same for the uniform head, `(1, q)` or one row a head.
    roles
        What each head is called; may be empty.
    selected
        Head whose name is set in bold.
    name, unit
        What the axis is called.
    height
        In pixels.

    Notes
    -----
    Where the heads are so close that marks would merge, the baseline is a line through all heads and bars are thin.
    """
    n_heads = values.shape[0]
    heads = np.arange(n_heads, dtype=np.float32)
    low, first, third, high = _quantiles(values)
    places = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    means = np.broadcast_to(mean_over_queries(uniform), (n_heads,))
    pitch = (height - AROUND) / n_heads
    size = 9 if n_heads <= MOST_TICKS else max(LEAST_SIZE, min(5, round(0.6 * pitch)))
    dots = points_of_heads("mean of the head", mean_over_queries(values), heads, LIGHT.mark, "circle", size, unit)
    even = points_of_heads(UNIFORM, means, heads, LIGHT.baseline, "line-ns-open", size + 5, unit)
    if pitch < size + 5:
        even |= {"mode": "lines", "line": {"color": LIGHT.baseline, "width": 1.5}}
        dots |= {"marker": {"color": LIGHT.mark, "size": size}}
    traces: list[dict[str, object]] = [
        _spread("all queries", low, high, heads, LIGHT.soft, 2 if pitch > LEAST_PITCH else 1),
        _spread("middle half of the queries", first, third, heads, LIGHT.soft, size if pitch > LEAST_PITCH else 2),
        even,
        dots,
    ]
    picture = layout(
        meta=Ticks(y=tuple(_named(head, roles) for head in range(n_heads)), strong=selected).to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=axis(f"{name} ({unit})" if unit else name, rangemode="tozero", showgrid=True, gridcolor=LIGHT.line),
        yaxis=axis(
            "head",
            range=[n_heads - 0.5, -0.5],
            tickmode="array",
            tickvals=places,
            ticktext=[escaped(_named(place, roles)) for place in places],
        ),
        height=height,
    )
    return figure(traces, picture)


def _quantiles(values: PerQuery) -> Float[np.ndarray, "quantile head"]:
    """Least, lower quartile, upper quartile and largest of each row, over the queries that have a key."""
    defined = values[:, ~np.isnan(values).all(axis=0)]
    if defined.shape[1] == 0 or np.isnan(defined).any():
        rows = [row[~np.isnan(row)] for row in defined]
        return np.array([np.quantile(row, QUARTILES) if row.size else [np.nan] * 4 for row in rows]).T
    return np.quantile(defined, QUARTILES, axis=1)


def _spread(
    name: str, low: np.ndarray, high: np.ndarray, heads: np.ndarray, colour: str, width: int
) -> dict[str, object]:
    gap = np.full_like(low, np.nan)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": np.stack([low, high, gap], axis=1).ravel().astype(np.float32),
        "y": np.repeat(heads, 3),
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
    }


def points_of_heads(
    name: str, x: np.ndarray, heads: np.ndarray, colour: str, symbol: str, size: int, unit: str
) -> dict[str, object]:
    """A point for each head, with its number and unit under the pointer."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x.astype(np.float32),
        "y": heads,
        "marker": {"color": colour, "symbol": symbol, "size": size, "line": {"width": 2, "color": colour}},
        "hovertemplate": f"head %{{y}}: %{{x:.3g}}{f' {unit}' if unit else ''}<extra>{name}</extra>",
    }


def _named(head: int, roles: Sequence[str]) -> str:
    return f"{head} {roles[head]}" if roles[head] and len(roles) <= MOST_TICKS else str(head)
