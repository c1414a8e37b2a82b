"""How much of a token could come from each input token along all paths, beside what uniform attention would let in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.labels import short
from attnviz.figures.meta import Ticks
from attnviz.figures.row import key_axis
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.shapes import Tokens

LEAST_WIDTH = 0.02
MARGIN = 0.04
PerToken: TypeAlias = Float[np.ndarray, " token"]


def flow_bars(flows: PerToken, uniform: PerToken, tokens: Tokens, shown: Sequence[int], *, key: int) -> go.Figure:
    """A bar for each input token from the flow under uniform attention to its flow, over the range of both.

    Parameters
    ----------
    flows
        Flow of one query to every input token.
    uniform
        The same under attention uniform over the allowed keys.
    tokens
        Names of all input tokens.
    shown
        Which of them are drawn.
    key
        The one that is set in bold.
    """
    chosen, rows = list(shown), np.arange(len(shown), dtype=np.float32)
    flow, even = (one[chosen].astype(np.float32) for one in (flows, uniform))
    labels = tuple(f"{place} {short(tokens[place])}" for place in chosen)
    colours = [LIGHT.accent if place == key else LIGHT.mark for place in chosen]
    bars: dict[str, object] = {
        "type": "bar",
        "orientation": "h",
        "base": even,
        "x": flow - even,
        "y": rows,
        "width": np.full(len(chosen), 0.3, dtype=np.float32),
        "marker": {"color": colours, "opacity": 0.45},
        "hoverinfo": "skip",
        "showlegend": False,
        "name": "flow minus that of uniform attention",
    }
    marks: list[tuple[str, PerToken, dict[str, object]]] = [
        (
            "flow under uniform attention",
            even,
            {"symbol": "line-ns-open", "size": 14, "color": LIGHT.baseline, "line": {"width": 2}},
        ),
        ("flow", flow, {"size": 9, "color": colours}),
    ]
    points: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": values,
            "y": rows,
            "marker": marker,
            "hovertemplate": f"%{{x:.4f}}<extra>{name}</extra>",
            "name": name,
        }
        for name, values, marker in marks
    ]
    picture = layout(
        meta=Ticks(y=labels, strong=chosen.index(key) if key in chosen else None).to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("flow", range=flow_range(flow, even), showgrid=True, gridcolor=LIGHT.line, nticks=6),
        yaxis=key_axis(labels) | {"title": axis("input token")["title"]},
        height=90 + 19 * max(len(chosen), 4),
    )
    return figure([bars, *points], picture)


def flow_range(flows: PerToken, uniform: PerToken) -> list[float]:
    """Range of the axis: from the least to the most of both, with a margin, and never so narrow that noise fills it.

    >>> flow_range(np.array([0.5, 1.0]), np.array([0.9, 0.9]))
    [0.48, 1.02]
    """
    both = np.concatenate([flows, uniform])
    least, most = float(both.min()), float(both.max())
    lacking = max(0.0, LEAST_WIDTH - (most - least))
    least -= lacking
    room = MARGIN * (most - least)
    return [round(least - room, 6), round(most + room, 6)]
