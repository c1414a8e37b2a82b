"""The order, the groups and the map of heads that follow from how far they are from each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnviz.shapes import HeadPairs

MOST_ORDERED = 256
CUT_SHARE = 0.5
Merges = Float[np.ndarray, "merge 4"]


@dataclass(frozen=True, eq=False)
class Tree:
    """How heads join into ever larger groups.

    Attributes
    ----------
    merges
        In ascending order of distance: the two groups that join, their distance, and how many heads the new one has;
        a group is a head, or for `n_heads + i` what merge i made.
    order
        The heads so that those of every group are side by side.
    """

    merges: Merges
    order: Int[np.ndarray, " head"]

    @property
    def height(self) -> float:
        """Distance of the last two groups."""
        return float(self.merges[-1, 2]) if len(self.merges) else 0.0


@dataclass(frozen=True, eq=False)
class Brackets:
    """A tree as it is drawn: each merge joins two places on the axis of heads at a distance.

    Attributes
    ----------
    places
        Where on the axis of heads the two groups of each merge have their middle.
    heights
        At which distance each of the two was made, and at which they join.
    """

    places: Float[np.ndarray, "merge 2"]
    heights: Float[np.ndarray, "merge 3"]


@dataclass(frozen=True, eq=False)
class Plane:
    """Heads as points in a plane, and the share of their differences that it shows."""

    points: Float[np.ndarray, "head 2"]
    share: float


class Near(NamedTuple):
    """A head, and how far it is."""

    head: int
    distance: float


def tree_of(distances: HeadPairs) -> Tree:
    """Hierarchical clustering by the mean distance between groups.

    Notes
    -----
    Up to 256 heads are ordered so that neighbours are as near as the tree allows.

    References
    ----------
    Sokal & Michener 1958 (average linkage); Bar-Joseph et al. 2001 (order of the leaves).

    Examples
    --------
    >>> tree_of(np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.8], [0.1, 0.8, 0.0]])).order
    array([0, 2, 1])
    """
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    n_heads = len(distances)
    if n_heads < 2:
        return Tree(np.zeros((0, 4)), np.arange(n_heads))
    condensed = distances[np.triu_indices(n_heads, k=1)]
    merges = linkage(condensed, method="average")
    if 2 < n_heads <= MOST_ORDERED:
        merges = optimal_leaf_ordering(merges, condensed)
    order = np.asarray(leaves_list(merges), dtype=np.int64)
    return Tree(np.asarray(merges, dtype=np.float64), order if order[0] <= order[-1] else order[::-1])


def cut_of(distances: HeadPairs) -> float:
    """Below which distance heads count as a group: half of the mean over all pairs.

    >>> cut_of(np.array([[0.0, 0.8], [0.8, 0.0]]))
    0.4
    """
    pairs = distances[np.triu_indices(len(distances), k=1)]
    return CUT_SHARE * float(pairs.mean()) if len(pairs) else 0.0


def groups_below(tree: Tree, cut: float) -> Int[np.ndarray, " head"]:
    """For each head the number of its group, where groups farther apart than the cut stay apart.

    The groups are numbered along the order of the tree.
    """
    n_heads = len(tree.order)
    members = [[head] for head in range(n_heads)]
    joined = list(range(n_heads))
    for first, second, distance, _ in tree.merges:
        one, other = members[int(first)], members[int(second)]
        members.append(one + other)
        if distance <= cut:
            for head in other:
                joined[head] = joined[one[0]]
    roots = [joined[head] for head in tree.order.tolist()]
    number = {root: place for place, root in enumerate(dict.fromkeys(roots))}
    return np.array([number[root] for root in joined], dtype=np.int64)


def brackets(tree: Tree) -> Brackets:
    """Where the lines of a tree's picture go, with the heads in its order at 0, 1, 2..."""
    n_heads, n_merges = len(tree.order), len(tree.merges)
    middle = np.zeros(n_heads + n_merges)
    made_at = np.zeros(n_heads + n_merges)
    middle[tree.order] = np.arange(n_heads)
    for merge, (first, second, distance, _) in enumerate(tree.merges):
        middle[n_heads + merge] = (middle[int(first)] + middle[int(second)]) / 2
        made_at[n_heads + merge] = distance
    children = tree.merges[:, :2].astype(np.int64)
    return Brackets(middle[children], np.concatenate([made_at[children], made_at[n_heads:, None]], axis=1))


def plane_of(distances: HeadPairs) -> Plane:
    """Points in a plane whose distances are as near as can be to those of the heads, by classical scaling.

    Notes
    -----
    The two largest eigenvalues of the doubly centred squared distances; the share is theirs of the sum of the sizes of
    all. Of each direction the sign is that for which the farthest point is positive.

    References
    ----------
    Torgerson 1952; the share: Mardia et al. 1979, section 14.4.

    Examples
    --------
    >>> plane_of(np.array([[0.0, 3.0], [3.0, 0.0]])).points.round(6) + 0.0
    array([[ 1.5,  0. ],
           [-1.5,  0. ]])
    """
    n_heads = len(distances)
    squared = np.square(distances)
    means = squared.mean(axis=0)
    inner = -(squared - means[:, None] - means[None, :] + means.mean()) / 2
    values, vectors = np.linalg.eigh(inner)
    total = float(np.abs(values).sum())
    points = np.zeros((n_heads, 2))
    n_kept = min(2, n_heads)
    best = np.maximum(values[::-1][:n_kept], 0.0)
    points[:, :n_kept] = vectors[:, ::-1][:, :n_kept] * np.sqrt(best)
    farthest = np.abs(points).argmax(axis=0)
    points *= np.where(points[farthest, [0, 1]] < 0, -1.0, 1.0)
    return Plane(points, float(best.sum()) / total if total > 0 else 1.0)


def nearest(distances: HeadPairs, head: int, count: int) -> list[Near]:
    """The heads that are nearest to one, the nearest first; of equally near ones the lower number."""
    others = [other for other in np.argsort(distances[head], kind="stable").tolist() if other != head]
    return [Near(other, float(distances[head, other])) for other in others[:count]]
