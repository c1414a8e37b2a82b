"""Positions as heatmaps: what is added to x, and how alike places are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import SignedScale
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells
from attnviz.figures.montage import arranged, montage_figure, placed
from attnviz.figures.theme import axis, figure, layout, rectangle
from attnviz.positions.similarity import PairScores
from attnviz.shapes import Embedded

FEW_NUMBERS = 12
USUAL = 0.995
USUAL_PAIRS = 0.98
OUTSTANDING = 3


def whole_numbers(count: int) -> dict[str, object]:
    """Ticks of an axis that counts 0, 1, 2... and never stand between two of them.

    >>> whole_numbers(5)
    {'tick0': 0, 'dtick': 1}
    """
    return {"tick0": 0, "dtick": 1} if count <= FEW_NUMBERS else {"nticks": 9}


def largest_size(values: Float[np.ndarray, "..."]) -> float:
    """End of a scale that is symmetric about 0; 1 where all values are 0."""
    largest = float(np.abs(values).max(initial=0.0))
    return largest if largest > 0 else 1.0


def scale_end(table: Float[np.ndarray, "..."], usual_share: float = USUAL) -> float:
    """End of the scale for a table: the largest size, or where a few numbers stand out, that of the usual ones.

    Parameters
    ----------
    table
        The numbers.
    usual_share
        Which share of them is usual.

    Examples
    --------
    >>> scale_end(np.array([[1.0, -2.0]])), scale_end(np.append(np.ones(999), 9.0)[None])
    (2.0, 1.0)
    """
    usual = float(np.quantile(np.abs(table), usual_share))
    largest = largest_size(table)
    return usual if 0 < usual < largest / OUTSTANDING else largest


def added_heatmap(table: Embedded, *, place: int, end: float | None = None) -> go.Figure:
    """What is added to x at each position (row) and column, with the chosen position framed.

    Parameters
    ----------
    table
        A row for each position.
    place
        The chosen position.
    end
        End of the scale, where it is shared; else that of the table.
    """
    n_places, n_columns = table.shape
    colours = SignedScale(top=end or scale_end(table))
    cells = Cells(
        value="added",
        heads=(),
        roles=(),
        rows=("",) * n_places,
        columns=("",) * n_columns,
        row_name="position",
        column_name="column",
        lowest=-2 * largest_size(table),
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": table.astype(np.float32),
        **colours.trace_options(),
        "colorbar": colours.colorbar("added to x"),
        "hoverinfo": "none",
    }
    frame = rectangle(-0.5, n_columns - 0.5, place - 0.5, place + 0.5, width=1.5)
    picture = layout(
        meta=cells.to_meta(),
        shapes=[frame],
        xaxis=axis("column of x", range=[-0.5, n_columns - 0.5], **whole_numbers(n_columns)),
        yaxis=axis("position (row)", range=[n_places - 0.5, -0.5], **whole_numbers(n_places)),
        height=460,
    )
    return figure([heatmap], picture)


def place_matrices(matrices: Mapping[str, PairScores], *, fit: int = 4) -> go.Figure:
    """Scores of the same word at each pair of places, one map a method, all on one scale.

    Parameters
    ----------
    matrices
        A map for each method, all of one size.
    fit
        How many maps of the usual size fit side by side.
    """
    maps = np.stack(list(matrices.values()))
    colours = SignedScale(top=scale_end(maps, USUAL_PAIRS))
    montage = arranged(maps.shape, fit)
    cells = Cells(
        value="score",
        heads=tuple(range(len(matrices))),
        roles=tuple(matrices),
        rows=("",) * maps.shape[1],
        columns=("",) * maps.shape[2],
        map_name="",
        row_name="query at position",
        column_name="key at position",
        lowest=-2 * largest_size(maps),
    )
    titles = [escaped(name) for name in matrices]
    return montage_figure(montage, maps, titles, placed(cells, montage), colours, colours.colorbar("score"))
