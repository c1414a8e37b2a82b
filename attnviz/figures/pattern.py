"""One head, large."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import WeightScale, with_forbidden
from attnviz.figures.labels import token_axis
from attnviz.figures.meta import Cells, Ticks, plain_labels, tick_labels, with_badge
from attnviz.figures.theme import LIGHT, axis, figure, layout, rectangle
from attnviz.figures.viewed import Seen
from attnviz.metrics import Survey
from attnviz.metrics.pooling import LARGE_SIDE, Window, pool_factor, pooled_window
from attnviz.shapes import HasKeys, MapPart

MOST_SIDE = LARGE_SIDE
MOST_TICKS = 40
EMPTY_ROW = "⊘ "
NOTHING_LEFT = "⊖ "


def is_exact(window: Window) -> bool:
    """Whether every pair of a window gets a cell of its own."""
    return max(window.bottom - window.top, window.right - window.left) <= MOST_SIDE


def fitting_window(wanted: tuple[float, float, float, float] | None, n_q: int, n_k: int) -> Window:
    """The window inside a map of this size; the whole map where none is asked for."""
    if wanted is None:
        return Window(0, n_q, 0, n_k)
    top, bottom, left, right = (round(edge) for edge in wanted)
    top, left = min(max(top, 0), n_q - 1), min(max(left, 0), n_k - 1)
    return Window(top, min(max(bottom, top + 1), n_q), left, min(max(right, left + 1), n_k))


def map_part(trace: AttentionTrace, head: int, window: Window) -> MapPart:
    """Weights of a window, or the largest of each block where it has more than 256 a side; NaN where forbidden."""
    return pooled_window(trace, head, window, MOST_SIDE)


def attention_heatmap(
    trace: AttentionTrace,
    found: Survey,
    *,
    head: int,
    role: str,
    query: int,
    key: int,
    scale: str,
    top: float,
    window: Window | None = None,
    part: MapPart | None = None,
    seen: Seen | None = None,
) -> go.Figure:
    """One head's weights: every cell where the window has at most 256 a side, else the largest of each block.

    Parameters
    ----------
    trace, found
        The layer, and what is known of its heads.
    head, role
        The head that is shown, and what it is called.
    query, key
        The cell that is framed.
    scale, top
        Colours, and the weight at their end.
    window, part
        What is shown of the map, and its weights; the whole map where they are left out.
    seen
        The numbers of a view, which are drawn instead of the weights.

    Notes
    -----
    Axes are the numbers 0...n-1 with the tokens as tick text; a query without an allowed key is marked with ⊘, one that
    a view leaves without any weight with ⊖.
    """
    shown = window or Window(0, trace.n_q, 0, trace.n_k)
    has_forbidden = found.small.allowed_share < 1
    has_keys = np.broadcast_to(found.small.has_keys, (trace.n_heads, trace.n_q))[head]
    cells = Cells(
        value="weight",
        heads=(head,),
        roles=(role,),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        click="cell",
    )
    if seen is None:
        values = map_part(trace, head, shown) if part is None else part
        colours = WeightScale(scale, top, has_forbidden)
        return map_figure(trace, values, cells, colours, shown, query=query, key=key, has_keys=has_keys)
    viewed = seen.colours(scale, top, has_forbidden=has_forbidden)
    cells = seen.described(cells, viewed)
    return map_figure(
        trace,
        viewed.drawn(seen.numbers),
        cells,
        viewed,
        shown,
        query=query,
        key=key,
        has_keys=has_keys,
        behind=seen.behind(cells),
        nothing_left=seen.is_empty,
        bar_title=seen.bar_title("weight"),
        badge=seen.badge,
    )


def map_figure(
    trace: AttentionTrace,
    values: MapPart,
    cells: Cells,
    colours: WeightScale,
    shown: Window,
    *,
    query: int,
    key: int,
    has_keys: HasKeys,
    behind: MapPart | None = None,
    nothing_left: HasKeys | None = None,
    bar_title: str = "",
    badge: str = "",
) -> go.Figure:
    """A window of a map with the tokens on its axes, and the chosen cell framed; NaN is drawn as forbidden."""
    step_q = pool_factor(shown.bottom - shown.top, MOST_SIDE)
    step_k = pool_factor(shown.right - shown.left, MOST_SIDE)
    empty = {int(row): EMPTY_ROW for row in np.flatnonzero(~has_keys)}
    if nothing_left is not None:
        empty |= {int(row): NOTHING_LEFT for row in np.flatnonzero(nothing_left)}
    placed = replace(
        cells,
        rows_per_cell=step_q,
        columns_per_cell=step_k,
        first_row=shown.top,
        first_column=shown.left,
        zoom=max(trace.n_q, trace.n_k) > MOST_SIDE,
    )
    ticks = Ticks(
        x=tick_labels(trace.key_tokens),
        y=tick_labels(trace.query_tokens, empty),
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": with_forbidden(values, ~np.isnan(values), colours),
        "x0": shown.left + (step_k - 1) / 2,
        "dx": step_k,
        "y0": shown.top + (step_q - 1) / 2,
        "dy": step_q,
        **colours.trace_options(),
        "colorbar": colours.colorbar(bar_title) if bar_title else colours.colorbar(),
        "hoverinfo": "none",
        **({} if behind is None else {"customdata": behind}),
    }
    picture = layout(
        **with_badge(placed.to_meta(ticks), badge),
        shapes=[
            rectangle(-0.5, trace.n_k - 0.5, -0.5, trace.n_q - 0.5, colour=LIGHT.line),
            rectangle(key - 0.5, key + 0.5, query - 0.5, query + 0.5, width=2.5),
            rectangle(-0.5, trace.n_k - 0.5, query - 0.5, query + 0.5),
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


def _ticks(first: int, end: int) -> range:
    return range(first, end, max(1, -(-(end - first) // MOST_TICKS)))
