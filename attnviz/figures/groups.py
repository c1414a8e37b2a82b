"""Which key/value head serves which query heads."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout

MOST_HEADS = 64


def group_picture(n_heads: int, n_kv_heads: int, *, head: int) -> go.Figure:
    """Query heads above, key/value heads below, a line from each query head to the one that serves it.

    Parameters
    ----------
    n_heads, n_kv_heads
        How many there are; the second divides the first.
    head
        The query head that is looked at.
    """
    group = n_heads // n_kv_heads
    heads = np.arange(n_heads, dtype=np.float32)
    middles = np.arange(n_kv_heads, dtype=np.float32) * group + (group - 1) / 2
    served = middles[np.arange(n_heads) // group]
    own = np.arange(n_heads) == head
    gap = np.full(n_heads, np.nan, dtype=np.float32)
    traces: list[dict[str, object]] = [
        _lines(np.stack([heads, served, gap], axis=1)[~own].ravel(), LIGHT.line, 1),
        _lines(np.stack([heads, served, gap], axis=1)[own].ravel(), LIGHT.accent, 3),
        _marks("query heads", heads, 1.0, LIGHT.mark, "circle", "head"),
        _marks("key/value heads", middles, 0.0, LIGHT.baseline, "square", "key/value head"),
        _marks("the chosen head", heads[own], 1.0, LIGHT.accent, "circle", "head", [str(head)]),
    ]
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("query head", range=[-0.6, n_heads - 0.4], **({"dtick": 1} if n_heads <= 24 else {"nticks": 12})),
        yaxis=axis("key/value, query", range=[-0.35, 1.35], showticklabels=False),
        height=170,
    )
    return figure(traces, picture)


def _lines(x: np.ndarray, colour: str, width: float) -> dict[str, object]:
    y = np.tile(np.array([1.0, 0.0, np.nan], dtype=np.float32), len(x) // 3)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": width},
        "hoverinfo": "skip",
    }


def _marks(
    name: str, x: np.ndarray, y: float, colour: str, symbol: str, what: str, labels: list[str] | None = None
) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x,
        "y": np.full(len(x), y, dtype=np.float32),
        "customdata": labels or [str(place) for place in range(len(x))],
        "marker": {"color": colour, "symbol": symbol, "size": 12},
        "hovertemplate": f"{what} %{{customdata}}<extra></extra>",
    }
