"""Rollout through layers: against stored values, by eye, and what must hold for any maps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from attnviz.metrics import uniform_weights
from attnviz.metrics.rollout import mean_maps, rollout, with_residual
from attnviz.registries import MASKS
from tests.figures.traces import sentence_trace, trace_of
from tests.reference import golden
from tests.strategies import in_small_blocks, masked, seeds

STATS = golden("head_stats")
TO_FIRST = np.array([[1.0, 0], [1, 0]])


def test_rollout_equals_the_reference() -> None:
    np.testing.assert_allclose(rollout(list(STATS["w"][:3]))[-1], STATS["rollout"], rtol=0, atol=1e-12)


def test_one_layer_is_half_attention_and_half_the_token_itself() -> None:
    (only,) = rollout([TO_FIRST])

    np.testing.assert_array_equal(only, [[1, 0], [0.5, 0.5]])


def test_each_layer_halves_what_is_left_of_a_token_that_looks_away() -> None:
    reached = rollout([TO_FIRST] * 4)

    assert [float(one[1, 1]) for one in reached] == [0.5, 0.25, 0.125, 0.0625]


def test_the_order_of_layers_matters() -> None:
    away = np.array([[0.0, 1], [1, 0]])

    first, second = rollout([TO_FIRST, away])[-1], rollout([away, TO_FIRST])[-1]

    np.testing.assert_array_equal(first, [[0.75, 0.25], [0.75, 0.25]])
    np.testing.assert_array_equal(second, [[0.5, 0.5], [0.5, 0.5]])


def test_without_a_residual_it_is_the_product_of_the_maps() -> None:
    one, other = STATS["w"][1], STATS["w"][2]

    np.testing.assert_allclose(rollout([one, other], residual=0.0)[-1], other @ one, rtol=1e-12)


@pytest.mark.parametrize("residual", [0.0, 0.5])
def test_a_row_with_no_key_keeps_its_token(residual: float) -> None:
    np.testing.assert_array_equal(with_residual(np.zeros((2, 2)), residual), np.eye(2))


@given(seeds)
def test_rows_sum_to_1_and_none_is_made_of_what_no_path_leads_to(seed: int) -> None:
    weights, mask = masked(seed, (3, 6, 6), 0.4, per_head=True)
    reachable = np.eye(6, dtype=bool)

    for layer, reached in enumerate(rollout(list(weights))):
        reachable = reachable | ((mask[layer].astype(int) @ reachable.astype(int)) > 0)
        np.testing.assert_allclose(reached.sum(axis=1), 1, rtol=1e-12)
        assert not reached[~reachable].any()


@given(seeds)
def test_renaming_the_tokens_renames_the_rollout(seed: int) -> None:
    weights, _ = masked(seed, (3, 6, 6), 0.8)
    order = np.random.default_rng(seed).permutation(6)

    shuffled = rollout([one[np.ix_(order, order)] for one in weights])[-1]

    np.testing.assert_allclose(shuffled, rollout(list(weights))[-1][np.ix_(order, order)], rtol=1e-12)


@given(seeds)
def test_mean_maps_in_blocks_are_the_mean_over_heads(seed: int) -> None:
    weights, mask = masked(seed, (3, 5, 7), 0.6, per_head=True)

    with in_small_blocks(20):
        found = mean_maps(trace_of(weights, mask))

    np.testing.assert_allclose(found.weights, weights.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.uniform, uniform_weights(mask).mean(axis=0), rtol=1e-12)


def test_a_causal_layer_leads_nowhere_but_back() -> None:
    maps = mean_maps(sentence_trace("abcd", MASKS["causal"].spec()))

    for reached in rollout([maps.weights, maps.weights]):
        assert not np.triu(reached, k=1).any()
