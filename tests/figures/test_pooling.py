"""Long maps made small, against a slow loop."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionTrace, masked_softmax
from attnviz.metrics.pooling import Window, pool_factor, pooled_window
from tests.figures.traces import trace_of
from tests.strategies import in_small_blocks, seeds


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


@st.composite
def masked_traces(draw: st.DrawFn) -> AttentionTrace:
    """Two heads whose mask they share or not; some forbid nearly everything."""
    n_q, n_k = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(seeds))
    mask = rng.random((draw(st.sampled_from([1, 2])), n_q, n_k)) < draw(st.sampled_from([0.05, 0.5, 1.0]))
    scores = rng.normal(0, 4, (2, n_q, n_k))
    tokens = [""] * max(n_q, n_k)
    return trace_of(masked_softmax(scores, mask).astype(np.float32), mask, scores=scores, tokens=tokens)


@given(masked_traces(), st.integers(1, 12), st.integers(1, 200))
def test_pooling_keeps_the_largest_weight_of_each_block_and_blocks_that_are_all_forbidden(
    trace: AttentionTrace, most: int, cells: int
) -> None:
    right = slow_pool(trace.weights, trace.mask, most)

    with in_small_blocks(cells):
        for head in range(2):
            pooled = pooled_window(trace, head, Window(0, trace.n_q, 0, trace.n_k), most)

            assert pooled.dtype == np.float32
            assert pooled.shape == right.shape[1:]
            assert max(pooled.shape) <= most
            np.testing.assert_array_equal(np.isnan(pooled), np.isnan(right[head]))
            np.testing.assert_array_equal(pooled, right[head].astype(np.float32))


@given(masked_traces(), st.integers(1, 12), st.integers(1, 200), st.booleans(), st.data())
def test_a_window_is_pooled_as_if_it_were_a_map_of_its_own(
    trace: AttentionTrace, most: int, cells: int, is_kept: bool, data: st.DataObject
) -> None:
    top, left = (data.draw(st.integers(0, count - 1)) for count in (trace.n_q, trace.n_k))
    bottom, right = data.draw(st.integers(top + 1, trace.n_q)), data.draw(st.integers(left + 1, trace.n_k))
    part = (slice(None), slice(top, bottom), slice(left, right))
    slow = slow_pool(trace.weights[part], trace.mask[part], most)

    with in_small_blocks(cells):
        for head in range(2):
            some = trace if is_kept else replace(trace, kept=None)
            pooled = pooled_window(some, head, Window(top, bottom, left, right), most)

            np.testing.assert_array_equal(np.isnan(pooled), np.isnan(slow[head]))
            np.testing.assert_allclose(pooled, slow[head], rtol=0, atol=1e-6)


@given(st.integers(1, 5000), st.integers(1, 300))
def test_the_factor_is_the_smallest_that_makes_the_rows_fit(n: int, most: int) -> None:
    factor = pool_factor(n, most)

    assert math.ceil(n / factor) <= most
    assert factor == 1 or math.ceil(n / (factor - 1)) > most
