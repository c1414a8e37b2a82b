"""How many keys attention is spread over: against SciPy's values and numbers that can be checked by eye."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.rows import rows_of
from attnviz.metrics import uniform_weights
from attnviz.metrics.patterns import distance_back
from attnviz.metrics.places import next_token, own_token, previous_token
from attnviz.metrics.spread import effective_keys, gini, hoyer, keys_for_most
from tests.reference import golden

STATS = golden("head_stats")
CAUSAL_4 = np.tril(np.ones((1, 4, 4), dtype=bool))


def full(n_q: int, n_k: int) -> np.ndarray:
    return np.ones((1, n_q, n_k), dtype=bool)


HEADS = rows_of(STATS["w"], full(40, 40))


@pytest.mark.parametrize(("measure", "name"), [(gini, "gini"), (hoyer, "hoyer")])
def test_sparsity_equals_the_reference_on_heads_of_every_character(measure, name: str) -> None:
    np.testing.assert_allclose(measure(HEADS), STATS[name], rtol=0, atol=1e-12)


def test_effective_keys_are_the_exponential_of_the_entropy() -> None:
    np.testing.assert_allclose(effective_keys(HEADS), np.exp(STATS["entropy"]), rtol=1e-12)


def test_keys_for_90_percent_agree_with_the_mass_of_the_largest_keys() -> None:
    needed = keys_for_most(HEADS)

    for m in (1, 5, 10):
        np.testing.assert_array_equal(needed <= m, STATS[f"top{m}_mass"] >= 0.9)


@pytest.mark.parametrize(
    ("weights", "needed"),
    [([1, 0, 0, 0], 1), ([0.9, 0.1, 0, 0], 1), ([0.8, 0.1, 0.1, 0], 2), ([0.25, 0.25, 0.25, 0.25], 4), ([0.1] * 10, 9)],
)
def test_keys_for_90_percent_by_eye(weights: list[float], needed: int) -> None:
    for kind in (np.float64, np.float32):
        assert keys_for_most(rows_of(np.array([[weights]], kind), full(1, len(weights)))).item() == needed


@pytest.mark.parametrize(("share", "needed"), [(0.5, 1), (0.6, 2), (0.75, 2), (0.9, 3), (0.95, 4)])
def test_more_of_the_attention_needs_more_keys(share: float, needed: int) -> None:
    weights = np.array([[[0.5, 0.25, 0.15, 0.1]]])

    assert keys_for_most(rows_of(weights, full(1, 4)), share=share).item() == needed


def test_forbidden_keys_count_neither_as_even_nor_as_sparse() -> None:
    rows = rows_of(uniform_weights(CAUSAL_4), CAUSAL_4)

    np.testing.assert_allclose(gini(rows), [[0, 0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(hoyer(rows), [[np.nan, 0, 0, 0]], atol=1e-15)
    np.testing.assert_allclose(effective_keys(rows), [[1, 2, 3, 4]], rtol=1e-15)


def test_a_row_on_one_of_four_keys_is_as_uneven_and_sparse_as_can_be() -> None:
    rows = rows_of(np.array([[[0.0, 0, 1, 0]]]), full(1, 4))

    assert gini(rows).item() == pytest.approx(0.75)
    assert hoyer(rows).item() == pytest.approx(1)


def test_places_beside_the_query_by_eye() -> None:
    weights = np.array([[[0.7, 0.2, 0.1], [0.5, 0.3, 0.2], [0.0, 0.1, 0.9]]])
    rows = rows_of(weights, full(3, 3))

    np.testing.assert_allclose(previous_token(rows), [[np.nan, 0.5, 0.1]])
    np.testing.assert_allclose(own_token(rows), [[0.7, 0.3, 0.9]])
    np.testing.assert_allclose(next_token(rows), [[0.2, 0.2, np.nan]])
    np.testing.assert_allclose(distance_back(rows), [[-0.4, 0.3, 0.1]], atol=1e-15)


def test_distance_back_of_a_causal_head_is_its_distance_and_of_an_even_full_head_0_on_average() -> None:
    causal = rows_of(uniform_weights(CAUSAL_4), CAUSAL_4)
    even = rows_of(uniform_weights(full(4, 4)), full(4, 4))

    np.testing.assert_allclose(distance_back(causal), [[0, 0.5, 1, 1.5]])
    np.testing.assert_allclose(distance_back(even), [[-1.5, -0.5, 0.5, 1.5]])
