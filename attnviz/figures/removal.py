"""What changes without a head: each alone, one after the other, and in a whole model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.labels import escaped
from attnviz.figures.meta import Ticks
from attnviz.figures.theme import LEGEND, LIGHT, around_zero, axis, figure, layout
from attnviz.metrics.contribution import Pruning
from attnviz.shapes import PerHead

MOST_TICKS = 24
MOST_BARS = 32
FEW_BARS = 3
BAR_PIXELS = 24
POINT_PIXELS = 12
MOST_COUNTS = 8
TALLEST_LINES = 576


def removal_bars(
    changes: PerHead, equal: float, roles: Sequence[str], *, selected: int, off: Sequence[int]
) -> go.Figure:
    """Change of the output without each head beside equal heads at right angles: as bars, of many heads as points.

    Parameters
    ----------
    changes
        Relative change; NaN where the output is 0.
    equal
        What it would be for each of as many heads that write equal lengths at right angles.
    roles
        What each head is called; may be empty.
    selected
        Head whose name is set in bold.
    off
        Heads that are switched off.

    Notes
    -----
    A click tells the place of a head among those that are not selected.
    """
    n_heads = len(changes)
    heads = np.arange(n_heads, dtype=np.float32)
    per_cent = np.nan_to_num(100 * changes).astype(np.float32)
    names = tuple(_named(head, roles, is_off=head in off) for head in range(n_heads))
    places = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    is_chosen = heads == selected
    width = 0.0 if n_heads > MOST_BARS else 0.7 if n_heads > FEW_BARS else 0.3
    traces = [] if n_heads <= MOST_BARS else [_stems(per_cent, heads)]
    traces += [
        _of_heads(name, per_cent[which], heads[which], colour, width=width) | own
        for name, which, colour, own in (
            ("chosen head", is_chosen, LIGHT.accent, {}),
            ("other heads", ~is_chosen, LIGHT.mark, {"meta": {"click": "head"}}),
        )
        if which.any()
    ]
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": "equal heads at right angles",
            "x": np.array([100 * equal, 100 * equal], dtype=np.float32),
            "y": np.array([-0.5, n_heads - 0.5], dtype=np.float32),
            "line": {"color": LIGHT.baseline, "width": 2, "dash": "dot"},
            "hovertemplate": "equal heads: %{x:.3g} %<extra></extra>",
        }
    )
    picture = layout(
        meta=Ticks(y=names, strong=selected).to_meta(),
        showlegend=True,
        legend=LEGEND,
        barmode="overlay",
        xaxis=axis(
            "change of the output (%)",
            range=around_zero(per_cent, np.array([100 * equal])),
            showgrid=True,
            gridcolor=LIGHT.line,
        ),
        yaxis=axis(
            "head",
            range=[n_heads - 0.5, -0.5],
            tickmode="array",
            tickvals=places,
            ticktext=[escaped(names[place]) for place in places],
        ),
        height=_height(n_heads),
    )
    return figure(traces, picture)


def _height(n_heads: int) -> int:
    """Height in pixels: a line for each bar, a narrower one for each point.

    >>> _height(8), _height(24), _height(64)
    (420, 576, 768)
    """
    return max(420, BAR_PIXELS * min(n_heads, MOST_BARS), POINT_PIXELS * n_heads)


def _of_heads(name: str, x: np.ndarray, y: np.ndarray, colour: str, *, width: float) -> dict[str, object]:
    """Bars of this width, or points where it is 0."""
    kind: dict[str, object] = (
        {"type": "bar", "orientation": "h", "width": width, "marker": {"color": colour}}
        if width
        else {"type": "scatter", "mode": "markers", "marker": {"color": colour, "size": 8}}
    )
    return {"name": name, "x": x, "y": y, "hovertemplate": "without head %{y}: %{x:.3g} %<extra></extra>", **kind}


def _stems(x: np.ndarray, y: np.ndarray) -> dict[str, object]:
    """A thin line from 0 to each point."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "from 0",
        "showlegend": False,
        "x": np.stack([np.zeros_like(x), x, np.full_like(x, np.nan)], axis=1).ravel(),
        "y": np.repeat(y, 3),
        "line": {"color": LIGHT.soft, "width": 2},
        "hoverinfo": "skip",
    }


def _named(head: int, roles: Sequence[str], *, is_off: bool) -> str:
    number = f"{head} off" if is_off else str(head)
    if not roles[head] or len(roles) > MOST_TICKS:
        return number
    return f"{number}{' ·' if is_off else ''} {roles[head]}"


def pruning_lines(found: Pruning) -> go.Figure:
    """Change of the output against the number of heads left: greedy, shortest first, and at random.

    Notes
    -----
    A click on the greedy line tells how many heads had gone there.
    """
    n_heads = len(found.order)
    left = np.arange(n_heads, -1, -1, dtype=np.float32)
    removed = [f"head {head} went" for head in found.order]
    series = (
        ("at random", found.random, LIGHT.baseline, "dot"),
        ("shortest first", found.smallest, LIGHT.soft, "solid"),
        ("least change first", found.greedy, LIGHT.mark, "solid"),
    )
    traces: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "lines+markers" if n_heads <= MOST_TICKS else "lines",
            "name": name,
            "x": left,
            "y": np.nan_to_num(100 * values).astype(np.float32),
            "line": {"color": colour, "width": 2, "dash": dash},
            "marker": {"size": 6, "color": colour},
            "hovertemplate": f"%{{x}} heads left: %{{y:.3g}} %<extra>{name}</extra>",
        }
        for name, values, colour, dash in series
    ]
    traces[-1]["meta"] = {"click": "head"}
    traces[-1]["customdata"] = ["all heads are on", *removed]
    traces[-1]["hovertemplate"] = "%{x} heads left, %{customdata}: %{y:.3g} %<extra>least change first</extra>"
    counts = list(range(0, n_heads + 1, -(-n_heads // MOST_COUNTS)))
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis(
            "heads left",
            range=[n_heads + 0.3, -0.3],
            tickangle=0,
            tickmode="array",
            tickvals=counts,
            ticktext=[str(count) for count in counts],
        ),
        yaxis=axis(
            "change of the output (%)",
            range=around_zero(*(np.nan_to_num(100 * values) for _, values, _, _ in series)),
            showgrid=True,
            gridcolor=LIGHT.line,
        ),
        height=min(_height(n_heads), TALLEST_LINES),
    )
    return figure(traces, picture)
