"""A number for each head of all layers at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import SignedScale, WeightScale
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.theme import LIGHT, axis, figure, layout, rectangle
from attnviz.picks import HeadAt

ROW_PIXELS = 34
MOST_TICKS = 24
ByLayer = Float[np.ndarray, "layer head"]


def layer_map(
    values: ByLayer,
    uniform: Float[np.ndarray, " layer"] | None,
    *,
    selected: HeadAt,
    name: str,
    scale: str,
    off: Sequence[HeadAt] = (),
) -> go.Figure:
    """Layer by head: a number for each, and that of the uniform head in a column of its own; a click chooses a head.

    Parameters
    ----------
    values
        Of each layer and head; NaN where it is not defined.
    uniform
        Of the head uniform over the allowed keys, in each layer; None where there is no such number.
    selected
        Head that is framed.
    name
        What the colour shows, with its unit.
    scale
        Name of the colour scale; numbers some of which are negative are drawn on one symmetric about 0.
    off
        Heads that are switched off, which are marked.

    Notes
    -----
    The column of the uniform head stands apart, two places after the last head.
    """
    n_layers, n_heads = values.shape
    columns, named = tuple(map(str, range(n_heads))), tuple(f"head {head}" for head in range(n_heads))
    places = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    if uniform is not None:
        values = np.concatenate([values, np.full((n_layers, 1), np.nan), uniform[:, None]], axis=1)
        columns, named, places = (*columns, "", "uniform"), (*named, "", "the uniform head"), [*places, n_heads + 1]
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    is_signed = float(np.nanmin(values, initial=0.0)) < 0
    colours = SignedScale(top=largest) if is_signed else WeightScale(scale, largest, has_forbidden=False)
    rows = tuple(f"layer {layer}" for layer in range(n_layers))
    cells = Cells(
        value=name,
        heads=(),
        roles=(),
        rows=rows,
        columns=named,
        row_name="",
        column_name="",
        lowest=colours.lowest,
        click="cell",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        **colours.trace_options(),
        "colorbar": colours.colorbar(name),
        "hoverinfo": "none",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
    }
    marks: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": "switched off",
        "x": np.array([at.head for at in off], dtype=np.float32),
        "y": np.array([at.layer for at in off], dtype=np.float32),
        "marker": {"symbol": "x", "size": 9, "color": LIGHT.accent},
        "hoverinfo": "skip",
    }
    picture = layout(
        meta=cells.to_meta(Ticks(x=columns, y=rows, strong=selected.layer)),
        xaxis=axis(
            "head (column)",
            range=[-0.5, len(columns) - 0.5],
            tickmode="array",
            tickvals=places,
            ticktext=[columns[place] for place in places],
        ),
        yaxis=axis(
            "layer (row)",
            range=[n_layers - 0.5, -0.5],
            tickmode="array",
            tickvals=list(range(n_layers)),
            ticktext=list(rows),
        ),
        shapes=[
            rectangle(selected.head - 0.5, selected.head + 0.5, selected.layer - 0.5, selected.layer + 0.5, width=2.5)
        ],
        height=max(220, ROW_PIXELS * n_layers + 110),
    )
    return figure([heatmap, *([marks] if off else [])], picture)
