"""Long maps made as small as a screen can show: the largest of each block is kept."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.shapes import MapPart, PerQuery

MOST_HEADS = 64
MOST_SIDE = 128
MOST_CELLS = 1 << 16
LARGE_SIDE = 256


def pool_factor(n: int, most: int) -> int:
    """How many rows share one cell so that n of them take at most `most` cells.

    >>> pool_factor(128, 128), pool_factor(129, 128)
    (1, 2)
    """
    return max(1, -(-n // most))


@dataclass(frozen=True)
class Window:
    """Part of a map: queries `top` to `bottom` and keys `left` to `right`, the ends not included."""

    top: int
    bottom: int
    left: int
    right: int


class PoolPart(NamedTuple):
    """Part of pooled maps, and the cell that it begins at."""

    row: int
    column: int
    values: np.ndarray


class OverviewPart(NamedTuple):
    """What some rows add to an overview."""

    pooled: PoolPart
    largest_weight: PerQuery
    n_allowed: Int[np.ndarray, "#head q"]


class Pool:
    """The largest weight of each block of a window, from rows that come one block after the other.

    Attributes
    ----------
    maps
        Largest weight of each block in float32, `(head, row, column)`; NaN where all of it is forbidden.
    step_q, step_k
        Queries and keys that share one cell.
    """

    def __init__(self, n_heads: int, window: Window, most: int) -> None:
        height, width = window.bottom - window.top, window.right - window.left
        self.window = window
        self.step_q, self.step_k = pool_factor(height, most), pool_factor(width, most)
        shape = (n_heads, pool_factor(height, self.step_q), pool_factor(width, self.step_k))
        self.maps: Float[np.ndarray, "head row column"] = np.full(shape, np.nan, dtype=np.float32)

    def pooled(self, rows: Rows, first_query: int) -> PoolPart:
        """Part of the maps that these rows make, with its place."""
        left, right = max(self.window.left, int(rows.keys[0])), min(self.window.right, int(rows.keys[-1]) + 1)
        if left >= right:
            return PoolPart(0, 0, self.maps[:, :0, :0])
        columns = slice(left - int(rows.keys[0]), right - int(rows.keys[0]))
        top, side = first_query - self.window.top, left - self.window.left
        largest = self._largest(rows.weights[:, :, columns], top, side)
        if not rows.allows_all:
            largest = np.where(self._largest(rows.mask[:, :, columns], top, side), largest, np.nan)
        return PoolPart(top // self.step_q, side // self.step_k, largest.astype(np.float32))

    def add(self, part: PoolPart) -> None:
        """Take in a part; where parts share a cell the larger is kept."""
        _, height, width = part.values.shape
        place = self.maps[:, part.row : part.row + height, part.column : part.column + width]
        np.fmax(place, part.values, out=place)

    def _largest(self, maps: np.ndarray, top: int, side: int) -> np.ndarray:
        """The largest of each group of rows and columns; `top` and `side` are the places of the first."""
        _, n_rows, n_columns = maps.shape
        if self.step_q > 1:
            edges = [0, *range(self.step_q - top % self.step_q, n_rows, self.step_q), n_rows]
            maps = np.stack([maps[:, a:b].max(axis=1) for a, b in pairwise(edges)], axis=1)
        if self.step_k > 1:
            starts = [0, *range(self.step_k - side % self.step_k, n_columns, self.step_k)]
            maps = np.maximum.reduceat(maps, starts, axis=2)
        return maps


@dataclass(frozen=True, eq=False)
class Overview:
    """Maps of all heads, as small as a screen can show them.

    Attributes
    ----------
    maps
        Largest weight of each block; NaN where all of it is forbidden.
    step_q, step_k
        Queries and keys in one block.
    largest_weight
        Largest weight of each query; 0 where it has no allowed key.
    n_allowed
        Keys that each query may attend to.
    n_k
        Keys that there are.
    """

    maps: Float[np.ndarray, "head row column"]
    step_q: int
    step_k: int
    largest_weight: PerQuery
    n_allowed: Int[np.ndarray, "#head q"]
    n_k: int

    @property
    def has_keys(self) -> Bool[np.ndarray, "#head q"]:
        """Whether a query may attend to any key."""
        return self.n_allowed > 0

    @property
    def allowed_share(self) -> float:
        """Share of the pairs that the mask allows."""
        return float(self.n_allowed.mean()) / self.n_k


class Overlook:
    """Gathers an overview from rows that come one block after the other; the more heads, the smaller each map.

    Attributes
    ----------
    pool
        The maps so far.
    """

    def __init__(self, trace: AttentionTrace) -> None:
        self.pool = overview_pool(trace)
        self._n_k = trace.n_k
        self._largest: list[PerQuery] = []
        self._n_allowed: list[Int[np.ndarray, "#head q"]] = []

    def part(self, rows: Rows, which: range) -> OverviewPart:
        """What these rows add."""
        largest = rows.weights.max(axis=2).astype(np.float64)
        return OverviewPart(self.pool.pooled(rows, which.start), largest, rows.n_allowed)

    def add(self, part: OverviewPart) -> None:
        """Take in what rows add, in their order."""
        self.pool.add(part.pooled)
        self._largest.append(part.largest_weight)
        self._n_allowed.append(part.n_allowed)

    def overview(self) -> Overview:
        """What has been gathered."""
        return Overview(
            maps=self.pool.maps,
            step_q=self.pool.step_q,
            step_k=self.pool.step_k,
            largest_weight=np.concatenate(self._largest, axis=1),
            n_allowed=np.concatenate(self._n_allowed, axis=1),
            n_k=self._n_k,
        )


def overview_pool(trace: AttentionTrace) -> Pool:
    """Where an overview of all heads is gathered: the more heads, the smaller each map."""
    side = min(MOST_SIDE, int((MOST_CELLS / min(trace.n_heads, MOST_HEADS)) ** 0.5))
    return Pool(trace.n_heads, Window(0, trace.n_q, 0, trace.n_k), side)


def overview(trace: AttentionTrace) -> Overview:
    """Small maps of all heads, in one pass that never holds a whole map."""
    gathered = Overlook(trace)
    for part in trace.each_block(gathered.part):
        gathered.add(part)
    return gathered.overview()


def pooled_window(trace: AttentionTrace, head: int, window: Window, most: int) -> MapPart:
    """Largest weight of each block of a window of one head, at most `most` cells a side; NaN where all is forbidden."""
    pool = Pool(1, window, most)
    rows = range(window.top, window.bottom)
    for part in trace.each_block(
        lambda some, which: pool.pooled(some, which.start), heads=range(head, head + 1), rows=rows
    ):
        pool.add(part)
    return pool.maps[0]
