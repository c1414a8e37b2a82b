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
from attnviz.shapes import Bias, HeadMask, Keys, PerHead, Queries

TILE_CELLS = 1 << 19
FEW_CELLS = 1 << 16
LEAST_ROWS = 256
MOST_WIDE = 1 << 22
LARGEST_EXACT_IN_FLOAT32 = 16.0
LARGEST_EXACT_SUM = 32.0
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

    def mask_of(self, heads: range) -> HeadMask | None:
        """The mask of some heads, `(1, q, k)` where all share it."""
        if self.mask is None or self.mask.shape[0] == 1:
            return self.mask
        return self.mask[heads.start : heads.stop]


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
    """Some rows of one head, or of several."""

    heads: range
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
        weights: Float[np.ndarray, "head q k"],
        block: Block,
        heads: range,
        columns: slice,
        rooms: Rooms,
        *,
        with_entropy: bool = False,
    ) -> Float[np.ndarray, "head q"] | None:
        """Write the weights of these rows and columns; all others of these rows are 0.

        Parameters
        ----------
        weights
            Where they are written.
        block, heads, columns
            Rows, heads and keys; more than one head only where each has keys of its own.
        rooms
            Memory to work in.
        with_entropy
            Whether the entropy of each row is wanted, in nats.

        Notes
        -----
        Where float32 could not give weights exact to 1e-6, the scores are computed in float64: a score of more than 16
        is itself rounded by up to 1e-6, and a sum of d_head products by up to sqrt(d_head) times the rounding of its
        bound. Keys that no query of the tile may attend to count as 0 where they hold larger numbers, or none.
        """
        here = slice(heads.start, heads.stop)
        group = self.query.shape[0] // self.key.shape[0]
        kv_heads = slice(heads.start // group, (heads.stop - 1) // group + 1)
        query = self.query[here, block.rows]
        mask = block.mask_of(heads)
        allowed = None if mask is None or mask[:, :, columns].all() else mask[:, :, columns]
        bias = None if block.bias is None else block.bias[here, :, columns]
        used = None if allowed is None else np.logical_or.reduce(allowed, axis=(0, 1))
        key, most = self._keys(kv_heads, columns, used)
        largest = float((self.query_sizes[here, block.rows].max(axis=1, initial=0.0) * most).max()) * abs(self.scale)
        if bias is not None:
            largest += float(np.abs(bias).max(initial=0.0))
        most_exact = min(LARGEST_EXACT_IN_FLOAT32, LARGEST_EXACT_SUM / query.shape[2] ** 0.5)
        is_exact = query.dtype != np.float32 or largest <= most_exact
        if not is_exact and len(heads) > 1:
            parts = [
                self.fill(weights[i : i + 1], block, heads[i : i + 1], columns, rooms, with_entropy=with_entropy)
                for i in range(len(heads))
            ]
            return np.concatenate([part for part in parts if part is not None]) if with_entropy else None
        if not is_exact:
            is_kept = np.may_share_memory(key, self.key) and self.key.size <= MOST_WIDE
            query = query.astype(np.float64)
            key = self._wide_keys[kv_heads, columns] if is_kept else key.astype(np.float64)
        shifted = rooms.room("shifted", weights.shape, weights.dtype) if with_entropy else None
        narrow = weights if shifted is None else shifted
        scores = narrow if is_exact else rooms.room("wide", weights.shape, np.dtype(np.float64))
        np.matmul(query * query.dtype.type(self.scale), key.transpose(0, 2, 1), out=scores)
        if self.softcap is not None:
            np.tanh(np.divide(scores, self.softcap, out=scores), out=scores)
            scores *= self.softcap
        if bias is not None:
            scores += bias
        sink = None if self.sinks is None else self.sinks[here, None, None]
        bound = largest if is_exact else max(largest, SMALL_SCORE + 1)
        return softmax_into(weights, scores, allowed, sink=sink, largest=bound, shifted=shifted)

    def _keys(
        self, kv_heads: slice, columns: slice, used: Bool[np.ndarray, " k"] | None
    ) -> tuple[Keys, Float[np.ndarray, " kv_head"]]:
        """Keys, those that are not used made 0 where they are larger than all that are; and the largest norms."""
        key, sizes = self.key[kv_heads, columns], self.key_sizes[kv_heads, columns]
        if used is None:
            return key, sizes.max(axis=1, initial=0.0)
        most = sizes[:, used].max(axis=1, initial=0.0)
        if not (sizes[:, ~used] <= most[:, None]).all():
            key = np.where(used[:, None], key, key.dtype.type(0))
        return key, most

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


def tiles(n_heads: int, n_q: int, n_k: int, *, is_grouped: bool = False) -> list[Tile]:
    """All rows of all heads.

    Notes
    -----
    A tile has at most about 2^19 cells, but 256 rows where there are so many; small maps of heads that each have keys
    of their own make one tile together.
    """
    if n_heads * n_q * n_k <= FEW_CELLS and not is_grouped:
        return [Tile(range(n_heads), slice(0, n_q))]
    step = max(LEAST_ROWS if n_k > TILE_CELLS // LEAST_ROWS else 1, TILE_CELLS // max(n_k, 1))
    starts = range(0, n_q, step)
    every = [slice(start, min(start + step, n_q)) for start in starts]
    return [Tile(range(head, head + 1), rows) for head in range(n_heads) for rows in every]


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
