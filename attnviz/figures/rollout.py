"""A map from tokens to tokens that several heads or layers make together."""

from __future__ import annotations

import plotly.graph_objects as go

from attnviz.figures.colours import WeightScale
from attnviz.figures.labels import token_axis
from attnviz.figures.meta import Cells, Ticks, plain_labels, tick_labels
from attnviz.figures.theme import LIGHT, axis, figure, layout, rectangle
from attnviz.shapes import Matrix, Tokens

MOST_TICKS = 40


def rollout_map(
    shares: Matrix, tokens: Tokens, *, query: int, key: int, scale: str, top: float, value: str, column: str
) -> go.Figure:
    """Queries by tokens, dark where much of a query comes from a token; a click on a cell chooses it.

    Parameters
    ----------
    shares
        Of each token (column) in each query (row).
    tokens
        Names of rows and columns.
    query, key
        The cell that is framed.
    scale, top
        Colours, and the share at their end.
    value, column
        What a share and a column are called.
    """
    n = len(tokens)
    colours = WeightScale(scale, top, has_forbidden=False)
    labels = plain_labels(tokens)
    cells = Cells(
        value=value, heads=(), roles=(), rows=labels, columns=labels, map_name="", column_name=column, click="cell"
    )
    places = range(0, n, max(1, -(-n // MOST_TICKS)))
    picture = layout(
        meta=cells.to_meta(Ticks(x=tick_labels(tokens), y=tick_labels(tokens), strong=query)),
        shapes=[
            rectangle(-0.5, n - 0.5, -0.5, n - 0.5, colour=LIGHT.line),
            rectangle(key - 0.5, key + 0.5, query - 0.5, query + 0.5, width=2.5),
            rectangle(-0.5, n - 0.5, query - 0.5, query + 0.5),
        ],
        xaxis=axis(
            f"{column} (column)",
            range=[-0.5, n - 0.5],
            tickangle=-45,
            constrain="domain",
            constraintoward="left",
            **token_axis(tokens, places),
        ),
        yaxis=axis(
            "query (row)",
            range=[n - 0.5, -0.5],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            **token_axis(tokens, places),
        ),
        height=520,
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": shares.astype("float32"),
        **colours.trace_options(),
        "colorbar": colours.colorbar(value),
        "hoverinfo": "none",
    }
    return figure([heatmap], picture)
