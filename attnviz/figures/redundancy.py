"""How alike the heads are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.colours import WeightScale
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.theme import axis, figure, layout, rectangle
from attnviz.shapes import HeadPairs

MOST_TICKS = 24
MOST_NAMES = 12
MOST_HEADS = 256


def block_of(head: int, n_heads: int) -> slice:
    """The block of at most 256 heads that holds this one.

    >>> block_of(300, 2048)
    slice(256, 512, None)
    """
    start = head // MOST_HEADS * MOST_HEADS
    return slice(start, min(start + MOST_HEADS, n_heads))


def similarity_matrix(
    similarity: HeadPairs, roles: Sequence[str], *, selected: int, scale: str, value: str, height: int = 340
) -> go.Figure:
    """Head by head: dark where two heads do the same; of many heads, the block of 256 that holds the chosen one."""
    n_heads = similarity.shape[0]
    block = block_of(selected, n_heads)
    edges = (block.start - 0.5, block.stop - 0.5)
    places = list(range(block.start, block.stop, max(1, -(-(block.stop - block.start) // MOST_TICKS))))
    colours = WeightScale(scale, 1.0, has_forbidden=False)
    labels = tuple(f"head {head}{f' {role}' if role else ''}" for head, role in enumerate(roles))
    cells = Cells(
        value=value,
        heads=(),
        roles=(),
        rows=labels,
        columns=labels,
        row_name="",
        column_name="",
        first_row=block.start,
        first_column=block.start,
        click="pair",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": similarity[block, block].astype(np.float32),
        "x0": block.start,
        "y0": block.start,
        **colours.trace_options(),
        "colorbar": colours.colorbar(value),
        "hoverinfo": "none",
    }
    ticks = {"tickmode": "array", "tickvals": places, "ticktext": [str(place) for place in places]}
    picture = layout(
        meta=cells.to_meta(
            Ticks(
                x=tuple(str(head) for head in range(n_heads)),
                y=tuple(_named(head, roles) for head in range(n_heads)),
                strong=selected,
            )
        ),
        shapes=[rectangle(edges[0], edges[1], selected - 0.5, selected + 0.5)],
        xaxis=axis("head (column)", range=[*edges], constrain="domain", constraintoward="left", **ticks),
        yaxis=axis(
            "head (row)",
            range=[*reversed(edges)],
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
