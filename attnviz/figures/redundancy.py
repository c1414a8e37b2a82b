"""How alike the heads are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.colours import WeightScale
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.theme import LIGHT, axis, figure, layout
from attnviz.shapes import HeadPairs

MOST_TICKS = 24
MOST_NAMES = 12


def similarity_matrix(
    similarity: HeadPairs, roles: Sequence[str], *, selected: int, scale: str, value: str, height: int = 340
) -> go.Figure:
    """Head by head: dark where two heads do the same."""
    n_heads = similarity.shape[0]
    places = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    colours = WeightScale(scale, 1.0, has_forbidden=False)
    labels = tuple(f"head {head}{f' {role}' if role else ''}" for head, role in enumerate(roles))
    cells = Cells(
        value=value, heads=(), roles=(), rows=labels, columns=labels, row_name="", column_name="", click="pair"
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": similarity.astype(np.float32),
        **colours.trace_options(),
        "colorbar": colours.colorbar(value),
        "hoverinfo": "none",
    }
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": [str(place) for place in places]}
    line = {"color": LIGHT.accent, "width": 1}
    picture = layout(
        meta=cells.to_meta(
            Ticks(
                x=tuple(str(head) for head in range(n_heads)),
                y=tuple(_named(head, roles) for head in range(n_heads)),
                strong=selected,
            )
        ),
        shapes=[
            {
                "type": "rect",
                "x0": -0.5,
                "x1": n_heads - 0.5,
                "y0": selected - 0.5,
                "y1": selected + 0.5,
                "line": line,
            }
        ],
        xaxis=axis("head (column)", range=[-0.5, n_heads - 0.5], constrain="domain", constraintoward="left", **ticks),
        yaxis=axis(
            "head (row)",
            range=[n_heads - 0.5, -0.5],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            **{**ticks, "ticktext": [escaped(_named(place, roles)) for place in places]},
        ),
        height=height,
    )
    return figure([heatmap], picture)


def _named(head: int, roles: Sequence[str]) -> str:
    return f"{head} {roles[head]}" if roles[head] and len(roles) <= MOST_NAMES else str(head)
