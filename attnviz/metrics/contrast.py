"""Whether heads that look alike write the same: every pair of heads by its maps and by its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnviz.metrics.alike import Alike
from attnviz.metrics.baseline import mean_of_defined

TIE = 1e-9
PerPair = Float[np.ndarray, " pair"]


class Contrast(NamedTuple):
    """Places of two pairs: alike in where they look but not in what they write, and the reverse."""

    same_maps: int
    same_outputs: int


@dataclass(frozen=True, eq=False)
class HeadPair:
    """A pair of heads, and how many of all pairs it is beyond.

    Attributes
    ----------
    first, second
        The two heads.
    maps, outputs
        How alike their maps and their outputs are.
    maps_above, maps_below, outputs_above, outputs_below
        Share of the other pairs that are less alike, and more alike, in their maps and in their outputs.
    """

    first: int
    second: int
    maps: float
    outputs: float
    maps_above: float
    maps_below: float
    outputs_above: float
    outputs_below: float


@dataclass(frozen=True, eq=False)
class HeadsByPair:
    """Every pair of different heads.

    Attributes
    ----------
    first, second
        The two heads of each pair; the first has the lower number.
    maps, outputs
        How alike their maps and their outputs are: 1 for the same.
    even_maps, even_outputs
        What a head that knows nothing would have: means over the heads of both baselines; NaN where there is none.
    left_out
        Heads that one of the two has no value for, and that no pair holds.
    reason
        Why, as what follows a head's name in a sentence.
    """

    first: Int[np.ndarray, " pair"]
    second: Int[np.ndarray, " pair"]
    maps: PerPair
    outputs: PerPair
    even_maps: float
    even_outputs: float
    left_out: tuple[int, ...] = ()
    reason: str = ""

    def __len__(self) -> int:
        return len(self.first)

    def of(self, place: int) -> HeadPair:
        """One of the pairs, beside all others."""
        others = max(len(self) - 1, 1)
        shares = [
            float(beyond.sum()) / others
            for values in (self.maps, self.outputs)
            for beyond in (values < values[place] - TIE, values > values[place] + TIE)
        ]
        heads = (int(self.first[place]), int(self.second[place]))
        return HeadPair(*heads, float(self.maps[place]), float(self.outputs[place]), *shares)

    @property
    def correlation(self) -> float:
        """Rank correlation of how alike the maps and the outputs of the pairs are; NaN where one of them is constant.

        Notes
        -----
        From −1 to 1, no unit: 1 where the pairs are in the same order by both, about 0 where one order says nothing of
        the other. Equal values share the mean of their ranks.

        References
        ----------
        Spearman 1904.
        """
        ranks = [_ranks(values) for values in (self.maps, self.outputs)]
        centred = [one - one.mean() for one in ranks] if len(self) else ranks
        norm = float(np.sqrt(np.vecdot(centred[0], centred[0]) * np.vecdot(centred[1], centred[1])))
        return float(centred[0] @ centred[1]) / norm if norm > 0 else np.nan

    @property
    def contrast(self) -> Contrast | None:
        """The pair that is most alike in its maps for how unlike its outputs are, and the reverse.

        Notes
        -----
        Those whose ranks among all pairs differ most; None where no two ranks differ, as with fewer than three heads.
        """
        if len(self) < 2:
            return None
        beyond = _ranks(self.maps) - _ranks(self.outputs)
        most, least = int(beyond.argmax()), int(beyond.argmin())
        return Contrast(most, least) if beyond[most] > 0 > beyond[least] else None


def by_pair(maps: Alike, outputs: Alike) -> HeadsByPair:
    """Every pair of heads by how alike its maps and its outputs are.

    Parameters
    ----------
    maps, outputs
        Two similarities of the same heads; a head that one of them has no value for is left out.

    Examples
    --------
    >>> same = Alike(np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([0.5, 0.7]))
    >>> found = by_pair(same, same)
    >>> found.maps, found.even_maps
    (array([0.2]), 0.6)
    """
    is_there = maps.is_defined & outputs.is_defined
    rows, columns = np.nonzero(np.triu(np.logical_and.outer(is_there, is_there), k=1))
    even = [mean_of_defined(alike.uniform[is_there]) for alike in (maps, outputs)]
    left_out = tuple(np.flatnonzero(~is_there).tolist())
    reason = maps.reason or outputs.reason
    return HeadsByPair(
        rows, columns, maps.pairs[rows, columns], outputs.pairs[rows, columns], *even, left_out=left_out, reason=reason
    )


def _ranks(values: PerPair) -> PerPair:
    """Place of each value in ascending order; equal values, to a billionth, share the mean of theirs."""
    order = np.argsort(values, kind="stable")
    starts = np.concatenate([[True], np.diff(values[order]) > TIE])[: len(values)]
    group = np.cumsum(starts) - 1
    sizes = np.bincount(group)
    ends = np.cumsum(sizes)
    ranks = np.empty(len(values))
    ranks[order] = (ends - (sizes - 1) / 2)[group]
    return ranks
