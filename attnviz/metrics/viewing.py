"""Maps without some keys, and rows as shares of their largest weight: what a bright column leaves to be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_weights
from attnviz.metrics.pooling import Pool, PoolPart, Window, overview_pool
from attnviz.metrics.survey import Survey
from attnviz.shapes import HasKeys, MapPart

HIDDEN = -1.0
"""Stands in a map for cells of hidden keys, and for those of a row of which nothing is left."""
FORBIDDEN = -2.0
DECADES = 4
LEAST_EXCESS = 0.05
MOST_SINKS = 3


@dataclass(frozen=True)
class View:
    """How weights are shown.

    Attributes
    ----------
    hidden
        Keys that are left out, in order; the other weights of each row are divided by their sum.
    row_scale
        Whether each row is divided by its largest weight, after that.
    log_scale
        Whether colours follow the logarithm of what is left by the other two.
    """

    hidden: tuple[int, ...] = ()
    row_scale: bool = False
    log_scale: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether weights are shown as they are."""
        return self == PLAIN

    @property
    def changes_weights(self) -> bool:
        """Whether the numbers that are drawn are others than the weights."""
        return bool(self.hidden) or self.row_scale

    @property
    def of_weights(self) -> View:
        """The view whose numbers are weights: hidden keys, without a range for each row and without colours."""
        return View(self.hidden)

    @property
    def of_numbers(self) -> View:
        """The view that has the same numbers, whatever their colours."""
        return replace(self, log_scale=False)


PLAIN = View()


@dataclass(frozen=True, eq=False)
class Viewed:
    """The maps of all heads in some view.

    Attributes
    ----------
    maps
        Largest number of each block, `(head, row, column)`: `HIDDEN` where nothing else than hidden is allowed, NaN
        where all of it is forbidden.
    is_empty
        Queries with an allowed key, but without any weight on a key that is not hidden.
    received
        Sum over the queries of the weights that each key gets, hidden keys left out and the rest divided by its sum.
    uniform_received
        The same for a head that is uniform over the allowed keys.
    """

    maps: Float[np.ndarray, "head row column"]
    is_empty: Bool[np.ndarray, "head q"]
    received: Float[np.ndarray, "head k"]
    uniform_received: Float[np.ndarray, "#head k"]


class _Part(NamedTuple):
    """What some queries add."""

    which: range
    pooled: PoolPart
    is_empty: Bool[np.ndarray, "#head q"]
    keys: slice
    received: Float[np.ndarray, "head k"]
    uniform_received: Float[np.ndarray, "#head k"]


def viewed_rows(rows: Rows, view: View) -> Rows:
    """Rows without the hidden keys, the rest divided by its sum, and by its largest where each row has its own range.

    Notes
    -----
    Hidden keys are no longer allowed, nor is any key of a row of which nothing is left: its weights are 0. Rows that
    dropout or a learned sink leaves with a sum other than 1 sum to 1 once a key is hidden.
    """
    weights, mask = rows.weights, rows.mask
    if view.hidden:
        is_left = mask & ~np.isin(rows.keys, view.hidden)
        weights = np.where(is_left, weights, 0)
        total = weights.sum(axis=-1, keepdims=True, dtype=np.float64)
        has_left = total > 0
        weights = (weights / np.where(has_left, total, 1.0)).astype(rows.weights.dtype)
        mask = is_left & has_left
    if view.row_scale:
        largest = weights.max(axis=-1, keepdims=True)
        weights = weights / np.where(largest > 0, largest, 1)
    return replace(rows, weights=weights, mask=mask, nats=None)


def with_codes(rows: Rows, seen: Rows) -> Rows:
    """Rows of a view whose cells without a number hold what they are: `HIDDEN` or `FORBIDDEN`."""
    unseen = np.where(rows.mask, HIDDEN, FORBIDDEN).astype(rows.weights.dtype)
    return replace(seen, weights=np.where(seen.mask, seen.weights, unseen))


