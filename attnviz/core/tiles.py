"""Weights of one attention, computed in tiles small enough for the processor's cache and spread over threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from threadpoolctl import ThreadpoolController

from attnviz.core.softmax import softmax_into
from attnviz.shapes import Bias, HeadMask, Keys, PerHead, Queries

TILE_CELLS = 1 << 19
LEAST_ROWS = 256
LARGEST_EXACT_IN_FLOAT32 = 32.0
SMALL_SCORE = 64.0
_blas = ThreadpoolController()
_pool = ThreadPoolExecutor(max_workers=min(os.cpu_count() or 1, 8), thread_name_prefix="attention")


def leave_threads_to_tiles() -> None:
    """Keep matrix products on one thread from now on: idle threads of BLAS spin, and take a core from the browser."""
    _blas.limit(limits=1, user_api="blas")


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
    bias, mask
        Broadcast to `(head, q, k)`; None where they do nothing.
    softcap, sinks
        See `scaled_dot_product_attention`.
    largest
        For each head a bound on the size of its scores plus bias.
    """

    query: Queries
    key: Keys
    scale: float
    bias: Bias | None
    mask: HeadMask | None
    softcap: float | None
    sinks: PerHead | None
    largest: PerHead

    def columns(self, tile: Tile) -> slice:
        """The keys from the first to the last that some row of the tile may attend to."""
        if self.mask is None:
            return slice(0, self.key.shape[1])
        some = np.flatnonzero(self.mask[tile.head, tile.rows].any(axis=0))
        return slice(int(some[0]), int(some[-1]) + 1) if some.size else slice(0, 0)

    def fill(self, weights: Float[np.ndarray, "q k"], tile: Tile, columns: slice) -> None:
        """Write the weights of these rows and columns; all others of these rows are 0.

        Notes
        -----
        Where float32 could not give weights exact to 1e-6, the scores are computed in float64: a sum of d_head
        products is off by up to sqrt(d_head) times the rounding of its bound.
        """
        head, rows = tile
        query = self.query[head, rows]
        key = self.key[head // (self.query.shape[0] // self.key.shape[0]), columns]
        largest = float(self.largest[head])
        rounding = largest * query.shape[1] ** 0.5
        is_exact = query.dtype != np.float32 or rounding <= LARGEST_EXACT_IN_FLOAT32
        if not is_exact:
            query, key = query.astype(np.float64), key.astype(np.float64)
        scores = weights if is_exact else np.empty(weights.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            np.matmul(query * query.dtype.type(self.scale), key.T, out=scores)
            if self.softcap is not None:
                np.tanh(np.divide(scores, self.softcap, out=scores), out=scores)
                scores *= self.softcap
            if self.bias is not None:
                scores += self.bias[head, rows, columns]
        sink = None if self.sinks is None else float(self.sinks[head])
        is_small = is_exact and max(largest, abs(sink or 0.0)) <= SMALL_SCORE
        softmax_into(weights, scores, self._allowed(tile, columns), sink=sink, is_small=is_small)

    def _allowed(self, tile: Tile, columns: slice) -> Bool[np.ndarray, "q k"] | None:
        if self.mask is None:
            return None
        allowed = self.mask[tile.head, tile.rows, columns]
        return None if allowed.all() else allowed


def scorer(
    query: Queries,
    key: Keys,
    *,
    scale: float,
    mask: HeadMask | None,
    bias: Bias | None,
    softcap: float | None,
    sinks: PerHead | None,
) -> Scorer:
    """What computes the weights of any tile."""
    shape = (query.shape[0], query.shape[1], key.shape[1])
    used = key if mask is None else key[:, mask.any(axis=(0, 1))]
    with np.errstate(over="ignore", invalid="ignore"):
        longest = [np.sqrt(np.vecdot(x, x, dtype=np.float64).max(axis=1, initial=0.0)) for x in (query, used)]
        largest = longest[0] * np.repeat(longest[1], query.shape[0] // key.shape[0]) * abs(scale)
        if bias is not None:
            largest = largest + np.abs(bias).max(axis=(1, 2), initial=0.0)
    return Scorer(
        query=query,
        key=key,
        scale=scale,
        bias=None if bias is None else np.broadcast_to(bias, shape),
        mask=None if mask is None or mask.all() else np.broadcast_to(mask, shape),
        softcap=softcap,
        sinks=sinks,
        largest=largest,
    )


def tiles(n_heads: int, n_q: int, n_k: int) -> list[Tile]:
    """All rows of all heads; a tile has at most about 2^19 cells, but 256 rows where there are so many."""
    step = max(LEAST_ROWS if n_k > TILE_CELLS // LEAST_ROWS else 1, TILE_CELLS // max(n_k, 1))
    starts = range(0, n_q, step)
    return [Tile(head, slice(start, min(start + step, n_q))) for head in range(n_heads) for start in starts]


def for_each_tile(work: Callable[[Tile], None], every: Iterable[Tile], n_cells: int) -> None:
    """Do the work for each tile, on several threads where there is much of it."""
    if n_cells < TILE_CELLS:
        for tile in every:
            work(tile)
    else:
        with _blas.limit(limits=1, user_api="blas"):
            list(_pool.map(work, every))
