"""What each key gets from each head, beyond what a head that knows nothing gives it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import SignedScale
from attnviz.figures.labels import escaped, token_axis
from attnviz.figures.meta import Cells, Ticks, plain_labels, tick_labels
from attnviz.figures.theme import axis, figure, layout, rectangle
from attnviz.metrics import Survey
from attnviz.shapes import Tokens

MOST_CELLS = 512
MOST_TICKS = 24
ROW_PIXELS = 26
Beyond = Float[np.ndarray, "head k"]


def received_beyond(found: Survey) -> tuple[Beyond, Float[np.ndarray, "#head k"]]:
    """Mean weight that each key receives from each head beyond the uniform head, and that of the uniform head.

    Notes
    -----
    Column sums over the number of queries that have a key, less the same for weights uniform over the allowed keys.
    """
    n_rows = np.maximum(found.small.has_keys.sum(axis=1, keepdims=True), 1)
    uniform = found.uniform_received / n_rows
    return found.received / n_rows - uniform, uniform


def received_map(beyond: Beyond, tokens: Tokens, roles: Sequence[str], heads: range, *, selected: int) -> go.Figure:
    """Head by key: the mean weight that the key receives beyond the uniform head, on a scale symmetric about 0.

    Parameters
    ----------
    beyond
        Of every head and key.
    tokens
        The keys.
    roles
        What each head is called; may be empty.
    heads
        Those that are drawn.
    selected
        Head whose row is framed.

    Notes
    -----
    Of more than 512 keys several share a cell, which shows the number that is farthest from 0.
    """
    values, step = _pooled(beyond[heads.start : heads.stop])
    largest = float(np.abs(values).max(initial=0.0))
    colours = SignedScale(top=largest or 1.0)
    names = tuple(f"{head} {roles[head]}".rstrip() for head in range(len(roles)))
    cells = Cells(
        value="mean weight beyond the uniform head",
        heads=(),
        roles=(),
        rows=tuple(f"head {name}" for name in names),
        columns=plain_labels(tokens),
        map_name="",
        row_name="",
        column_name="key",
        columns_per_cell=step,
        first_row=heads.start,
        lowest=colours.lowest,
        click="pair",
    )
    n_k, places = len(tokens), range(0, len(tokens), max(1, -(-len(tokens) // MOST_TICKS)))
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": values.astype(np.float32),
        "x0": (step - 1) / 2,
        "dx": step,
        "y0": heads.start,
        **colours.trace_options(),
        "colorbar": colours.colorbar("beyond uniform"),
        "hoverinfo": "none",
        "ygap": 1,
    }
    picture = layout(
        meta=cells.to_meta(Ticks(x=tick_labels(tokens), y=names, strong=selected)),
        xaxis=axis("key (column)", range=[-0.5, n_k - 0.5], tickangle=-45, **token_axis(tokens, places)),
        yaxis=axis(
            "head (row)",
            range=[heads.stop - 0.5, heads.start - 0.5],
            tickmode="array",
            tickvals=list(heads),
            ticktext=[escaped(names[head]) for head in heads],
        ),
        shapes=[rectangle(-0.5, n_k - 0.5, selected - 0.5, selected + 0.5)],
        height=max(260, ROW_PIXELS * len(heads) + 110),
    )
    return figure([heatmap], picture)


def _pooled(values: Beyond) -> tuple[Float[np.ndarray, "head block"], int]:
    """The number of each block of keys that is farthest from 0, and how many keys a block has."""
    n_k = values.shape[1]
    step = -(-n_k // MOST_CELLS)
    starts = np.arange(0, n_k, step)
    high, low = (of.reduceat(values, starts, axis=1) for of in (np.maximum, np.minimum))
    return np.where(high >= -low, high, low), step
