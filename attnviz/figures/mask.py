"""Which pairs may attend."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import MaskScale, with_forbidden
from attnviz.figures.labels import escaped, short
from attnviz.figures.meta import MOST_SPELT_OUT, Cells, Ticks, plain_labels
from attnviz.figures.montage import arranged, montage_figure, placed
from attnviz.figures.pattern import MOST_TICKS, map_figure
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.pooling import LARGE_SIDE, Window, pool_factor
from attnviz.shapes import Counts, HasKeys, MapPart, Mask

MOST_SIDE = 128
MOST_POINTS = 2048
FEW_TOKENS = 24
FEW_KEYS = 6
HEIGHT, HEIGHT_OF_MANY = 380, 520


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
    picture = map_figure(trace, values, cells, colours, window, query=query, key=key, has_keys=has_keys)
    picture.layout.height = HEIGHT if max(trace.n_q, trace.n_k) <= FEW_TOKENS else HEIGHT_OF_MANY
    return picture


def reading_heatmap(trace: AttentionTrace, mask: Mask, window: Window, *, head: int, query: int, key: int) -> go.Figure:
    """A mask as one reading of its array has it; queries without a key are marked.

    Parameters
    ----------
    trace
        The layer, for its tokens.
    mask
        True = may attend in this reading, `(q, k)`.
    window
        What is shown of it: where it has more than 256 a side, a cell is allowed where any pair of its block is.
    head, query, key
        The head whose mask it is, and the cell that is framed.
    """
    shown = mask[window.top : window.bottom, window.left : window.right]
    step_q, step_k = (pool_factor(side, LARGE_SIDE) for side in shown.shape)
    part = np.where(pooled_mask(shown, step_q, step_k), 1.0, np.nan)
    return mask_heatmap(
        trace, part, window, head=head, query=query, key=key, has_keys=np.logical_or.reduce(mask, axis=1)
    )


def mask_row(masks: Mapping[str, Mask], trace: AttentionTrace, *, fit: int = 4) -> go.Figure:
    """Small masks side by side, each with its name; of long ones a cell is allowed where any pair of its block is."""
    step = pool_factor(max(trace.n_q, trace.n_k), MOST_SIDE)
    maps = np.stack([pooled_mask(mask, step, step) for mask in masks.values()])
    montage = arranged(maps.shape, fit)
    cells = Cells(
        value="",
        heads=tuple(range(len(masks))),
        roles=tuple(masks),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        map_name="",
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
    is_spelt = trace.n_q <= MOST_SPELT_OUT
    tokens = [escaped(short(token)) for token in trace.query_tokens] if is_spelt else []
    line: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "allowed keys",
        "x": places.astype(np.float32),
        "y": n_allowed[places].astype(np.float32),
        "line": {"color": LIGHT.mark, "width": 2, "shape": "hvh"},
        **({"text": tokens} if is_spelt else {}),
        "hovertemplate": f"query %{{x}}{' %{text}' if is_spelt else ''}: %{{y}} keys<extra></extra>",
    }
    name = query_name(trace, query)
    chosen: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [query],
        "y": [int(n_allowed[query])],
        "marker": {"color": LIGHT.accent, "size": 9},
        "hovertemplate": f"{name}: %{{y}} keys<extra></extra>",
    }
    xaxis, ticks = query_axis(trace)
    most = max(int(n_allowed.max()), 1)
    whole = {"tick0": 0, "dtick": 1} if most <= FEW_KEYS else {}
    picture = layout(
        meta=ticks.to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=xaxis,
        yaxis=axis("allowed keys", range=[0, most * 1.05], showgrid=True, gridcolor=LIGHT.line, **whole),
        height=240,
    )
    return figure([line, chosen], picture)


def query_name(trace: AttentionTrace, query: int) -> str:
    """Number and token of a query for a legend, which takes no markup: the token only where it could be none."""
    token = short(trace.query_tokens[query])
    return f"query {query}" if escaped(token) != token or "%" in token else f"query {query} {token}"


def query_axis(trace: AttentionTrace) -> tuple[dict[str, object], Ticks]:
    """An axis of all queries: number and token of each, or numbers alone where they are many."""
    own = axis("query", range=[-0.5, trace.n_q - 0.5])
    if trace.n_q > MOST_TICKS:
        return own, Ticks()
    labels = tuple(f"{place} {short(token)}" for place, token in enumerate(trace.query_tokens))
    ticks = {"tickvals": list(range(trace.n_q)), "ticktext": [escaped(label) for label in labels]}
    return {**own, "type": "linear", "tickmode": "array", "tickangle": -45, **ticks}, Ticks(x=labels)


def pooled_mask(mask: Mask, step_q: int, step_k: int) -> Bool[np.ndarray, "row column"]:
    """A mask in blocks of `step_q` by `step_k` pairs, each allowed where any of its pairs is."""
    rows = np.logical_or.reduceat(mask, range(0, mask.shape[0], step_q), axis=0)
    return np.logical_or.reduceat(rows, range(0, mask.shape[1], step_k), axis=1)
