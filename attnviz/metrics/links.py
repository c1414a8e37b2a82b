"""The strongest links of heads: which query gives how much to which key, the largest weights first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.viewing import PLAIN, View, viewed_rows

MOST_LINKS = 2000
DRAWN_SHARE, DRAWN_SHARE_OF_SEVERAL, DRAWN_SHARE_OF_QUERY = 0.9, 0.5, 0.95
"""What part of all weights the links that are drawn are to hold: of one head, of several heads together, and of the
chosen query."""


class Placed(NamedTuple):
    """Links by head, query, key and weight, and how many keys the query of each may attend to."""

    head: Int[np.ndarray, " link"]
    query: Int[np.ndarray, " link"]
    key: Int[np.ndarray, " link"]
    weight: Float[np.ndarray, " link"]
    n_allowed: Int[np.ndarray, " link"]


class Hidden(NamedTuple):
    """What hidden keys had before they were left out.

    Attributes
    ----------
    share, uniform
        Part of all weights, from 0 to 1, and that of heads uniform over the allowed keys.
    n_emptied
        Rows with an allowed key, but without any weight on one that is not hidden.
    """

    share: float = 0.0
    uniform: float = 0.0
    n_emptied: int = 0


NONE_HIDDEN = Hidden()


@dataclass(frozen=True, eq=False)
class Links:
    """Some links of a layer, strongest first.

    Attributes
    ----------
    head, query, key, weight
        Of each link; every weight is above 0.
    n_allowed
        How many keys the mask allows in the row of each link, hidden ones not counted.
    mass
        Sum of all weights of these heads, those of the links and the others.
    allowed_keys
        The same as `n_allowed` for each row of each head.
    hidden
        What hidden keys had.
    """

    head: Int[np.ndarray, " link"]
    query: Int[np.ndarray, " link"]
    key: Int[np.ndarray, " link"]
    weight: Float[np.ndarray, " link"]
    n_allowed: Int[np.ndarray, " link"]
    mass: float
    allowed_keys: Int[np.ndarray, " row"]
    hidden: Hidden = NONE_HIDDEN

    @property
    def count(self) -> int:
        """How many links there are."""
        return len(self.weight)

    @property
    def n_links(self) -> int:
        """How many pairs of all these heads the mask allows, hidden keys left out."""
        return int(self.allowed_keys.sum())

    @property
    def uniform(self) -> Float[np.ndarray, " link"]:
        """Weight of each link in a head that is uniform over the allowed keys."""
        return 1 / self.n_allowed

    def share_of_mass(self, count: int | None = None) -> float:
        """What part of all weights the strongest of the links hold, from 0 to 1; all of the links without a count."""
        return float(self.weight[:count].sum()) / self.mass if self.mass else 0.0

    def holding(self, share: float) -> Links:
        """The fewest strongest of the links that hold this part of all weights; all of them where they hold less."""
        enough = np.cumsum(self.weight) >= share * self.mass
        return self._some(slice(int(enough.argmax()) + 1 if enough.any() else self.count))

    def without(self, query: int) -> Links:
        """Those of all other queries."""
        return self._some(self.query != query)

    def _some(self, which: slice | Bool[np.ndarray, " link"]) -> Links:
        every = (self.head, self.query, self.key, self.weight, self.n_allowed)
        head, query, key, weight, n_allowed = (one[which] for one in every)
        return replace(self, head=head, query=query, key=key, weight=weight, n_allowed=n_allowed)

    def uniform_share(self, count: int | None = None) -> float:
        """The same for as many strongest links of heads that are uniform over the allowed keys."""
        return uniform_share(self.allowed_keys, self.count if count is None else count)


def drawn_share(heads: range) -> float:
    """What part of all weights the links of these heads that are drawn are to hold: less of several, so that the
    picture is not covered.

    >>> drawn_share(range(3, 4)), drawn_share(range(12))
    (0.9, 0.5)
    """
    return DRAWN_SHARE if len(heads) == 1 else DRAWN_SHARE_OF_SEVERAL


def strongest_links(
    trace: AttentionTrace,
    heads: range,
    most: int = MOST_LINKS,
    *,
    rows: range | None = None,
    view: View = PLAIN,
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
    view
        Its hidden keys have no links, and the other weights of each row are divided by their sum; the range of a row
        and the colours make no difference.
    on_progress
        Told the share of the rows that is done, from 0 to 1.

    References
    ----------
    The picture of links between two columns of tokens: Vig 2019 (BertViz), section 3.
    """
    nothing = np.zeros(0, dtype=np.int64)
    best = Placed(nothing, nothing, nothing, np.zeros(0), nothing)
    mass = 0.0
    allowed: list[Int[np.ndarray, " row"]] = []
    lost = np.zeros(5)

    def work(part: Rows, which: range) -> tuple[Placed, float, Int[np.ndarray, " row"], Float[np.ndarray, " total"]]:
        left = viewed_rows(part, view.of_weights) if view.hidden else part
        counts = np.broadcast_to(left.n_allowed, left.weights.shape[:2]).ravel()
        found = _strongest(left, which, heads, most)
        return found, float(left.weights.sum(dtype=np.float64)), counts, _lost(part, left, view)

    for found, weight, counts, less in trace.each_block(work, heads=heads, rows=rows, on_progress=on_progress):
        best = _first(best, found, most)
        mass += weight
        allowed.append(counts)
        lost += less
    of_hidden, of_all, uniform, n_rows, n_emptied = lost.tolist()
    hidden = Hidden(of_hidden / (of_all or 1), uniform / (n_rows or 1), int(n_emptied))
    return Links(*best, mass=mass, allowed_keys=np.concatenate(allowed), hidden=hidden)


def _lost(part: Rows, left: Rows, view: View) -> Float[np.ndarray, " total"]:
    """Weights on hidden keys, all weights, uniform weights on hidden keys, rows with a key, and rows left empty."""
    if not view.hidden:
        return np.zeros(5)
    shape = part.weights.shape[:2]
    gone = np.isin(part.keys, view.hidden)
    n_allowed, n_gone = (np.broadcast_to(one, shape) for one in (part.n_allowed, (part.mask & gone).sum(axis=-1)))
    n_left = np.broadcast_to(left.n_allowed, shape)
    has_keys = n_allowed > 0
    return np.array(
        [
            part.weights[..., gone].sum(dtype=np.float64),
            part.weights.sum(dtype=np.float64),
            (n_gone / np.maximum(n_allowed, 1)).sum(),
            has_keys.sum(),
            (has_keys & (n_left == 0)).sum(),
        ],
        dtype=np.float64,
    )


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
    n_allowed = np.broadcast_to(part.n_allowed, part.weights.shape[:2])[head, row]
    weight = flat[places].astype(np.float64)
    return Placed(head + heads.start, row + which.start, part.keys[column], weight, n_allowed)


def _first(one: Placed, other: Placed, most: int) -> Placed:
    both = Placed(*(np.concatenate(pair) for pair in zip(one, other, strict=True)))
    order = np.lexsort((both.key, both.query, both.head, -both.weight))[:most]
    return Placed(*(part[order] for part in both))


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
