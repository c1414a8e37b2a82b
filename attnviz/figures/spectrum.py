"""Singular values of a head, and how many directions each head uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.labels import escaped
from attnviz.figures.measure import points_of_heads
from attnviz.figures.meta import Ticks
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.spectra import UniformPerHead
from attnviz.numbers import RAISED
from attnviz.shapes import PerHead

SCORES, WEIGHTS, UNIFORM = "scores", "weights", "weights of a uniform head"
FEW_VALUES = 64
MOST_TICKS = 24
LEAST_SHARE = 1e-8

Shares = Float[np.ndarray, " value"]
WeightShares = Float[np.ndarray, " weight_value"]


def spectrum_lines(
    scores: Shares, weights: WeightShares, uniform: WeightShares, *, most: int, most_name: str, height: int = 340
) -> go.Figure:
    """Singular values of one head from the largest on, as shares of the largest.

    Parameters
    ----------
    scores, weights, uniform
        Of the head before and after the softmax, and of a uniform head; NaN from where they are no more than rounding.
    most
        The most directions that the scores can have, which is marked.
    most_name
        What limits them.
    height
        In pixels.
    """
    n_values = max(len(scores), len(weights), len(uniform), most)
    every = np.concatenate([scores, weights, uniform])
    real = every[every > LEAST_SHARE]
    low = float(np.floor(np.log10(real.min()) - 0.15)) if real.size else -1.0
    series = ((UNIFORM, uniform, LIGHT.baseline), (WEIGHTS, weights, LIGHT.accent), (SCORES, scores, LIGHT.mark))
    traces = [_values(name, values, colour) for name, values, colour in series]
    mark: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": most_name,
        "x": np.array([most, most], dtype=np.float64),
        "y": np.array([10.0**low, 10.0**0.15]),
        "line": {"color": LIGHT.mark, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }
    step = max(1, int(-low) // 4)
    powers = range(0, int(low) - 1, -step)
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("place of the singular value", **_places(n_values)),
        yaxis=axis(
            "share of the largest",
            type="log",
            range=[low, 0.15],
            tickmode="array",
            tickvals=[10.0**power for power in powers],
            ticktext=[f"10{str(power).translate(RAISED)}" if power else "1" for power in powers],
            showgrid=True,
            gridcolor=LIGHT.line,
        ),
        height=height,
    )
    return figure([mark, *traces], picture)


def _places(n_values: int) -> dict[str, object]:
    """Ticks at whole numbers; on a logarithmic axis where there are many."""
    if n_values <= FEW_VALUES:
        step = next(step for step in (1, 2, 5, 10) if n_values / step <= 12)
        ticks = [1, *range(step if step > 1 else 2, n_values + 1, step)]
        return {
            "range": [0.5, n_values + 0.5],
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": list(map(str, ticks)),
        }
    ticks = [1 << power for power in range(n_values.bit_length())]
    ends = [float(np.log10(0.9)), float(np.log10(1.1 * n_values))]
    return {"type": "log", "range": ends, "tickmode": "array", "tickvals": ticks, "ticktext": list(map(str, ticks))}


def _values(name: str, values: Shares, colour: str) -> dict[str, object]:
    is_many = np.count_nonzero(values > LEAST_SHARE) > FEW_VALUES
    return {
        "type": "scatter",
        "mode": "lines" if is_many else "lines+markers",
        "name": name,
        "x": np.arange(1, len(values) + 1, dtype=np.float32),
        "y": np.where(values > LEAST_SHARE, values, np.nan).astype(np.float64),
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 7},
        "hovertemplate": f"σ%{{x}}: %{{y:.3g}} of the largest<extra>{name}</extra>",
    }


def rank_panel(
    scores: PerHead,
    weights: PerHead,
    uniform: UniformPerHead,
    roles: Sequence[str],
    *,
    most: int,
    most_name: str,
    selected: int,
    height: int = 340,
) -> go.Figure:
    """Effective rank of each head's scores and weights, beside a uniform head; a click on a point chooses the head.

    Parameters
    ----------
    scores, weights, uniform
        Of each head; NaN where every score is 0.
    roles
        What each head is called; may be empty.
    most, most_name
        The most directions that the scores can have, which is marked, and what limits them.
    selected
        Head whose name is set in bold.
    height
        In pixels.
    """
    n_heads = len(scores)
    heads = np.arange(n_heads, dtype=np.float32)
    even = np.broadcast_to(uniform, (n_heads,))
    places = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    names = tuple(
        f"{head} {roles[head]}" if roles[head] and n_heads <= MOST_TICKS else str(head) for head in range(n_heads)
    )
    size = 9 if n_heads <= MOST_TICKS else 5
    gap = np.full_like(scores, np.nan)
    change: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "",
        "x": np.stack([scores, weights, gap], axis=1).ravel().astype(np.float32),
        "y": np.repeat(heads, 3),
        "line": {"color": LIGHT.soft, "width": 2},
        "hoverinfo": "skip",
    }
    mark: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": most_name,
        "x": np.array([most, most], dtype=np.float32),
        "y": np.array([-0.5, n_heads - 0.5], dtype=np.float32),
        "line": {"color": LIGHT.mark, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }
    top = float(np.nanmax(np.concatenate([scores, weights, even, [most]])))
    traces = [
        mark,
        change,
        points_of_heads(UNIFORM, even, heads, LIGHT.baseline, "line-ns-open", size + 5, "directions"),
        points_of_heads(WEIGHTS, weights, heads, LIGHT.accent, "diamond", size, "directions"),
        points_of_heads(SCORES, scores, heads, LIGHT.mark, "circle", size, "directions"),
    ]
    for points in traces[2:]:
        points["meta"] = {"click": "head"}
    picture = layout(
        meta=Ticks(y=names, strong=selected).to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("effective rank (directions)", range=[-0.03 * top, 1.05 * top], showgrid=True, gridcolor=LIGHT.line),
        yaxis=axis(
            "head",
            range=[n_heads - 0.5, -0.5],
            tickmode="array",
            tickvals=places,
            ticktext=[escaped(names[place]) for place in places],
        ),
        height=height,
    )
    return figure(traces, picture)
