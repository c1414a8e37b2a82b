"""The strongest links of heads: which query gives how much to which key, the largest weights first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace

MOST_LINKS = 2000


class Placed(NamedTuple):
    """Links by head, query, key and weight."""

    head: Int[np.ndarray, " link"]
    query: Int[np.ndarray, " link"]
    key: Int[np.ndarray, " link"]
    weight: Float[np.ndarray, " link"]


@dataclass(frozen=True, eq=False)
class Links:
    """Some links of a layer, strongest first.

    Attributes
    ----------
    head, query, key, weight
        Of each link; every weight is above 0.
    mass
        Sum of all weights of these heads, those of the links and the others.
    allowed_keys
        How many keys the mask allows, for each row of each head.
    """

    head: Int[np.ndarray, " link"]
    query: Int[np.ndarray, " link"]
    key: Int[np.ndarray, " link"]
    weight: Float[np.ndarray, " link"]
    mass: float
    allowed_keys: Int[np.ndarray, " row"]

    @property
    def count(self) -> int:
        """How many links there are."""
        return len(self.weight)

    @property
    def n_links(self) -> int:
        """How many pairs of all these heads the mask allows."""
        return int(self.allowed_keys.sum())

    def share_of_mass(self, count: int | None = None) -> float:
        """What part of all weights the strongest of the links hold, from 0 to 1; all of the links without a count."""
        return float(self.weight[:count].sum()) / self.mass if self.mass else 0.0

    def holding(self, share: float) -> Links:
        """The fewest strongest of the links that hold this part of all weights; all of them where they hold less."""
        enough = np.cumsum(self.weight) >= share * self.mass
        count = int(enough.argmax()) + 1 if enough.any() else self.count
        kept = (self.head[:count], self.query[:count], self.key[:count], self.weight[:count])
        return Links(*kept, mass=self.mass, allowed_keys=self.allowed_keys)

    def uniform_share(self, count: int | None = None) -> float:
        """The same for as many strongest links of heads that are uniform over the allowed keys."""
        return uniform_share(self.allowed_keys, self.count if count is None else count)


def strongest_links(
    trace: AttentionTrace,
    heads: range,
    most: int = MOST_LINKS,
    *,
    rows: range | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Links:
    """The largest weights of some heads, in one pass that never holds a whole map.

    Parameters
    ----------
    trace
        A layer; of a long one the rows are computed on the way and not kept.
    heads
        Heads whose links compete with each other.
    most
        How many links are kept. Of equal weights the first by head, query and key are taken.
    rows
        Queries whose links compete; all where they are left out.
    on_progress
        Told the share of the rows that is done, from 0 to 1.

    References
    ----------
    The picture of links between two columns of tokens: Vig 2019 (BertViz), section 3.
    """
    nothing = np.zeros(0, dtype=np.int64)
    best = Placed(nothing, nothing, nothing, np.zeros(0))
    mass = 0.0
    allowed: list[Int[np.ndarray, " row"]] = []

    def work(part: Rows, which: range) -> tuple[Placed, float, Int[np.ndarray, " row"]]:
        counts = np.broadcast_to(part.n_allowed, part.weights.shape[:2]).ravel()
        return _strongest(part, which, heads, most), float(part.weights.sum(dtype=np.float64)), counts

    for found, weight, counts in trace.each_block(work, heads=heads, rows=rows, on_progress=on_progress):
        best = _first(best, found, most)
        mass += weight
        allowed.append(counts)
    return Links(*best, mass=mass, allowed_keys=np.concatenate(allowed))


def _strongest(part: Rows, which: range, heads: range, most: int) -> Placed:
    flat = part.weights.reshape(-1)
    if flat.size <= most:
        places = np.arange(flat.size)
    else:
        least = np.partition(flat, flat.size - most)[flat.size - most]
        above = np.flatnonzero(flat > least)
        places = np.sort(np.concatenate([above, np.flatnonzero(flat == least)[: most - above.size]]))
    places = places[flat[places] > 0]
    head, row, column = np.unravel_index(places, part.weights.shape)
    return Placed(head + heads.start, row + which.start, part.keys[column], flat[places].astype(np.float64))


def _first(one: Placed, other: Placed, most: int) -> Placed:
    head, query, key, weight = (np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.lexsort((key, query, head, -weight))[:most]
    return Placed(head[order], query[order], key[order], weight[order])


def uniform_share(allowed_keys: Int[np.ndarray, " row"], count: int) -> float:
    """What part of the attention the strongest `count` links hold where each row is uniform over its allowed keys.

    Parameters
    ----------
    allowed_keys
        Number of allowed keys of each row.
    count
        How many links are taken: those of the rows with the fewest keys first, as each of these weighs most.

    Examples
    --------
    >>> uniform_share(np.array([1, 2, 4]), 2), uniform_share(np.array([4, 4]), 2)
    (0.5, 0.25)
    """
    few_first = np.sort(allowed_keys[allowed_keys > 0])
    if not few_first.size:
        return 0.0
    before = np.concatenate([[0], np.cumsum(few_first)[:-1]])
    taken = np.clip(count - before, 0, few_first)
    return float((taken / few_first).sum()) / few_first.size
