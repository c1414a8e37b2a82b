"""How alike heads are, and the rows of several layers read together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Bool

from attnviz.core.rows import Rows, row_blocks
from attnviz.core.tiles import for_each
from attnviz.core.trace import AttentionTrace
from attnviz.shapes import HeadPairs, PerHead

Made = TypeVar("Made")
Progress = Callable[[float], None]
APART, NOTHING = 1.0, 1e-6
"""Distance of what has nothing in common, and a similarity that is 0 but for rounding."""


@dataclass(frozen=True, eq=False)
class Alike:
    """How alike each two heads are; heads are numbered layer by layer.

    Attributes
    ----------
    pairs
        A similarity, 1 for the same, or a distance, 0 for the same; symmetric, in float64; NaN for every pair of a head
        that has none.
    uniform
        What each head has in common with one that knows nothing: one uniform over the allowed keys, its own output in
        random order, or random subspaces; NaN where that makes no sense.
    is_distance
        Whether 0 means the same.
    is_signed
        Whether a similarity may be negative.
    reason
        Why a head may have no value, as what follows its name in a sentence.
    """

    pairs: HeadPairs
    uniform: PerHead
    is_distance: bool = False
    is_signed: bool = False
    reason: str = ""

    @property
    def is_defined(self) -> Bool[np.ndarray, " head"]:
        """Whether each head has a value with itself, and so with others."""
        return ~np.isnan(np.diagonal(self.pairs))

    @property
    def distances(self) -> HeadPairs:
        """How far each two heads are from each other: 0 for the same, 1 for what has nothing in common.

        Heads without a value count as the same as each other, and as unlike every other.
        """
        distances = self.from_same(self.pairs)
        without = ~self.is_defined
        distances[without] = distances[:, without] = APART
        distances[np.ix_(without, without)] = 0.0
        np.fill_diagonal(distances, 0.0)
        return distances

    def from_same(self, values: HeadPairs | PerHead) -> HeadPairs | PerHead:
        """How far values of this similarity are from that of two equal heads."""
        return np.maximum(values if self.is_distance else 1.0 - values, 0.0)

    @property
    def defined_distances(self) -> HeadPairs:
        """How far the heads that have a value are from each other."""
        return self.distances[np.ix_(self.is_defined, self.is_defined)]

    def value_of_nearest(self, head: int) -> float:
        """The value of one head with whichever is most like it; NaN where there is none."""
        values = np.delete(self.pairs[head], head)
        values = values[~np.isnan(values)]
        if not values.size:
            return np.nan
        return float(values.min() if self.is_distance else values.max())

    def like(self, head: int, count: int) -> list[int]:
        """The heads that are most like one, the nearest first.

        Left out are those that have as little in common with it as two heads can: no similarity above 0, a distance at
        its most.
        """
        distances = np.where(self.is_defined & self.is_defined[head], self.distances[head], APART)
        order = np.argsort(distances, kind="stable").tolist()
        return [other for other in order if other != head and distances[other] < APART - NOTHING][:count]


class Pair(NamedTuple):
    """Two heads and how alike they are."""

    first: int
    second: int
    similarity: float


def closest(alike: Alike) -> Pair | None:
    """The two different heads that are most alike; None if fewer than two have a value."""
    if alike.is_defined.sum() < 2:
        return None
    counts = np.triu(np.logical_and.outer(alike.is_defined, alike.is_defined), k=1)
    others = np.where(counts, alike.distances, np.inf)
    first, second = np.unravel_index(int(others.argmin()), others.shape)
    return Pair(int(first), int(second), float(alike.pairs[first, second]))


def head_count(layers: Sequence[AttentionTrace]) -> int:
    """Heads of all layers."""
    return sum(trace.n_heads for trace in layers)


def symmetric(upper: HeadPairs) -> HeadPairs:
    """The matrix whose upper triangle, diagonal included, this is.

    >>> symmetric(np.array([[1.0, 2.0], [0.0, 3.0]]))
    array([[1., 2.],
           [2., 3.]])
    """
    above = np.triu(upper, k=1)
    return above + above.T + np.diag(np.diagonal(upper))


def joint_blocks(
    layers: Sequence[AttentionTrace], work: Callable[[Rows], Made], on_progress: Progress | None = None
) -> Iterator[Made]:
    """What the work gives for each block of rows of the heads of all layers, in order; no map is held as a whole.

    Parameters
    ----------
    layers
        Traces of one setting, so of the same queries and keys.
    work
        Gets the rows of all heads, layer by layer; these must not be kept, only what is made of them.
    on_progress
        Told the share of the rows that is done, from 0 to 1.
    """
    if len(layers) == 1:
        yield from layers[0].each_block(lambda rows, _: work(rows), on_progress=on_progress)
        return
    n_heads, n_q, n_k = head_count(layers), layers[0].n_q, layers[0].n_k
    blocks = row_blocks(n_heads, range(n_q), n_k)

    def one(block: range) -> Made:
        return work(_joined([next(trace.each_block(_copied, rows=block)) for trace in layers]))

    # Rows that are computed on the way have threads of their own, which must not wait for each other.
    are_kept = all(trace.kept is not None for trace in layers)
    made = for_each(one, blocks, n_heads * n_heads * n_q * n_k) if are_kept else map(one, blocks)
    for block, result in zip(blocks, made, strict=True):
        yield result
        if on_progress is not None:
            on_progress(block.stop / n_q)


def _copied(rows: Rows, which: range) -> Rows:
    del which
    return rows if len(rows.keys) == rows.n_k and rows.nats is None else replace(rows, weights=rows.weights.copy())


def _joined(parts: Sequence[Rows]) -> Rows:
    """The same rows of several layers one below the other, over all keys that any of them has."""
    start, stop = min(int(part.keys[0]) for part in parts), max(int(part.keys[-1]) for part in parts) + 1
    shape = (len(parts[0].places), stop - start)
    weights = np.zeros((sum(len(part.weights) for part in parts), *shape), dtype=parts[0].weights.dtype)
    mask = np.zeros((len(weights), *shape), dtype=bool)
    top = 0
    for part in parts:
        heads = slice(top, top + len(part.weights))
        columns = slice(int(part.keys[0]) - start, int(part.keys[-1]) + 1 - start)
        weights[heads, :, columns], mask[heads, :, columns] = part.weights, part.mask
        top = heads.stop
    common = mask[:1] if (mask == mask[:1]).all() else mask
    return Rows(weights, common, parts[0].places, np.arange(start, stop), parts[0].n_k)
