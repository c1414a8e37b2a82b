"""Order, groups, map and neighbours of heads, from their distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.metrics.clustering import (
    brackets,
    cut_of,
    groups_below,
    nearest,
    plane_of,
    tree_of,
)
from tests.strategies import seeds

TWO_PAIRS = np.array(
    [
        [0.0, 0.8, 0.1, 0.9],
        [0.8, 0.0, 0.7, 0.2],
        [0.1, 0.7, 0.0, 0.8],
        [0.9, 0.2, 0.8, 0.0],
    ]
)


def distances_of(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points, axis=-1)


def test_heads_of_a_group_are_side_by_side() -> None:
    tree = tree_of(TWO_PAIRS)

    assert tree.order.tolist() in ([0, 2, 1, 3], [2, 0, 1, 3])
    assert tree.merges[:, 2].tolist() == pytest.approx([0.1, 0.2, 0.8]), "the last is the mean of the four between"
    assert tree.height == pytest.approx(0.8)


def test_groups_are_what_has_joined_below_the_cut() -> None:
    tree = tree_of(TWO_PAIRS)

    assert groups_below(tree, 0.05).tolist() == [tree.order.tolist().index(head) for head in range(4)]
    assert groups_below(tree, 0.15).tolist() == [0, *[1 + (tree.order[3] == 1)], 0, 1 + int(tree.order[3] == 3)]
    assert groups_below(tree, 0.5).tolist() == [0, 1, 0, 1]
    assert groups_below(tree, 1.0).tolist() == [0, 0, 0, 0]
    assert cut_of(TWO_PAIRS) == pytest.approx(TWO_PAIRS[np.triu_indices(4, k=1)].mean() / 2)


def test_a_tree_is_drawn_from_the_middle_of_what_joins() -> None:
    lines = brackets(tree_of(TWO_PAIRS))

    np.testing.assert_allclose(np.sort(lines.places, axis=1), [[0, 1], [2, 3], [0.5, 2.5]])
    np.testing.assert_allclose(lines.heights[2], [0.1, 0.2, 0.8])
    np.testing.assert_allclose(lines.heights[:2], [[0, 0, 0.1], [0, 0, 0.2]])


@pytest.mark.parametrize("n", [0, 1])
def test_one_head_is_a_tree_without_branches(n: int) -> None:
    tree = tree_of(np.zeros((n, n)))

    assert tree.order.tolist() == list(range(n))
    assert brackets(tree).places.shape == (0, 2)
    assert groups_below(tree, 0.0).tolist() == [0] * n
    assert tree.height == cut_of(np.zeros((n, n))) == 0


@given(n=st.integers(2, 12), seed=seeds)
def test_the_tree_and_the_groups_of_permuted_heads_are_the_same_ones(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distances = distances_of(rng.normal(size=(n, 3)))
    order = rng.permutation(n)

    tree, permuted = tree_of(distances), tree_of(distances[np.ix_(order, order)])

    np.testing.assert_allclose(permuted.merges[:, 2], tree.merges[:, 2])
    assert sorted(tree.order.tolist()) == list(range(n))
    cut = cut_of(distances)
    one, other = groups_below(tree, cut)[order], groups_below(permuted, cut)
    np.testing.assert_array_equal(one[:, None] == one, other[:, None] == other)


@given(n=st.integers(1, 12), seed=seeds)
def test_points_of_a_plane_are_found_again_from_their_distances(n: int, seed: int) -> None:
    distances = distances_of(np.random.default_rng(seed).normal(size=(n, 2)))

    plane = plane_of(distances)

    np.testing.assert_allclose(distances_of(plane.points), distances, atol=1e-6)
    assert plane.share == pytest.approx(1, abs=1e-6)


def test_what_a_plane_cannot_show_is_left_out_of_its_share() -> None:
    plane = plane_of(1.0 - np.eye(4))

    assert plane.share == pytest.approx(2 / 3)
    assert (np.abs(plane.points).argmax(axis=0) >= 0).all()
    assert all(plane.points[np.abs(column).argmax(), place] > 0 for place, column in enumerate(plane.points.T))


def test_heads_that_are_all_the_same_are_one_point() -> None:
    plane = plane_of(np.zeros((3, 3)))

    assert plane.points.tolist() == [[0, 0]] * 3
    assert plane.share == 1


def test_the_nearest_heads_come_first_and_of_equally_near_ones_the_lower_number() -> None:
    assert nearest(TWO_PAIRS, 1, 2) == [(3, 0.2), (2, 0.7)]
    assert nearest(np.zeros((3, 3)), 1, 5) == [(0, 0), (2, 0)]
    assert nearest(np.zeros((1, 1)), 0, 3) == []
