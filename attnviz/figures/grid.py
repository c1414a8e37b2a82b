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
from attnviz.figures.viewed import Seen
from attnviz.metrics.pooling import MOST_HEADS, Overview


def heads_shown(head: int, n_heads: int) -> range:
    """The block of at most 64 heads that holds this one.

    >>> heads_shown(70, 100)
    range(64, 100)
    """
    first = head // MOST_HEADS * MOST_HEADS
    return range(first, min(first + MOST_HEADS, n_heads))


def largest_shown(small: Overview | Seen, head: int) -> float:
    """The largest weight of the heads that are shown with this one: the end of their common colour scale."""
    maps = small.weights if isinstance(small, Seen) else small.maps
    heads = heads_shown(head, len(maps))
    return rounded_top(float(np.fmax.reduce(maps[heads.start : heads.stop], axis=None, initial=0)))


def head_grid(
    trace: AttentionTrace,
    small: Overview,
    roles: Sequence[str],
    *,
    selected: int,
    scale: str,
    shared_scale: bool,
    fit: int = 8,
    seen: Seen | None = None,
) -> go.Figure:
    """The maps of the heads around the chosen one, on one colour scale or each on its own; the chosen is framed.

    `seen` are the numbers of a view, which are drawn instead of the weights.
    """
    heads = heads_shown(selected, trace.n_heads)
    maps = (seen.numbers if seen else small.maps)[heads.start : heads.stop]
    largest = np.fmax.reduce(maps, axis=(1, 2), initial=0).astype(np.float64)
    top = largest_shown(seen or small, selected) if shared_scale else 1.0
    divisor = np.ones(len(maps)) if shared_scale else np.where(largest > 0, largest, 1.0)
    shares = maps / divisor[:, None, None]
    montage = arranged(maps.shape, fit)
    cells = Cells(
        value="weight" if shared_scale else "weight over largest of head",
        heads=tuple(heads),
        roles=tuple(roles[head] for head in heads),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        click="head",
    )
    bar_title = "weight" if shared_scale else "share of<br>the largest"
    has_forbidden, behind = small.allowed_share < 1, None
    if seen is None:
        colours = WeightScale(scale, top, has_forbidden)
        values = with_forbidden(shares, ~np.isnan(maps), colours)
    else:
        colours = seen.colours(scale, top, has_forbidden=has_forbidden)
        values = colours.drawn(np.where(maps < 0, maps, shares))
        cells = seen.described(cells, colours)
        bar_title = seen.bar_title(bar_title)
        behind = seen.behind(cells, heads)
    cells = placed(cells, montage, step_q=small.step_q, step_k=small.step_k)
    off = set(trace.removed)
    titles = [title(head, roles[head], is_usual=montage.is_usual, is_off=head in off) for head in heads]
    return montage_figure(
        montage,
        values,
        titles,
        cells,
        colours,
        colours.colorbar(bar_title),
        selected=selected - heads.start,
        behind=behind,
        badge=seen.badge if seen else "",
    )


def title(head: int, role: str, *, is_usual: bool, is_off: bool = False) -> str:
    """Small title of a map: the number, that it is switched off, and the name where there is room."""
    number = f"<b>{head}</b>{' off' if is_off else ''}"
    if not role or not is_usual:
        return number
    longest = 12 if is_off else 16
    if len(role) > longest and role.endswith(")"):
        name, _, turn = role.rpartition(" ")
        role = f"{name[: longest - len(turn) - 2].rstrip()}… {turn}"
    return f"{number}{' ·' if is_off else ''} {escaped(role if len(role) <= longest else f'{role[: longest - 1]}…')}"
