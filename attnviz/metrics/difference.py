"""One map less another: what is different, where most, and how much attention moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Shaped

from attnviz.core.rows import row_blocks
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_weights
from attnviz.metrics.pooling import Window, pool_factor
from attnviz.shapes import MapPart, Mask

ROWS_AT_ONCE = 128
ONE_SIDED = -np.inf
"""Stands for a pair that the mask of one head allows and that of the other forbids: there is nothing to compare."""


@dataclass(frozen=True, eq=False)
class Side:
    """A head of a trace."""

    trace: AttentionTrace
    head: int


@dataclass(frozen=True)
class Moved:
    """How much attention goes elsewhere in one head than in another.

    Attributes
    ----------
    share
        Share of a query's attention that is on other keys, the mean over the queries that have keys in either head; NaN
        where none has.
    uniform
        The same between the first head and one that is uniform over its allowed keys.
    query, key, difference
        Of the pairs that both may attend to, where the two differ most, and by how much the first has more.
    first_alone, second_alone
        Share of the attention of each that is on keys which only its own mask allows.
    first_alone_uniform, second_alone_uniform
        The same of a head that is uniform over the keys that this mask allows.
    """

    share: float
    uniform: float
    query: int
    key: int
    difference: float
    first_alone: float = 0.0
    second_alone: float = 0.0
    first_alone_uniform: float = 0.0
    second_alone_uniform: float = 0.0


def moved(first: Side, second: Side) -> Moved:
    """How much attention goes elsewhere in the first head than in the second.

    Notes
    -----
    Of each query half of Σ |a - b|, the total variation distance: 0 for the same row, 1 for rows without a common key.
    """
    total, even, count = 0.0, 0.0, 0
    alone = np.zeros(4)
    largest = (0, 0, 0.0)
    for rows, (one, mask), (other, other_mask) in _together(first, second):
        difference = one - other
        has_keys = mask.any(axis=1) | other_mask.any(axis=1)
        total += float(np.abs(difference)[has_keys].sum()) / 2
        uniforms = [uniform_weights(allowed[None])[0] for allowed in (mask, other_mask)]
        even += float(np.abs(one - uniforms[0])[has_keys].sum()) / 2
        count += int(has_keys.sum())
        difference[mask != other_mask] = 0.0
        if (mask != other_mask).any():
            only, only_other = mask & ~other_mask, other_mask & ~mask
            parts = (one[only], other[only_other], uniforms[0][only], uniforms[1][only_other])
            alone += [float(part.sum()) for part in parts]
        query, key = np.unravel_index(int(np.abs(difference).argmax()), difference.shape)
        found = float(difference[query, key])
        if abs(found) > abs(largest[2]):
            largest = (rows.start + int(query), int(key), found)
    if not count:
        return Moved(np.nan, np.nan, *largest)
    return Moved(total / count, even / count, *largest, *(float(part) / count for part in alone))


def difference_part(first: Side, second: Side, window: Window, most: int) -> MapPart:
    """The first head's weights less the second's in a window; NaN where both masks forbid, −∞ where one does.

    Parameters
    ----------
    first, second
        Heads of as many queries and keys.
    window
        What is looked at.
    most
        Cells a side; where the window has more, a cell is the difference of its block that is largest in size, among
        the pairs that both masks allow.
    """
    n_rows, n_columns = window.bottom - window.top, window.right - window.left
    step_q, step_k = pool_factor(n_rows, most), pool_factor(n_columns, most)
    columns = range(window.left, window.right)
    at_once = step_q * max(1, ROWS_AT_ONCE // step_q)
    parts: list[MapPart] = []
    for top in range(window.top, window.bottom, at_once):
        rows = range(top, min(top + at_once, window.bottom))
        (one, mask), (other, other_mask) = (side.trace.window(side.head, rows, columns) for side in (first, second))
        values, is_one_sided = np.where(mask & other_mask, one.astype(np.float64) - other, np.nan), mask != other_mask
        if step_q > 1 or step_k > 1:
            low, high = (_blocks(reduce, values, step_q, step_k) for reduce in (np.fmin, np.fmax))
            values = np.where(-low > high, low, high)
            is_one_sided = _blocks(np.logical_or, is_one_sided, step_q, step_k)
        parts.append(np.where(is_one_sided & np.isnan(values), ONE_SIDED, values))
    return np.concatenate(parts)


def _blocks(
    reduce: np.ufunc, values: MapPart | Mask, step_q: int, step_k: int
) -> Shaped[np.ndarray, "block_row block_column"]:
    n_rows, n_columns = values.shape
    across = reduce.reduceat(values, np.arange(0, n_columns, step_k), axis=1)
    return reduce.reduceat(across, np.arange(0, n_rows, step_q), axis=0)


def _together(first: Side, second: Side) -> Iterator[tuple[range, tuple[MapPart, Mask], tuple[MapPart, Mask]]]:
    n_q, n_k = first.trace.n_q, first.trace.n_k
    for rows in row_blocks(2, range(n_q), n_k):
        one, other = (side.trace.window(side.head, rows, range(n_k)) for side in (first, second))
        yield rows, (one[0].astype(np.float64), one[1]), (other[0].astype(np.float64), other[1])
