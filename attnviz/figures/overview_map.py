"""A measure of all heads of all layers at once."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import SignedScale, WeightScale
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.theme import LIGHT, axis, figure, layout
from attnviz.picks import HeadAt

ROW_PIXELS = 34
MOST_TICKS = 24
ByLayer = Float[np.ndarray, "layer head"]


def layer_map(
    means: ByLayer, uniform: Float[np.ndarray, " layer"], *, selected: HeadAt, name: str, scale: str
) -> go.Figure:
    """Layer by head: the mean of a measure over the queries, and that of the uniform head in a column of its own.

    Parameters
    ----------
    means
        Of each layer and head; NaN where the measure is not defined.
    uniform
        Of the head uniform over the allowed keys, in each layer.
    selected
        Head that is framed.
    name
        What the colour shows, with its unit.
    scale
        Name of the colour scale; a measure that has negative values is drawn on one symmetric about 0.

    Notes
    -----
    The column of the uniform head stands apart, two places after the last head.
    """
    n_layers, n_heads = means.shape
    gap = np.full((n_layers, 1), np.nan)
    values = np.concatenate([means, gap, uniform[:, None]], axis=1)
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    is_signed = float(np.nanmin(values, initial=0.0)) < 0
    colours = SignedScale(top=largest) if is_signed else WeightScale(scale, largest, has_forbidden=False)
    columns = (*map(str, range(n_heads)), "", "uniform")
    rows = tuple(f"layer {layer}" for layer in range(n_layers))
    cells = Cells(
        value=name,
        heads=(),
        roles=(),
        rows=rows,
        columns=(*(f"head {head}" for head in range(n_heads)), "", "the uniform head"),
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
    places = [*range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))), n_heads + 1]
    picture = layout(
        meta=cells.to_meta(Ticks(x=columns, y=rows, strong=selected.layer)),
        xaxis=axis(
            "head (column)",
            range=[-0.5, n_heads + 1.5],
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
            {
                "type": "rect",
                "x0": selected.head - 0.5,
                "x1": selected.head + 0.5,
                "y0": selected.layer - 0.5,
                "y1": selected.layer + 0.5,
                "line": {"color": LIGHT.accent, "width": 2.5},
            }
        ],
        height=max(220, ROW_PIXELS * n_layers + 110),
    )
    return figure([heatmap], picture)
