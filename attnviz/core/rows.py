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
from attnviz.shapes import HeadMask, KPositions, PerQuery, QPositions, Values, Weights

USUAL_CELLS = 1 << 22
MOST_CELLS = 1 << 23
LEAST_ROWS = 32
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Facts:
    """What a measure of some rows may know of the whole layer; None where it is not known.

    Attributes
    ----------
    query_words, key_words
        A number for the word of each query, and of each key, of the layer.
    sink_keys
        For each head the key that gets most beyond what a head uniform over the allowed keys gives it.
    value
        What is averaged, `(kv_head, k, d_value)`.
    output_products
        For each head its rows of W_O times themselves, `(d_value, d_value)`: what the norm of its output follows from.
    grid_width
        Patches in a line of the image that the keys are patches of.
    """

    query_words: Int[np.ndarray, " all_q"] | None = None
    key_words: Int[np.ndarray, " all_k"] | None = None
    sink_keys: Int[np.ndarray, " all_heads"] | None = None
    value: Values | None = None
    output_products: Float[np.ndarray, "all_heads d_value d_value"] | None = None
    grid_width: int | None = None


NOTHING_KNOWN = Facts()


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
    facts
        What is known of the whole layer.
    real
        The rows as they are, where these are those of the uniform head.
    """

    weights: Weights
    mask: HeadMask
    places: QPositions
    keys: KPositions
    n_k: int
    nats: PerQuery | None = None
    facts: Facts = NOTHING_KNOWN
    real: Rows | None = None

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
        return self._summed_nats if self.nats is None else self.nats

    @cached_property
    def _summed_nats(self) -> PerQuery:
        wide = self.weights.astype(np.float64, copy=False)
        logs = np.log(wide, out=np.zeros(wide.shape), where=wide > 0)
        return np.abs(self.weighted_sum(logs))

    @cached_property
    def ascending(self) -> Float[np.ndarray, "head q k"]:
        """Weights of each row from small to large in float64; forbidden keys are zeros among the first."""
        return np.sort(self.weights.astype(np.float64), axis=-1)

    @cached_property
    def words(self) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " all_k"]]:
        """A number for the word of each of these queries, and of every key; all different where it is not known."""
        queries, keys = self.facts.query_words, self.facts.key_words
        if queries is None or keys is None:
            return self.places, np.arange(self.n_k)
        return queries[self.places - (self.n_k - len(queries))], keys

    @cached_property
    def written(self) -> Float[np.ndarray, "all_heads q"]:
        """Norm of what each head adds to the output of these queries; 0 where that is not known."""
        value, products = self.facts.value, self.facts.output_products
        if value is None or products is None:
            return np.zeros(self.weights.shape[:2])
        by_head = np.repeat(value[:, self.keys], len(products) // len(value), axis=0)
        context = np.matmul(self.weights, by_head).astype(np.float64)
        return np.sqrt(np.maximum(np.vecdot(np.matmul(context, products), context), 0.0))


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
