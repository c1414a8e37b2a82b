"""Weights of one attention, computed in tiles small enough for the processor's cache and spread over threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import prod
from threading import local
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool, Float
from threadpoolctl import ThreadpoolController

from attnviz.core.pairs import Pairs
from attnviz.core.softmax import SMALL_SCORE, softmax_into
from attnviz.shapes import Bias, HeadMask, Keys, Mask, PerHead, Queries

TILE_CELLS = 1 << 19
LEAST_ROWS = 256
MOST_WIDE = 1 << 22
LARGEST_EXACT_IN_FLOAT32 = 32.0
N_THREADS = min(os.cpu_count() or 1, 8)
_blas = ThreadpoolController()
_pool = ThreadPoolExecutor(max_workers=N_THREADS, thread_name_prefix="attention")
T = TypeVar("T")
Made = TypeVar("Made")


def leave_threads_to_tiles() -> None:
    """Keep matrix products on one thread from now on: idle threads of BLAS spin, and take a core from the browser."""
    _blas.limit(limits=1, user_api="blas")


class Block(NamedTuple):
    """Some rows of all heads, with what says which of their pairs may attend and what is added to their scores."""

    rows: slice
    mask: HeadMask | None
    bias: Bias | None

    def mask_of(self, head: int) -> Mask | None:
        """The mask of one head."""
        return None if self.mask is None else self.mask[head if self.mask.shape[0] > 1 else 0]


class Rooms(local):
    """Memory of each thread that one tile after the other is written into: fresh memory costs more than the sums."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, np.dtype[np.floating]], Float[np.ndarray, " cell"]] = {}

    def room(self, name: str, shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> np.ndarray:
        """An array of this shape, with anything in it."""
        n_cells = prod(shape)
        found = self._kept.get((name, dtype))
        if found is None or found.size < n_cells:
            found = self._kept[name, dtype] = np.empty(n_cells, dtype=dtype)
        return found[:n_cells].reshape(shape)


class Tile(NamedTuple):
    """Some rows of one head."""

    head: int
    rows: slice


@dataclass(frozen=True, eq=False)
class Scorer:
    """Everything that the weights of one attention depend on.

    Attributes
    ----------
    query, key, scale
        Query times key times the scale is the score.
    pairs
        Which pairs may attend, and what is added to their scores.
    softcap, sinks
        See `scaled_dot_product_attention`.
    query_sizes, key_sizes
        Euclidean norm of each query and key.
    """

    query: Queries
    key: Keys
    scale: float
    pairs: Pairs
    softcap: float | None
    sinks: PerHead | None
    query_sizes: Float[np.ndarray, "head q"]
    key_sizes: Float[np.ndarray, "kv_head k"]

    def block(self, rows: slice) -> Block:
        """Mask and bias of some rows, made once for all heads."""
        pairs, n_heads = self.pairs, self.query.shape[0]
        n_rows = len(range(*rows.indices(pairs.n_q)))
        mask = None if pairs.mask_of is None else pairs.mask_of(rows)
        bias = None if pairs.bias_of is None else pairs.bias_of(rows)
        shape = (n_heads, n_rows, pairs.n_k)
        return Block(
            rows,
            None if mask is None else np.broadcast_to(mask, (mask.shape[0], *shape[1:])),
            None if bias is None else np.broadcast_to(bias, shape),
        )

    def fill(
        self,
        weights: Float[np.ndarray, "q k"],
        block: Block,
        head: int,
        columns: slice,
        rooms: Rooms,
        *,
        with_entropy: bool = False,
    ) -> Float[np.ndarray, " q"] | None:
        """Write the weights of these rows and columns; all others of these rows are 0.

        Parameters
        ----------
        weights
            Where they are written.
        block, head, columns
            Rows, head and keys.
        rooms
            Memory to work in.
        with_entropy
            Whether the entropy of each row is wanted, in nats.

        Notes
        -----
        Where float32 could not give weights exact to 1e-6, the scores are computed in float64: a sum of d_head
        products is off by up to sqrt(d_head) times the rounding of its bound. Keys that no query of the tile may attend
        to count as 0 where they hold larger numbers, or none.
        """
        kv_head = head // (self.query.shape[0] // self.key.shape[0])
        query = self.query[head, block.rows]
        mask = block.mask_of(head)
        allowed = None if mask is None or mask[:, columns].all() else mask[:, columns]
        bias = None if block.bias is None else block.bias[head, :, columns]
        used = None if allowed is None else np.logical_or.reduce(allowed, axis=0)
        key, most = self._keys(kv_head, columns, used)
        largest = float(self.query_sizes[head, block.rows].max(initial=0.0)) * most * abs(self.scale)
        if bias is not None:
            largest += float(np.abs(bias).max(initial=0.0))
        is_exact = query.dtype != np.float32 or largest * query.shape[1] ** 0.5 <= LARGEST_EXACT_IN_FLOAT32
        if not is_exact:
            is_kept = np.may_share_memory(key, self.key) and self.key.size <= MOST_WIDE
            query = query.astype(np.float64)
            key = self._wide_keys[kv_head, columns] if is_kept else key.astype(np.float64)
        shifted = rooms.room("shifted", weights.shape, weights.dtype) if with_entropy else None
        narrow = weights if shifted is None else shifted
        scores = narrow if is_exact else rooms.room("wide", weights.shape, np.dtype(np.float64))
        np.matmul(query * query.dtype.type(self.scale), key.T, out=scores)
        if self.softcap is not None:
            np.tanh(np.divide(scores, self.softcap, out=scores), out=scores)
            scores *= self.softcap
        if bias is not None:
            scores += bias
        sink = None if self.sinks is None else float(self.sinks[head])
        bound = largest if is_exact else max(largest, SMALL_SCORE + 1)
        return softmax_into(weights, scores, allowed, sink=sink, largest=bound, shifted=shifted)

    def _keys(
        self, kv_head: int, columns: slice, used: Bool[np.ndarray, " k"] | None
    ) -> tuple[Float[np.ndarray, "k d_head"], float]:
        """Keys, those that are not used made 0 where they are larger than all that are; and the largest norm."""
        key, sizes = self.key[kv_head, columns], self.key_sizes[kv_head, columns]
        if used is None:
            return key, float(sizes.max(initial=0.0))
        most = sizes[used].max(initial=0.0)
        if not (sizes[~used] <= most).all():
            key = np.where(used[:, None], key, key.dtype.type(0))
        return key, float(most)

    @cached_property
    def _wide_keys(self) -> Keys:
        return self.key.astype(np.float64)


def used_columns(mask: Bool[np.ndarray, "*rows k"] | None, n_k: int) -> slice:
    """The keys from the first to the last that some row may attend to.

    >>> used_columns(np.array([[False, True, False], [False, True, True]]), 3)
    slice(1, 3, None)
    """
    if mask is None:
        return slice(0, n_k)
    some = np.flatnonzero(mask.any(axis=tuple(range(mask.ndim - 1))))
    return slice(int(some[0]), int(some[-1]) + 1) if some.size else slice(0, 0)


def scorer(
    query: Queries,
    key: Keys,
    *,
    scale: float,
    pairs: Pairs,
    softcap: float | None,
    sinks: PerHead | None,
) -> Scorer:
    """What computes the weights of any tile."""
    return Scorer(query, key, scale, pairs, softcap, sinks, _sizes(query), _sizes(key))


def _sizes(vectors: Float[np.ndarray, "head token d_head"]) -> Float[np.ndarray, "head token"]:
    """Euclidean norms, in float64 one head after the other."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.stack([np.sqrt(np.vecdot(x, x, dtype=np.float64)) for x in vectors])


def tiles(n_heads: int, n_q: int, n_k: int) -> list[Tile]:
    """All rows of all heads; a tile has at most about 2^19 cells, but 256 rows where there are so many."""
    step = max(LEAST_ROWS if n_k > TILE_CELLS // LEAST_ROWS else 1, TILE_CELLS // max(n_k, 1))
    starts = range(0, n_q, step)
    return [Tile(head, slice(start, min(start + step, n_q))) for head in range(n_heads) for start in starts]


def for_each(work: Callable[[T], Made], every: Iterable[T], n_cells: int) -> Iterator[Made]:
    """What the work gives for each part, in order; done on several threads where there is much of it.

    Numbers that are not finite, or overflow, give no warnings.

    Notes
    -----
    Only a few parts are handed to the threads ahead of time, so that long work of one reader leaves room for others,
    and stops soon after nobody asks for its next result.
    """

    def quiet(part: T) -> Made:
        with np.errstate(invalid="ignore", over="ignore"):
            return work(part)

    if n_cells < TILE_CELLS:
        yield from map(quiet, every)
        return
    waiting: deque[Future[Made]] = deque()
    with _blas.limit(limits=1, user_api="blas"):
        try:
            for part in every:
                waiting.append(_pool.submit(quiet, part))
                if len(waiting) > 2 * N_THREADS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
