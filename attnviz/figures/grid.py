"""All heads at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import WeightScale, rounded_top, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.montage import arranged, montage_figure, placed
from attnviz.metrics.pooling import MOST_HEADS, Overview


def heads_shown(head: int, n_heads: int) -> range:
    """The block of at most 64 heads that holds this one.

    >>> heads_shown(70, 100)
    range(64, 100)
    """
    first = head // MOST_HEADS * MOST_HEADS
    return range(first, min(first + MOST_HEADS, n_heads))


def largest_shown(small: Overview, head: int) -> float:
    """The largest weight of the heads that are shown with this one: the end of their common colour scale."""
    heads = heads_shown(head, len(small.maps))
    return rounded_top(float(np.fmax.reduce(small.maps[heads.start : heads.stop], axis=None, initial=0)))


def head_grid(
    trace: AttentionTrace,
    small: Overview,
    roles: Sequence[str],
    *,
    selected: int,
    scale: str,
    shared_scale: bool,
    fit: int = 8,
) -> go.Figure:
    """The maps of the heads around the chosen one, on one colour scale or each on its own; the chosen is framed."""
    heads = heads_shown(selected, trace.n_heads)
    maps = small.maps[heads.start : heads.stop]
    largest = np.fmax.reduce(maps, axis=(1, 2), initial=0).astype(np.float64)
    colours = WeightScale(scale, largest_shown(small, selected) if shared_scale else 1.0, small.allowed_share < 1)
    divisor = np.ones(len(maps)) if shared_scale else np.where(largest > 0, largest, 1.0)
    values = with_forbidden(maps / divisor[:, None, None], ~np.isnan(maps), colours)
    montage = arranged(maps.shape, fit)
    cells = Cells(
        value="weight" if shared_scale else "weight over largest of head",
        heads=tuple(heads),
        roles=tuple(roles[head] for head in heads),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        click="head",
    )
    cells = placed(cells, montage, step_q=small.step_q, step_k=small.step_k)
    titles = [title(head, roles[head], is_usual=montage.is_usual) for head in heads]
    bar = colours.colorbar("weight" if shared_scale else "share of<br>the largest")
    return montage_figure(montage, values, titles, cells, colours, bar, selected=selected - heads.start)


def title(head: int, role: str, *, is_usual: bool) -> str:
    """Small title of a map: the number, and the name where there is room."""
    if not role or not is_usual:
        return f"<b>{head}</b>"
    longest = 16
    if len(role) > longest and role.endswith(")"):
        name, _, turn = role.rpartition(" ")
        role = f"{name[: longest - len(turn) - 2].rstrip()}… {turn}"
    return f"<b>{head}</b> {escaped(role if len(role) <= longest else f'{role[: longest - 1]}…')}"
