"""Operations and bytes of a layer, counted one product at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.core.config import divisors
from attnviz.cost import attention_cost, pair_cost

sizes = st.integers(1, 300)


def product_flops(rows: int, inner: int, columns: int) -> int:
    """A multiplication and an addition for each of the inner products' terms."""
    return 2 * rows * inner * columns


@given(n_q=sizes, n_k=sizes, d_head=st.integers(1, 32), n_heads=st.integers(1, 16))
def test_the_operations_are_those_of_each_matrix_product(n_q: int, n_k: int, d_head: int, n_heads: int) -> None:
    d_model = n_heads * d_head

    cost = attention_cost(n_q, n_k, d_model, n_heads)

    queries, output = product_flops(n_q, d_model, d_model), product_flops(n_q, d_model, d_model)
    keys, values = product_flops(n_k, d_model, d_model), product_flops(n_k, d_model, d_model)
    assert cost.projection_flops == queries + keys + values + output
    assert cost.score_flops == n_heads * product_flops(n_q, d_head, n_k)
    assert cost.context_flops == n_heads * product_flops(n_q, n_k, d_head)
    assert cost.flops == cost.projection_flops + cost.score_flops + cost.context_flops


@pytest.mark.parametrize(("n", "d_model"), [(1, 1), (11, 64), (512, 768), (2048, 2048)])
def test_self_attention_costs_8_n_d2_plus_4_n2_d(n: int, d_model: int) -> None:
    assert attention_cost(n, n, d_model, 1).flops == 8 * n * d_model**2 + 4 * n**2 * d_model


@pytest.mark.parametrize("n_heads", divisors(64))
def test_more_heads_cost_memory_but_no_operations(n_heads: int) -> None:
    cost = attention_cost(11, 11, 64, n_heads)

    assert cost.flops == attention_cost(11, 11, 64, 1).flops
    assert cost.weight_bytes == n_heads * 11 * 11 * 4


def test_the_bytes_of_the_weights_are_those_of_the_array() -> None:
    trace = attend(AttentionConfig(tuple("abcde"), n_heads=4))

    assert attention_cost(5, 5, 64, 4).weight_bytes == trace.weights.nbytes
    assert attention_cost(5, 5, 64, 4, bytes_per_number=8).weight_bytes == 2 * trace.weights.nbytes


@given(mask_seed=st.integers(0, 999), d_head=st.integers(1, 32), d_value=st.integers(1, 32))
def test_only_the_allowed_pairs_cost_a_product_of_scores_one_of_values_and_a_weight(
    mask_seed: int, d_head: int, d_value: int
) -> None:
    mask = np.random.default_rng(mask_seed).random((2, 5, 7)) < 0.4

    cost = pair_cost(int(mask.sum()), d_head, d_value)

    counted = [(product_flops(1, d_head, 1), product_flops(1, 1, d_value), 4) for _ in np.argwhere(mask)]
    assert cost.score_flops == sum(score for score, _, _ in counted)
    assert cost.context_flops == sum(context for _, context, _ in counted)
    assert cost.weight_bytes == sum(size for _, _, size in counted)
    assert cost.flops == cost.score_flops + cost.context_flops


def test_all_pairs_together_cost_what_the_layer_does_without_its_projections() -> None:
    layer, pairs = attention_cost(5, 9, 64, 4, d_value=8), pair_cost(4 * 5 * 9, 16, 8)

    assert (pairs.score_flops, pairs.context_flops) == (layer.score_flops, layer.context_flops)
    assert pairs.weight_bytes == layer.weight_bytes
    assert pairs.flops == layer.flops - layer.projection_flops


@pytest.mark.parametrize(("n_pairs", "flops", "size"), [(0, 0, 0), (15, 480, 60), (36, 1152, 144)])
def test_a_causal_window_of_three_over_six_tokens_has_15_of_36_pairs(n_pairs: int, flops: int, size: int) -> None:
    cost = pair_cost(n_pairs, 8, 8)

    assert (cost.flops, cost.weight_bytes) == (flops, size)
