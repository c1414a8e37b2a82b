"""Weights of a few rows at a time, so that a long map is never held as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.softmax import summed_product
from attnviz.core.tiles import Rooms, Scorer, for_each, used_columns
from attnviz.shapes import HeadMask, KPositions, PerQuery, QPositions, Weights

USUAL_CELLS = 1 << 22
MOST_CELLS = 1 << 23
LEAST_ROWS = 32
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Rows:
    """Some queries of some heads: all that a measure of a query may read.

    Attributes
    ----------
    weights
        Softmax over the allowed keys, `(head, q, k)`.
    mask
        True = may attend.
    places
        Place of each query among the keys.
    keys
        Which keys the columns are; all others have weight 0 and are forbidden.
    n_k
        How many keys there are.
    nats
        Entropy of each row where it is known from the scores.
    """

    weights: Weights
    mask: HeadMask
    places: QPositions
    keys: KPositions
    n_k: int
    nats: PerQuery | None = None

    @cached_property
    def n_allowed(self) -> Int[np.ndarray, "#head q"]:
        """Keys that each query may attend to."""
        return self.mask.sum(axis=-1)

    @cached_property
    def allows_all(self) -> bool:
        """Whether every pair of these queries with any key may attend."""
        return bool((self.n_allowed == self.n_k).all())

    def weighted_sum(self, values: Float[np.ndarray, "..."]) -> PerQuery:
        """Sum over the keys of weight times value, in float64; of rows computed on the way over pieces of 1024 keys."""
        exact = self.weights.astype(np.float64, copy=False) if self.nats is None else self.weights
        return summed_product(exact, values)

    def entropy_nats(self) -> PerQuery:
        """-sum w ln w of each row, with 0 ln 0 = 0."""
        if self.nats is not None:
            return self.nats
        wide = self.weights.astype(np.float64, copy=False)
        logs = np.log(wide, out=np.zeros(wide.shape), where=wide > 0)
        return np.abs(self.weighted_sum(logs))


def rows_of(weights: Weights, mask: HeadMask) -> Rows:
    """All rows of whole maps.

    >>> rows_of(np.eye(3)[None], np.ones((1, 3, 3), bool)).entropy_nats()
    array([[0., 0., 0.]])
    """
    _, n_q, n_k = weights.shape
    return Rows(weights, mask, np.arange(n_k - n_q, n_k), np.arange(n_k), n_k)


def row_blocks(n_heads: int, rows: range, n_k: int) -> list[range]:
    """Rows in blocks of at most about 2^22 weights of all heads, but 32 rows where these have at most 2^23."""
    wide = max(n_heads * n_k, 1)
    step = max(1, USUAL_CELLS // wide, min(LEAST_ROWS, MOST_CELLS // wide))
    return [range(start, min(start + step, rows.stop)) for start in range(rows.start, rows.stop, step)]


def streamed(
    made: Scorer,
    work: Callable[[Rows, range], Made],
    *,
    heads: range | None = None,
    rows: range | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Iterator[Made]:
    """What the work gives for each block of rows, in order; the maps themselves are written over by the next block.

    Parameters
    ----------
    made
        What the weights depend on.
    work
        From some rows, and which ones they are, to what is kept of them.
    heads, rows
        Which are asked for; all where they are left out.
    on_progress
        Told the share of the rows that is done, from 0 to 1.
    """
    pairs = made.pairs
    chosen = range(made.query.shape[0]) if heads is None else heads
    wanted = range(pairs.n_q) if rows is None else rows
    blocks = row_blocks(len(chosen), wanted, pairs.n_k)
    rooms = Rooms()

    def one(block_rows: range) -> Made:
        return work(_filled(made, chosen, block_rows, rooms), block_rows)

    n_done = 0
    for block_rows, result in zip(blocks, for_each(one, blocks, len(chosen) * len(wanted) * pairs.n_k), strict=True):
        yield result
        n_done += len(block_rows)
        if on_progress is not None:
            on_progress(n_done / len(wanted))


def _filled(made: Scorer, heads: range, rows: range, rooms: Rooms) -> Rows:
    n_k = made.pairs.n_k
    block = made.block(slice(rows.start, rows.stop))
    columns = used_columns(block.mask, n_k)
    if columns.stop == columns.start:
        columns = slice(0, min(1, n_k))
    n_columns = columns.stop - columns.start
    weights = rooms.room("weights", (len(heads), len(rows), n_columns), made.query.dtype)
    nats = np.empty((len(heads), len(rows)))
    for i in range(len(heads)):
        one = slice(i, i + 1)
        nats[one] = made.fill(weights[one], block, heads[one], columns, rooms, with_entropy=True)
    if block.mask is None:
        mask = np.broadcast_to(True, (1, len(rows), n_columns))
    else:
        mask = block.mask[slice(heads.start, heads.stop) if len(block.mask) > 1 else slice(0, 1), :, columns]
    first = n_k - made.pairs.n_q
    return Rows(
        weights,
        mask,
        np.arange(first + rows.start, first + rows.stop),
        np.arange(columns.start, columns.stop),
        n_k,
        nats,
    )
