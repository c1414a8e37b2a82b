"""One head's map less another's."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.colours import SignedScale
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.pattern import map_figure
from attnviz.metrics.difference import Side
from attnviz.metrics.pooling import Window
from attnviz.shapes import MapPart


def difference_map(
    first: Side, part: MapPart, window: Window, *, query: int, key: int, largest: float, names: tuple[str, str]
) -> go.Figure:
    """What the first of two heads gives more, and less, than the second, on one scale that is symmetric about 0.

    Parameters
    ----------
    first
        The head whose tokens are on the axes.
    part, window
        The differences, NaN where the mask forbids the pair in both, and what part of the map they are.
    query, key
        The cell that is framed.
    largest
        Size of the difference at either end of the scale.
    names
        What the two are called.
    """
    trace = first.trace
    colours = SignedScale(top=largest or 1.0, has_forbidden=bool(np.isnan(part).any()))
    cells = Cells(
        value=f"{names[0]} less {names[1]}",
        heads=(),
        roles=(),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        lowest=-colours.top,
        below="forbidden in both",
        click="cell",
    )
    return map_figure(
        trace,
        part,
        cells,
        colours,
        window,
        query=query,
        key=key,
        has_keys=np.ones(trace.n_q, dtype=bool),
        bar_title="difference of the weights",
    )
