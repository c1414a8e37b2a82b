"""One head, large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import WeightScale, with_forbidden
from attnviz.figures.labels import short, token_axis
from attnviz.figures.meta import Cells, Ticks, plain_labels
from attnviz.figures.pooling import max_pooled, pool_factor
from attnviz.figures.theme import LIGHT, axis, figure, layout
from attnviz.shapes import Mask

MOST_SIDE = 256
MOST_TICKS = 40
EMPTY_ROW = "⊘ "


@dataclass(frozen=True)
class Window:
    """Part of a map: queries `top` to `bottom` and keys `left` to `right`, the ends not included."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def is_exact(self) -> bool:
        """Whether every pair in it gets a cell of its own."""
        return max(self.bottom - self.top, self.right - self.left) <= MOST_SIDE


def fitting_window(wanted: tuple[float, float, float, float] | None, n_q: int, n_k: int) -> Window:
    """The window inside a map of this size; the whole map where none is asked for."""
    if wanted is None:
        return Window(0, n_q, 0, n_k)
    top, bottom, left, right = (round(edge) for edge in wanted)
    top, left = min(max(top, 0), n_q - 1), min(max(left, 0), n_k - 1)
    return Window(top, min(max(bottom, top + 1), n_q), left, min(max(right, left + 1), n_k))


def attention_heatmap(
    trace: AttentionTrace,
    *,
    head: int,
    role: str,
    query: int,
    key: int,
    scale: str,
    shared_top: float | None = None,
    window: Window | None = None,
) -> go.Figure:
    """One head's weights: every cell where the window has at most 256 a side, else the largest of each block.

    Notes
    -----
    Axes are the numbers 0...n-1 with the tokens as tick text; a query without an allowed key is marked with ⊘.
    `shared_top` is the end of the colour scale; the head's own largest weight where it is left out.
    """
    shown = window or Window(0, trace.n_q, 0, trace.n_k)
    mask = head_mask(trace, head)
    part = (slice(shown.top, shown.bottom), slice(shown.left, shown.right))
    step_q = pool_factor(shown.bottom - shown.top, MOST_SIDE)
    step_k = pool_factor(shown.right - shown.left, MOST_SIDE)
    values = (
        np.where(mask[part], trace.weights[head][part], np.nan)
        if step_q == step_k == 1
        else max_pooled(trace.weights[head][part][None], mask[part][None], MOST_SIDE)[0]
    )
    top = (float(trace.weights[head].max(initial=0.0)) or 1.0) if shared_top is None else shared_top
    colours = WeightScale(scale, top, not bool(mask.all()))
    cells = Cells(
        value="weight",
        heads=(head,),
        roles=(role,),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        rows_per_cell=step_q,
        columns_per_cell=step_k,
        first_row=shown.top,
        first_column=shown.left,
        click="cell",
        zoom=max(trace.n_q, trace.n_k) > MOST_SIDE,
    )
    empty = _without_keys(mask)
    ticks = Ticks(
        x=tuple(short(token) for token in trace.key_tokens),
        y=tuple(empty.get(row, "") + short(token) for row, token in enumerate(trace.query_tokens)),
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": with_forbidden(values, ~np.isnan(values), colours),
        "x0": shown.left + (step_k - 1) / 2,
        "dx": step_k,
        "y0": shown.top + (step_q - 1) / 2,
        "dy": step_q,
        **colours.trace_options(),
        "colorbar": colours.colorbar(),
        "hoverinfo": "none",
    }
    picture = layout(
        meta=cells.to_meta(ticks),
        shapes=[
            _box(-0.5, -0.5, trace.n_k - 0.5, trace.n_q - 0.5, 1, LIGHT.line),
            _box(key - 0.5, query - 0.5, key + 0.5, query + 0.5, 2.5),
            _box(-0.5, query - 0.5, trace.n_k - 0.5, query + 0.5, 1),
        ],
        xaxis=axis(
            "key (column)",
            range=[-0.5, trace.n_k - 0.5],
            tickangle=-45,
            constrain="domain",
            constraintoward="left",
            **token_axis(trace.key_tokens, _ticks(shown.left, shown.right)),
        ),
        yaxis=axis(
            "query (row)",
            range=[trace.n_q - 0.5, -0.5],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            **token_axis(trace.query_tokens, _ticks(shown.top, shown.bottom), empty),
        ),
        height=520,
    )
    return figure([heatmap], picture)


def head_mask(trace: AttentionTrace, head: int) -> Mask:
    """The mask of one head, `(q, k)`."""
    return trace.mask[head if trace.mask.shape[0] > 1 else 0]


def _without_keys(mask: Mask) -> dict[int, str]:
    return {int(row): EMPTY_ROW for row in np.flatnonzero(~mask.any(axis=1))}


def _ticks(first: int, end: int) -> range:
    return range(first, end, max(1, -(-(end - first) // MOST_TICKS)))


def _box(
    left: float, top: float, right: float, bottom: float, width: float, colour: str = LIGHT.accent
) -> dict[str, object]:
    return {
        "type": "rect",
        "x0": left,
        "x1": right,
        "y0": top,
        "y1": bottom,
        "line": {"color": colour, "width": width},
        "layer": "above",
    }
