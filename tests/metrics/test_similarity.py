"""How alike heads are: against NumPy, the classroom lab and cases that can be checked by eye."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.metrics import most_alike, similarity
from attnviz.metrics.similarity import Pair, cosine_of_maps
from tests.reference import golden, labs


def test_cosine_equals_that_of_the_flattened_maps() -> None:
    stats = golden("head_stats")

    np.testing.assert_allclose(cosine_of_maps(stats["w"]), stats["cosine"], rtol=0, atol=1e-12)


def test_the_similarity_lab_prints_the_same_numbers_with_its_own_denominator() -> None:
    lab = labs("similarity")
    heads = np.random.RandomState(42).rand(8, 10, 10)
    norm = np.linalg.norm(heads.reshape(8, -1), axis=1)
    product = np.outer(norm, norm)

    as_the_lab = cosine_of_maps(heads) * product / (product + 1e-8)

    np.testing.assert_allclose(as_the_lab[0], lab["row0"], rtol=0, atol=1e-9)
    upper = as_the_lab[np.triu_indices(8, k=1)]
    assert upper.mean() == pytest.approx(lab["off_diag_mean"], abs=1e-9)


def test_the_same_map_has_cosine_exactly_1_and_maps_that_share_no_key_exactly_0() -> None:
    here, there = np.eye(3), np.roll(np.eye(3), 1, axis=1)

    assert cosine_of_maps(np.stack([here, there, here])).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]


def test_a_head_without_any_weight_is_like_no_other() -> None:
    assert cosine_of_maps(np.stack([np.zeros((3, 3)), np.eye(3)])).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("cells", [1, 200, 1 << 30])
def test_cosine_does_not_depend_on_the_size_of_the_blocks(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    stats = golden("head_stats")
    monkeypatch.setattr(similarity, "BLOCK_CELLS", cells)

    np.testing.assert_allclose(cosine_of_maps(stats["w"]), stats["cosine"], rtol=0, atol=1e-12)


def test_cosine_of_long_float32_maps_is_right_to_six_digits() -> None:
    maps = np.random.default_rng(0).dirichlet(np.full(700, 0.1), size=(4, 700)).astype(np.float32)
    flat = maps.reshape(4, -1).astype(np.float64)
    norm = np.linalg.norm(flat, axis=1)

    np.testing.assert_allclose(cosine_of_maps(maps), flat @ flat.T / np.outer(norm, norm), rtol=0, atol=1e-6)


def test_the_most_alike_pair_is_two_different_heads_the_lower_number_first() -> None:
    matrix = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.9], [0.1, 0.9, 1.0]])

    assert most_alike(matrix) == Pair(1, 2, 0.9)


def test_of_equally_alike_pairs_the_first_in_reading_order_is_named() -> None:
    assert most_alike(np.ones((4, 4))) == Pair(0, 1, 1.0)


def test_one_head_is_compared_with_none() -> None:
    assert most_alike(np.ones((1, 1))) is None
