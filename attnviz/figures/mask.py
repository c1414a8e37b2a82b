"""Which pairs may attend."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import MaskScale, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.montage import arranged, montage_figure, placed
from attnviz.figures.pattern import map_figure
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.pooling import Window, pool_factor
from attnviz.shapes import Counts, HasKeys, MapPart, Mask

MOST_SIDE = 128
MOST_POINTS = 2048


def mask_heatmap(
    trace: AttentionTrace, part: MapPart, window: Window, *, head: int, query: int, key: int, has_keys: HasKeys
) -> go.Figure:
    """One head's mask: a cell is allowed where any pair of its block is.

    Parameters
    ----------
    trace
        The layer.
    part, window
        What is shown of the map: NaN where a pair, or all of a block, is forbidden.
    head, query, key
        The head, and the cell that is framed.
    has_keys
        Whether each query may attend to any key.
    """
    allowed = np.where(np.isnan(part), np.nan, 1.0)
    cells = Cells(
        value="",
        heads=(head,),
        roles=("",),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        click="cell",
    )
    colours = MaskScale()
    values = with_forbidden(allowed, ~np.isnan(allowed), colours)
    return map_figure(trace, values, cells, colours, window, query=query, key=key, has_keys=has_keys)


def mask_row(masks: Mapping[str, Mask], trace: AttentionTrace, *, fit: int = 4) -> go.Figure:
    """Small masks side by side, each with its name; of long ones a cell is allowed where any pair of its block is."""
    step = pool_factor(max(trace.n_q, trace.n_k), MOST_SIDE)
    maps = np.stack([_pooled(mask, step) for mask in masks.values()])
    montage = arranged(maps.shape, fit)
    cells = Cells(
        value="",
        heads=tuple(range(len(masks))),
        roles=tuple(masks),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
    )
    colours = MaskScale()
    values = with_forbidden(np.where(maps, 1.0, np.nan), maps, colours)
    titles = [escaped(name) for name in masks]
    cells = placed(cells, montage, step_q=step, step_k=step)
    return montage_figure(montage, values, titles, cells, colours, colours.colorbar())


def keys_allowed(n_allowed: Counts, trace: AttentionTrace, *, query: int) -> go.Figure:
    """How many keys each query may attend to, with the chosen query marked; of many queries every so many."""
    step = pool_factor(trace.n_q, MOST_POINTS)
    places = np.arange(0, trace.n_q, step)
    line: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "allowed keys",
        "x": places.astype(np.float32),
        "y": n_allowed[places].astype(np.float32),
        "line": {"color": LIGHT.mark, "width": 2, "shape": "hvh"},
        "hovertemplate": "query %{x}: %{y} keys<extra></extra>",
    }
    chosen: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": f"query {query}",
        "x": [query],
        "y": [int(n_allowed[query])],
        "marker": {"color": LIGHT.accent, "size": 9},
        "hovertemplate": "query %{x}: %{y} keys<extra></extra>",
    }
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("query", range=[-0.5, trace.n_q - 0.5], showgrid=False),
        yaxis=axis("allowed keys", range=[0, max(int(n_allowed.max()), 1) * 1.05], showgrid=True, gridcolor=LIGHT.line),
        height=300,
    )
    return figure([line, chosen], picture)


def _pooled(mask: Mask, step: int) -> Bool[np.ndarray, "row column"]:
    rows = np.logical_or.reduceat(mask, range(0, mask.shape[0], step), axis=0)
    return np.logical_or.reduceat(rows, range(0, mask.shape[1], step), axis=1)
