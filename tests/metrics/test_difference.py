"""One map less another."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.metrics.difference import ONE_SIDED, Side, difference_part, moved
from attnviz.metrics.pooling import Window
from tests.figures.traces import random_trace, trace_of
from tests.metrics.layers import MASKED, layer, on_the_way
from tests.strategies import in_small_blocks

FIRST = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
SECOND = np.array([[1.0, 0, 0], [0.1, 0.9, 0], [0.5, 0, 0.5]])
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))


def test_what_moved_is_half_the_sum_of_the_differences() -> None:
    trace = trace_of(np.stack([FIRST, SECOND]), CAUSAL)

    found = moved(Side(trace, 0), Side(trace, 1))

    assert found.share == pytest.approx((0 + 0.4 + 0.5) / 3)
    assert found.uniform == pytest.approx((0 + 0 + 2 / 3) / 3)
    assert (found.query, found.key, found.difference) == (2, 0, -0.5)


def test_a_head_does_not_differ_from_itself() -> None:
    trace = random_trace(2, 5)

    found = moved(Side(trace, 1), Side(trace, 1))

    assert (found.share, found.difference) == (0, 0)


def test_queries_without_a_key_in_either_head_do_not_count() -> None:
    mask = np.array([[True, True], [False, False]])
    trace = trace_of(np.array([[[1.0, 0], [0, 0]], [[0, 1.0], [0, 0]]]), mask)

    assert moved(Side(trace, 0), Side(trace, 1)).share == 1
    empty = trace_of(np.zeros((2, 2, 2)), np.zeros((2, 2), dtype=bool))
    assert np.isnan(moved(Side(empty, 0), Side(empty, 1)).share)


def test_a_cell_that_only_one_mask_allows_has_no_difference_but_is_told_apart() -> None:
    one, other = trace_of(FIRST[None], CAUSAL), trace_of(np.full((1, 3, 3), 1 / 3))

    part = difference_part(Side(one, 0), Side(other, 0), Window(0, 3, 0, 3), 256)

    np.testing.assert_allclose(part, np.where(CAUSAL, FIRST - 1 / 3, ONE_SIDED))
    alone = difference_part(Side(one, 0), Side(one, 0), Window(0, 3, 0, 3), 256)
    np.testing.assert_array_equal(np.isnan(alone), ~CAUSAL)


def test_attention_on_keys_that_only_one_mask_allows_is_counted_beside_a_uniform_head() -> None:
    causal, full = trace_of(FIRST[None], CAUSAL), trace_of(np.full((1, 3, 3), 1 / 3))

    found = moved(Side(full, 0), Side(causal, 0))

    assert found.first_alone == found.first_alone_uniform == pytest.approx((2 / 3 + 1 / 3 + 0) / 3)
    assert (found.second_alone, found.second_alone_uniform) == (0, 0)
    assert (found.query, found.key, found.difference) == (0, 0, pytest.approx(-2 / 3))
    turned = moved(Side(causal, 0), Side(full, 0))
    assert (turned.second_alone, turned.second_alone_uniform) == (found.first_alone, found.first_alone_uniform)


def test_masks_without_a_common_pair_have_no_largest_difference() -> None:
    diagonal, other = np.eye(2), 1 - np.eye(2)
    one, two = (trace_of(weights[None], weights.astype(bool)) for weights in (diagonal, other))

    found = moved(Side(one, 0), Side(two, 0))

    assert (found.share, found.difference, found.first_alone, found.second_alone) == (1, 0, 1, 1)


def test_a_block_of_which_one_mask_forbids_all_that_the_other_allows_is_one_sided() -> None:
    causal, full = trace_of(np.tril(np.full((1, 4, 4), 0.25)), np.tril(np.ones((4, 4), dtype=bool))), random_trace(1, 4)

    part = difference_part(Side(causal, 0), Side(full, 0), Window(0, 4, 0, 4), 2)

    assert np.isneginf(part).tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize("is_kept", [True, False])
def test_of_many_cells_the_difference_that_is_largest_in_size_is_kept_with_its_sign(is_kept: bool) -> None:
    trace = layer(0, 150, MASKED["causal"])
    given = trace if is_kept else on_the_way(trace)
    whole = np.where(trace.mask[0], trace.weights[0].astype(float) - trace.weights[1], np.nan)

    with in_small_blocks(2000):
        part = difference_part(Side(given, 0), Side(given, 1), Window(7, 150, 3, 140), 16)

    window = whole[7:150, 3:140]
    assert part.shape == (16, 16)
    for row, column in np.ndindex(16, 16):
        block = window[row * 9 : (row + 1) * 9, column * 9 : (column + 1) * 9]
        if np.isnan(block).all():
            assert np.isnan(part[row, column])
        else:
            largest = block.ravel()[np.nanargmax(np.abs(block))]
            assert part[row, column] == pytest.approx(largest, abs=1e-6)


def test_what_moved_does_not_depend_on_the_blocks() -> None:
    trace = layer(1, 60, MASKED["window"])
    whole = moved(Side(trace, 0), Side(trace, 2))

    with in_small_blocks(300):
        streamed = moved(Side(on_the_way(trace), 0), Side(on_the_way(trace), 2))

    assert streamed.share == pytest.approx(whole.share, abs=1e-6)
    assert (streamed.query, streamed.key) == (whole.query, whole.key)
