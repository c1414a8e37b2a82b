"""Weights in another view: keys left out, rows with a range of their own, logarithms; against slow loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionTrace, masked_softmax
from attnviz.core.rows import Rows, rows_of
from attnviz.metrics import survey
from attnviz.metrics.pooling import Window
from attnviz.metrics.viewing import (
    FORBIDDEN,
    HIDDEN,
    PLAIN,
    View,
    floor_below,
    in_log,
    rows_left_empty,
    sink_keys,
    viewed,
    viewed_rows,
    viewed_window,
)
from tests.figures.traces import random_trace, trace_of
from tests.strategies import in_small_blocks, masked, seeds

SINK = np.array([[[0.8, 0.1, 0.1], [0.9, 0.0, 0.1], [1.0, 0.0, 0.0]]])
hidden_keys = st.sets(st.integers(0, 11), max_size=12).map(lambda keys: tuple(sorted(keys)))
views = st.builds(View, hidden_keys, st.booleans())


def slow_view(weights: np.ndarray, mask: np.ndarray, view: View) -> np.ndarray:
    """Every number of a view one row at a time: hide, divide by the sum, divide by the largest."""
    shown = np.full(weights.shape, FORBIDDEN)
    for head, q in np.ndindex(weights.shape[:2]):
        allowed = mask[head % len(mask), q]
        left = [k for k in range(weights.shape[2]) if allowed[k] and k not in view.hidden]
        row = {k: float(weights[head, q, k]) for k in left}
        total = sum(row.values()) if view.hidden else 1.0
        shown[head, q, allowed] = HIDDEN
        if view.hidden and not total:
            continue
        row = {k: weight / total for k, weight in row.items()}
        largest = max(row.values(), default=0.0) if view.row_scale else 1.0
        for k, weight in row.items():
            shown[head, q, k] = weight / (largest or 1.0)
    return shown


def slow_pool(shown: np.ndarray, step_q: int, step_k: int) -> np.ndarray:
    """The largest number of each block; NaN where all of it is forbidden."""
    n_heads, n_q, n_k = shown.shape
    pooled = np.full((n_heads, -(-n_q // step_q), -(-n_k // step_k)), FORBIDDEN)
    for head, q, k in np.ndindex(shown.shape):
        block = (head, q // step_q, k // step_k)
        pooled[block] = max(pooled[block], shown[head, q, k])
    return np.where(pooled == FORBIDDEN, np.nan, pooled)


@given(seeds, st.sampled_from([0.2, 0.6, 1.0]), st.booleans(), hidden_keys.filter(bool))
def test_rows_without_the_hidden_keys_sum_to_1_or_have_nothing_left(
    seed: int, share: float, per_head: bool, hidden: tuple[int, ...]
) -> None:
    weights, mask = masked(seed, (2, 9, 12), share, per_head=per_head)

    seen = viewed_rows(rows_of(weights, mask), View(hidden))

    assert not seen.mask[..., list(hidden)].any()
    assert not seen.weights[~seen.mask].any()
    has_left = seen.mask.any(axis=-1)
    np.testing.assert_allclose(seen.weights.sum(axis=-1), has_left, rtol=0, atol=1e-12)
    left = np.where(mask, weights, 0)
    left[..., list(hidden)] = 0
    np.testing.assert_array_equal(has_left, left.sum(axis=-1) > 0)


def test_a_sink_that_is_hidden_leaves_what_a_reader_can_check() -> None:
    seen = viewed_rows(rows_of(SINK, np.ones((1, 3, 3), dtype=bool)), View((0,)))

    np.testing.assert_allclose(seen.weights, [[[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]]])
    assert seen.mask.tolist() == [[[False, True, True], [False, True, True], [False, False, False]]]


def test_each_row_is_divided_by_its_largest_weight_after_the_hidden_keys_are_gone() -> None:
    rows = rows_of(np.array([[[0.5, 0.3, 0.2]]]), np.ones((1, 1, 3), dtype=bool))

    np.testing.assert_allclose(viewed_rows(rows, View((0,), row_scale=True)).weights, [[[0, 1, 2 / 3]]])
    np.testing.assert_allclose(viewed_rows(rows, View(row_scale=True)).weights, [[[1, 0.6, 0.4]]])
    np.testing.assert_array_equal(viewed_rows(rows, PLAIN).weights, rows.weights)


def test_a_view_leaves_the_rows_it_is_made_of_as_they_are() -> None:
    weights = SINK.copy()
    rows: Rows = rows_of(weights, np.ones((1, 3, 3), dtype=bool))

    viewed_rows(rows, View((0,), row_scale=True))

    np.testing.assert_array_equal(weights, SINK)
    assert rows.mask.all()


@st.composite
def traces(draw: st.DrawFn) -> AttentionTrace:
    """Two heads of up to 12 keys whose mask they share or not."""
    n_q, n_k = draw(st.integers(1, 20)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(seeds))
    mask = rng.random((draw(st.sampled_from([1, 2])), n_q, n_k)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    scores = rng.normal(0, 3, (2, n_q, n_k))
    tokens = [""] * max(n_q, n_k)
    return trace_of(masked_softmax(scores, mask), mask, scores=scores, tokens=tokens)


@given(traces(), views, st.integers(1, 8), st.integers(1, 100), st.booleans())
def test_a_pooled_view_is_the_pool_of_the_whole_view(
    trace: AttentionTrace, view: View, most: int, cells: int, is_kept: bool
) -> None:
    shown = slow_view(trace.weights, trace.mask, view)
    steps = [max(1, -(-n // most)) for n in (trace.n_q, trace.n_k)]

    with in_small_blocks(cells):
        some = trace if is_kept else replace(trace, kept=None)
        for head in range(2):
            window = Window(0, trace.n_q, 0, trace.n_k)
            pooled = viewed_window(some, head, window, most, view)

            np.testing.assert_allclose(pooled, slow_pool(shown, *steps)[head], rtol=1e-5, atol=1e-6)


@given(traces(), views, st.integers(1, 100))
def test_the_maps_sums_and_empty_rows_of_all_heads_are_those_of_the_whole_view(
    trace: AttentionTrace, view: View, cells: int
) -> None:
    weights = slow_view(trace.weights, trace.mask, View(view.hidden))
    has_keys = np.broadcast_to(trace.mask, weights.shape).any(axis=-1)

    with in_small_blocks(cells):
        seen = viewed(trace, view)
        empty = [rows_left_empty(trace, head, view) for head in range(2)]

    np.testing.assert_allclose(seen.maps, slow_pool(slow_view(trace.weights, trace.mask, view), 1, 1), atol=1e-6)
    right = has_keys & (weights < 0).all(axis=-1) if view.hidden else np.zeros(has_keys.shape, dtype=bool)
    np.testing.assert_array_equal(seen.is_empty, right)
    np.testing.assert_array_equal(empty, right)
    np.testing.assert_allclose(seen.received, np.where(weights > 0, weights, 0).sum(axis=1), atol=1e-9)
    np.testing.assert_allclose(seen.uniform_received.sum(axis=1), (has_keys & ~right).sum(axis=1), atol=1e-9)


def test_a_long_map_hides_a_key_before_it_is_pooled() -> None:
    trace = random_trace(2, 300)

    seen = viewed(trace, View((0, 7)))

    left = trace.weights.copy()
    left[..., [0, 7]] = 0
    left /= left.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(seen.maps, left.reshape(2, 100, 3, 100, 3).max(axis=(2, 4)), rtol=1e-6)


def test_permuted_heads_permute_a_view() -> None:
    trace = random_trace(3, 20)
    other = trace_of(trace.weights[::-1].copy(), trace.mask)

    one, turned = (viewed(each, View((0, 3), row_scale=True)) for each in (trace, other))

    np.testing.assert_array_equal(one.maps[::-1], turned.maps)
    np.testing.assert_allclose(one.received[::-1], turned.received)


def test_logarithms_begin_at_the_floor_and_leave_what_has_no_number() -> None:
    numbers = np.array([0.0, 1e-6, 1e-4, 0.01, 1.0, 2.0, HIDDEN, np.nan], dtype=np.float32)

    np.testing.assert_allclose(in_log(numbers, 1e-4, 1.0), [-4, -4, -4, -2, 0, 0, HIDDEN, np.nan], rtol=1e-6)


@given(st.floats(1e-7, 1.0))
def test_the_floor_is_a_power_of_ten_four_to_five_decades_below_the_top(top: float) -> None:
    floor = floor_below(top)

    assert 10**4 * (1 - 1e-9) <= top / floor < 10**5 * (1 + 1e-9)
    assert np.log10(floor) == pytest.approx(round(np.log10(floor)), abs=1e-12)


def test_sinks_are_the_keys_that_get_much_more_than_a_uniform_head_gives_them() -> None:
    assert sink_keys(survey(trace_of(SINK))) == (0,)
    assert sink_keys(survey(trace_of(np.full((2, 4, 4), 0.25)))) == ()
    both = np.tile([0.45, 0.05, 0.02, 0.03, 0.45], (2, 5, 1))
    assert sink_keys(survey(trace_of(both))) == (0, 4)


def test_a_uniform_causal_head_has_no_sink_though_its_first_key_gets_most() -> None:
    mask = np.tril(np.ones((6, 6), dtype=bool))

    assert sink_keys(survey(trace_of((mask / mask.sum(axis=1, keepdims=True))[None], mask))) == ()
