"""How far each head is on the way to each role."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.colours import WeightScale, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.theme import axis, figure, layout, rectangle
from attnviz.metrics.roles import Role

ROLES = (
    *("previous token", "own place", "next token", "same word", "induction", "sink", "one word"),
    *("local", "broad"),
)
ROW_PIXELS = 26
WITHOUT = "does not apply"
LEGEND = ("0: as a uniform head", "0.5: half of the way", "1: nothing else")


def role_map(roles: Sequence[Role], heads: range, *, selected: int, scale: str) -> go.Figure:
    """Head by role: dark where a head does what the role is named for; a flat colour where that does not apply.

    Parameters
    ----------
    roles
        Of every head.
    heads
        Those that are drawn.
    selected
        Head whose name is set in bold.
    scale
        Name of the colour scale.
    """
    ways = np.full((len(heads), len(ROLES)), np.nan, dtype=np.float32)
    for row, head in enumerate(heads):
        for one in roles[head].evidence:
            ways[row, ROLES.index(one.role)] = max(one.way, 0.0)
    is_told = ~np.isnan(ways)
    colours = WeightScale(scale, 1.0, has_forbidden=bool((~is_told).any()))
    words = ((WITHOUT,) if colours.has_forbidden else ()) + LEGEND
    bar = colours.colorbar("") | {"ticktext": list(words)}
    names = tuple(f"{head} {role.name}" for head, role in enumerate(roles))
    cells = Cells(
        value="way to the role",
        heads=(),
        roles=(),
        rows=tuple(f"head {name}" for name in names),
        columns=ROLES,
        row_name="",
        column_name="",
        first_row=heads.start,
        below=WITHOUT,
        click="pair",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": with_forbidden(ways, is_told, colours),
        "y0": heads.start,
        **colours.trace_options(),
        "colorbar": bar,
        "hoverinfo": "none",
        "xgap": 1,
        "ygap": 1,
    }
    places = list(heads)
    picture = layout(
        meta=cells.to_meta(Ticks(x=ROLES, y=names, strong=selected)),
        xaxis=axis(
            "role (column)",
            range=[-0.5, len(ROLES) - 0.5],
            tickmode="array",
            tickvals=list(range(len(ROLES))),
            ticktext=list(ROLES),
        ),
        yaxis=axis(
            "head (row)",
            range=[heads.stop - 0.5, heads.start - 0.5],
            tickmode="array",
            tickvals=places,
            ticktext=[escaped(names[head]) for head in heads],
        ),
        shapes=[rectangle(-0.5, len(ROLES) - 0.5, selected - 0.5, selected + 0.5)],
        height=max(240, ROW_PIXELS * len(heads) + 90),
    )
    return figure([heatmap], picture)
