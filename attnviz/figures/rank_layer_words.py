"""How many directions the heads of all layers use, in words computed from the data."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from attnviz.figures.head_names import head_name
from attnviz.figures.overview_map import ByLayer
from attnviz.figures.rank_words import SAME
from attnviz.numbers import counted, significant
from attnviz.picks import HeadAt

PerLayer = Float[np.ndarray, " layer"]


def scores_answer(ranks: ByLayer, most: int, most_name: str) -> str:
    """The heads with most and fewest directions before the softmax, beside the most there can be."""
    return f"{_ends(ranks)} The scores can have {most} at most ({most_name})." if _is_known(ranks) else _nothing()


def weights_answer(ranks: ByLayer, uniform: PerLayer) -> str:
    """The same after the softmax, beside the uniform head, and the layers that use most and fewest directions."""
    if not _is_known(ranks):
        return _nothing()
    beside = f" A uniform head has {significant(float(np.nanmean(uniform)))}."
    means = [float(np.nanmean(row)) if _is_known(row) else np.nan for row in ranks]
    most, least = int(np.nanargmax(means)), int(np.nanargmin(means))
    if means[most] - means[least] < SAME:
        return f"{_ends(ranks)}{beside}"
    return (
        f"{_ends(ranks)} On average most in layer {most} ({significant(means[most])}), fewest in layer {least} "
        f"({significant(means[least])}).{beside}"
    )


def _is_known(ranks: np.ndarray) -> bool:
    return not bool(np.isnan(ranks).all())


def _nothing() -> str:
    return "No head has a number other than 0: there is no direction."


def _ends(ranks: ByLayer) -> str:
    high, low = (np.unravel_index(int(of(ranks)), ranks.shape) for of in (np.nanargmax, np.nanargmin))
    most, least = float(ranks[high]), float(ranks[low])
    if most - least < SAME:
        return f"Every head uses {significant(most)} directions."
    names = [head_name(HeadAt(int(layer), int(head)), len(ranks)) for layer, head in (high, low)]
    return (
        f"Most: head {names[0]} with {significant(most)} directions; fewest: head {names[1]} with {significant(least)}."
    )


def ranks_alt(ranks: ByLayer, of_what: str) -> str:
    """Alt text of the map of all layers."""
    n_layers, n_heads = ranks.shape
    size = f"{counted(n_layers, 'layer')} (rows) by {counted(n_heads, 'head')} (columns)"
    lines = [
        f"layer {layer} {significant(float(np.nanmin(row)))} to {significant(float(np.nanmax(row)))}"
        for layer, row in enumerate(ranks)
        if _is_known(row)
    ]
    return f"Heatmap of the effective rank of the {of_what}, {size}: {'; '.join(lines) or 'no number'}."
