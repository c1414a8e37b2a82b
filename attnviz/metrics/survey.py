"""All that is known of the heads of one layer, gathered in one pass over the rows of their maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_rows
from attnviz.metrics.places import weight_beside
from attnviz.metrics.pooling import LARGE_SIDE, Overlook, Overview, OverviewPart, Pool, PoolPart, Window
from attnviz.metrics.similarity import cosine_of, products
from attnviz.registries import METRICS
from attnviz.shapes import HeadPairs, PerQuery, UniformPerQuery

OFFSETS = (-1, 0, 1)
SURVEYED = ("entropy", "normalised_entropy", "largest_weight", "top_mass", "first_key", "mean_distance")
"""Measures that every page shows; others are computed where they are asked for (`measured`)."""
MOST_LARGE = 16


@dataclass(frozen=True, eq=False)
class Beside:
    """Weight that each query gives to the key at some place beside it; NaN where there is no such key."""

    weight: PerQuery
    uniform: UniformPerQuery


@dataclass(frozen=True, eq=False)
class Survey:
    """What the pictures and tables of a layer show of all its heads.

    Attributes
    ----------
    measures, uniform
        The measures of `SURVEYED` for each head and query, and for a head uniform over the allowed keys.
    cosine
        Cosine of the heads' maps.
    received, uniform_received
        Sum of the weights that each key gets.
    beside
        Weight on the key before (-1), on the query's own (0) and on the one after (1).
    small
        The heads' maps, as small as a screen can show them.
    large
        The same at up to 256 cells a side, for a long trace of few heads.
    """

    measures: Mapping[str, PerQuery]
    uniform: Mapping[str, UniformPerQuery]
    cosine: HeadPairs
    received: Float[np.ndarray, "head k"]
    uniform_received: Float[np.ndarray, "#head k"]
    beside: Mapping[int, Beside]
    small: Overview
    large: Float[np.ndarray, "head row column"] | None


@dataclass(frozen=True, eq=False)
class _Part:
    """What is kept of a block of rows of the heads, or of the uniform head."""

    measures: dict[str, PerQuery]
    beside: dict[int, PerQuery]
    received: Float[np.ndarray, "head k"]
    first_key: int


def survey(trace: AttentionTrace, on_progress: Callable[[float], None] | None = None) -> Survey:
    """Measures, cosines, sums and small maps of all heads, in one pass that never holds a whole map.

    Parameters
    ----------
    trace
        A layer; of a long one the rows are computed on the way and not kept.
    on_progress
        Told the share of the rows that is done, from 0 to 1.
    """
    n_heads, n_q, n_k = trace.n_heads, trace.n_q, trace.n_k
    small, heads, uniform = Overlook(trace), _Gathered(n_q, n_k), _Gathered(n_q, n_k)
    gram = np.zeros((n_heads, n_heads))
    is_long = trace.kept is None and n_heads <= MOST_LARGE
    large = Pool(n_heads, Window(0, n_q, 0, n_k), LARGE_SIDE) if is_long else None

    def work(rows: Rows, which: range) -> tuple[range, _Part, _Part, OverviewPart, HeadPairs, PoolPart | None]:
        return (
            which,
            _part(rows),
            _part(uniform_rows(rows)),
            small.part(rows, which),
            products(rows.weights),
            large.pooled(rows, which.start) if large else None,
        )

    for which, part, even, seen, crossed, enlarged in trace.each_block(work, on_progress=on_progress):
        if large and enlarged:
            large.add(enlarged)
        heads.add(which, part)
        uniform.add(which, even)
        small.add(seen)
        gram += crossed
    return Survey(
        measures=heads.measures,
        uniform=uniform.measures,
        cosine=cosine_of(gram),
        received=heads.received,
        uniform_received=uniform.received,
        beside={offset: Beside(heads.beside[offset], uniform.beside[offset]) for offset in OFFSETS},
        small=small.overview(),
        large=large.maps if large else None,
    )


class _Gathered:
    """Parts put together."""

    def __init__(self, n_q: int, n_k: int) -> None:
        self._n_q = n_q
        self.measures: dict[str, PerQuery] = {}
        self.beside: dict[int, PerQuery] = {}
        self.received: Float[np.ndarray, "head k"] = np.zeros((0, n_k))

    def add(self, which: range, part: _Part) -> None:
        rows = slice(which.start, which.stop)
        if not self.measures:
            n_heads, n_q = len(part.received), self._n_q
            self.measures = {name: np.empty((n_heads, n_q)) for name in part.measures}
            self.beside = {offset: np.empty((n_heads, n_q)) for offset in part.beside}
            self.received = np.zeros((n_heads, self.received.shape[1]))
        for name, values in part.measures.items():
            self.measures[name][:, rows] = values
        for offset, values in part.beside.items():
            self.beside[offset][:, rows] = values
        self.received[:, part.first_key : part.first_key + part.received.shape[1]] += part.received


def _part(rows: Rows) -> _Part:
    ones = np.ones((1, rows.weights.shape[1]), dtype=rows.weights.dtype)
    return _Part(
        measures={metric.name: metric.function(rows) for metric in map(METRICS.__getitem__, SURVEYED)},
        beside={offset: weight_beside(rows, offset) for offset in OFFSETS},
        received=np.matmul(ones, rows.weights)[:, 0].astype(np.float64),
        first_key=int(rows.keys[0]),
    )
