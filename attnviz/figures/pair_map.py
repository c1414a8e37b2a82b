"""Every pair of heads as a point: how alike the two look, and how alike they write."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.contrast import HeadsByPair
from attnviz.picks import HeadAt

MOST_LARGE = 500
ROOM = 0.05
NAMES = ("A", "B")


def pair_map(
    pairs: HeadsByPair, at: Sequence[HeadAt], *, selected: int, has_layers: bool = False, height: int = 400
) -> go.Figure:
    """A point for each pair of heads; the two that contrast most are marked A and B.

    Parameters
    ----------
    pairs
        The pairs, and what a head that knows nothing would have, which is drawn as a line each.
    at
        Where each head is.
    selected
        The chosen head, whose pairs are darker.
    has_layers
        Whether heads are named with their layer.
    height
        In pixels.
    """
    x, y = pairs.maps.astype(np.float32), pairs.outputs.astype(np.float32)
    own = np.flatnonzero((pairs.first == selected) | (pairs.second == selected))
    size = 8 if len(pairs) <= MOST_LARGE else 4
    places = np.array(at, dtype=np.int16).reshape(-1, 2)
    each = [f"%{{customdata[{side}]}}.%{{customdata[{side + 1}]}}" for side in (0, 2)]
    names = each if has_layers else [f"%{{customdata[{side}]}}" for side in (1, 3)]
    points: dict[str, object] = {
        **_points("pairs of heads", x, y, LIGHT.soft, size),
        "customdata": np.concatenate([places[pairs.first], places[pairs.second]], axis=1),
        "hoverinfo": "all",
        "hovertemplate": f"heads {names[0]} and {names[1]}<br>maps %{{x:.3f}}, outputs %{{y:.3f}}<extra></extra>",
        "meta": {"click": "head"},
    }
    ranges = [_range(x, pairs.even_maps), _range(y, pairs.even_outputs)]
    traces = [
        *_baselines(pairs, *ranges),
        points,
        _points("those of the chosen head", x[own], y[own], LIGHT.mark, size),
    ]
    marked = pairs.contrast
    if marked is not None:
        traces += _marked(x[list(marked)], y[list(marked)])
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("cosine of maps: how alike they look", range=ranges[0], showgrid=True, gridcolor=LIGHT.line),
        yaxis=axis("CKA of outputs: how alike they write", range=ranges[1], showgrid=True, gridcolor=LIGHT.line),
        height=height,
    )
    return figure(traces, picture)


def _range(values: np.ndarray, even: float) -> list[float]:
    """From a little below 0 to a little above the largest number, or the baseline, with room for a name."""
    most = max(float(values.max(initial=0.0)), 0.0 if np.isnan(even) else even) or 1.0
    return [-ROOM * most, (1 + 2 * ROOM) * most]


def _points(name: str, x: np.ndarray, y: np.ndarray, colour: str, size: int) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x,
        "y": y,
        "marker": {"color": colour, "size": size},
        "hoverinfo": "skip",
    }


def _baselines(pairs: HeadsByPair, across: list[float], up: list[float]) -> list[dict[str, object]]:
    """A line each at what a head that knows nothing has, in one trace."""
    gap = [np.nan, np.nan]
    upright = gap if np.isnan(pairs.even_maps) else [pairs.even_maps] * 2
    level = gap if np.isnan(pairs.even_outputs) else [pairs.even_outputs] * 2
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "baselines",
            "x": np.array([*upright, np.nan, *across], dtype=np.float32),
            "y": np.array([*up, np.nan, *level], dtype=np.float32),
            "line": {"color": LIGHT.baseline, "width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
        }
    ]


def _marked(x: np.ndarray, y: np.ndarray) -> list[dict[str, object]]:
    """Rings around the two pairs, and their names."""
    rings: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": "A and B, the largest contrasts",
        "x": x,
        "y": y,
        "marker": {"color": LIGHT.accent, "symbol": "circle-open", "size": 15, "line": {"width": 2}},
        "hoverinfo": "skip",
    }
    words: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "name": "names",
        "showlegend": False,
        "x": x,
        "y": y,
        "text": [f"\u2003{name}" for name in NAMES],
        "textposition": "middle right",
        "textfont": {"size": 12, "color": LIGHT.text},
        "hoverinfo": "skip",
    }
    return [rings, words]