def viewed(trace: AttentionTrace, view: View, on_progress: Callable[[float], None] | None = None) -> Viewed:
    """The maps of all heads as small as a screen can show them, in one pass that never holds a whole map.

    Parameters
    ----------
    trace
        A layer.
    view
        How its weights are shown; the colours make no difference.
    on_progress
        Told the share of the rows that is done, from 0 to 1.
    """
    pool = overview_pool(trace)
    n_heads, n_q, n_k = trace.n_heads, trace.n_q, trace.n_k
    is_empty = np.zeros((n_heads, n_q), dtype=bool)
    received, uniform = np.zeros((n_heads, n_k)), np.zeros((n_heads, n_k))

    def work(rows: Rows, which: range) -> _Part:
        left = viewed_rows(rows, view.of_weights)
        seen = viewed_rows(left, View(row_scale=True)) if view.row_scale else left
        return _Part(
            which,
            _pooled(pool, rows, seen, which.start),
            _emptied(rows, left),
            slice(int(rows.keys[0]), int(rows.keys[-1]) + 1),
            left.weights.sum(axis=1, dtype=np.float64),
            uniform_weights(left.mask).sum(axis=1),
        )

    for part in trace.each_block(work, on_progress=on_progress):
        pool.add(part.pooled)
        is_empty[:, part.which.start : part.which.stop] = part.is_empty
        received[:, part.keys] += part.received
        uniform[:, part.keys] += part.uniform_received
    return Viewed(_as_drawn(pool.maps), is_empty, received, uniform)


def viewed_window(trace: AttentionTrace, head: int, window: Window, most: int, view: View) -> MapPart:
    """What `viewed` gives of a window of one head, at most `most` cells a side."""
    pool = Pool(1, window, most)

    def work(rows: Rows, which: range) -> PoolPart:
        return _pooled(pool, rows, viewed_rows(rows, view), which.start)

    rows = range(window.top, window.bottom)
    for part in trace.each_block(work, heads=range(head, head + 1), rows=rows):
        pool.add(part)
    return _as_drawn(pool.maps)[0]


def rows_left_empty(trace: AttentionTrace, head: int, view: View) -> HasKeys:
    """Which queries of a head have an allowed key, but no weight on one that is not hidden."""

    def work(rows: Rows, which: range) -> HasKeys:
        del which
        return _emptied(rows, viewed_rows(rows, view))[0]

    return np.concatenate(list(trace.each_block(work, heads=range(head, head + 1))))


def _emptied(rows: Rows, left: Rows) -> Bool[np.ndarray, "#head q"]:
    return (rows.n_allowed > 0) & (left.n_allowed == 0)


def _pooled(pool: Pool, rows: Rows, seen: Rows, first_query: int) -> PoolPart:
    everywhere = np.broadcast_to(True, rows.mask.shape)
    return pool.pooled(replace(with_codes(rows, seen), mask=everywhere), first_query)


def _as_drawn(maps: Float[np.ndarray, "head row column"]) -> Float[np.ndarray, "head row column"]:
    return np.where(maps == np.float32(FORBIDDEN), np.float32(np.nan), maps)


def in_log(maps: Float[np.ndarray, "*shape"], least: float, most: float) -> Float[np.ndarray, "*shape"]:
    """Base-10 logarithm of what is between two numbers, of the nearer one of what is not; codes and NaN are kept."""
    inside = np.clip(maps.astype(np.float64), least, most)
    return np.where(maps < 0, maps, np.log10(inside))


def floor_below(top: float) -> float:
    """The weight that logarithmic colours begin at: a power of ten, at least four decades below their end.

    >>> floor_below(1.0), floor_below(0.25)
    (0.0001, 1e-05)
    """
    return float(10.0 ** (np.floor(np.log10(top)) - DECADES))


def sink_keys(found: Survey) -> tuple[int, ...]:
    """Keys that get most beyond what a uniform head gives them, as a mean over the heads: at most three, in order.

    Notes
    -----
    A key counts from a mean excess of 5 % of the attention on.

    References
    ----------
    Xiao et al. 2024, Efficient Streaming Language Models with Attention Sinks, section 3.1.
    """
    n_rows = np.maximum(found.small.has_keys.sum(axis=1, keepdims=True), 1)
    excess = ((found.received - found.uniform_received) / n_rows).mean(axis=0)
    most = np.argsort(-excess, kind="stable")[:MOST_SINKS]
    return tuple(sorted(int(key) for key in most if excess[key] >= LEAST_EXCESS))
