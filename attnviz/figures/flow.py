"""How much of a token could come from each input token along all paths, beside its rollout."""

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

PerToken: TypeAlias = Float[np.ndarray, " token"]
PerShown: TypeAlias = Float[np.ndarray, " shown"]


def flow_bars(
    flows: PerToken, uniform: PerShown, rolled: PerToken, tokens: Tokens, shown: Sequence[int], *, key: int
) -> go.Figure:
    """A bar for each input token: its flow, beside that of uniform attention and the rollout of the same pair.

    Parameters
    ----------
    flows, rolled
        Flow and rollout of one query to every input token.
    uniform
        Flow under attention uniform over the allowed keys, for each token that is shown.
    tokens
        Names of all input tokens.
    shown
        Which of them are drawn.
    key
        The one that is set in bold.
    """
    chosen, rows = list(shown), np.arange(len(shown), dtype=np.float32)
    labels = tuple(f"{place} {short(tokens[place])}" for place in chosen)
    bars: dict[str, object] = {
        "type": "bar",
        "orientation": "h",
        "x": flows[chosen].astype(np.float32),
        "y": rows,
        "marker": {"color": [LIGHT.accent if place == key else LIGHT.mark for place in chosen]},
        "hovertemplate": "%{x:.4f}<extra>flow</extra>",
        "name": "flow",
    }
    marks = (
        ("flow under uniform attention", uniform, LIGHT.baseline),
        ("rollout", rolled[chosen], LIGHT.text),
    )
    points: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": values.astype(np.float32),
            "y": rows,
            "marker": {"symbol": "line-ns-open", "size": 12, "color": colour, "line": {"width": 2}},
            "hovertemplate": f"%{{x:.4f}}<extra>{name}</extra>",
            "name": name,
        }
        for name, values, colour in marks
    ]
    picture = layout(
        meta=Ticks(y=labels, strong=chosen.index(key) if key in chosen else None).to_meta(),
        showlegend=True,
        legend=LEGEND,
        bargap=0.25,
        xaxis=axis("flow, rollout", range=[0, 1.02], showgrid=True, gridcolor=LIGHT.line, nticks=6),
        yaxis=key_axis(labels) | {"title": axis("input token")["title"]},
        height=90 + 19 * max(len(chosen), 4),
    )
    return figure([bars, *points], picture)
