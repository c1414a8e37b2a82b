"""Long maps made small, against a slow loop."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attnviz import masked_softmax
from attnviz.figures.pooling import max_pooled, pool_factor
from tests.strategies import seeds


def slow_pool(weights: np.ndarray, mask: np.ndarray, most: int) -> np.ndarray:
    """Largest allowed weight of each block, one cell at a time."""
    n_heads, n_q, n_k = weights.shape
    step_q, step_k = math.ceil(n_q / most), math.ceil(n_k / most)
    pooled = np.full((n_heads, math.ceil(n_q / step_q), math.ceil(n_k / step_k)), np.nan)
    for head, q, k in np.ndindex(weights.shape):
        block = (head, q // step_q, k // step_k)
        if mask[head % len(mask), q, k] and not weights[head, q, k] <= pooled[block]:
            pooled[block] = weights[head, q, k]
    return pooled


@given(
    n_q=st.integers(1, 40),
    n_k=st.integers(1, 40),
    most=st.integers(1, 12),
    share=st.sampled_from([0.05, 0.5, 1.0]),
    per_head=st.booleans(),
    seed=seeds,
)
def test_pooling_keeps_the_largest_weight_of_each_block_and_blocks_that_are_all_forbidden(
    n_q: int, n_k: int, most: int, share: float, per_head: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    mask = rng.random((2 if per_head else 1, n_q, n_k)) < share
    weights = masked_softmax(rng.normal(0, 4, (2, n_q, n_k)), mask).astype(np.float32)
    right = slow_pool(weights, mask, most)

    pooled = max_pooled(weights, mask, most)

    assert pooled.dtype == np.float32
    assert pooled.shape == right.shape
    assert max(pooled.shape[1:]) <= most
    np.testing.assert_array_equal(np.isnan(pooled), np.isnan(right))
    np.testing.assert_array_equal(pooled, right.astype(np.float32))


@given(st.integers(1, 5000), st.integers(1, 300))
def test_the_factor_is_the_smallest_that_makes_the_rows_fit(n: int, most: int) -> None:
    factor = pool_factor(n, most)

    assert math.ceil(n / factor) <= most
    assert factor == 1 or math.ceil(n / (factor - 1)) > most
