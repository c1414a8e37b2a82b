"""Learned biases: one for each distance along a line, or for each step down and across an image."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import merge_heads, scaled_dot_product_attention, split_heads
from attnviz.positions import PositionShape, grid_index, grid_table, learned_bias_table, look_up
from attnviz.registries import POSITIONS
from tests.reference import golden
from tests.strategies import lengths, seeds

WINDOW = np.arange(16)


@given(st.integers(1, 128), lengths, lengths, seeds)
def test_the_learned_bias_of_a_pair_is_that_of_its_clipped_distance_in_the_table_on_show(
    most: int, n_q: int, n_k: int, seed: int
) -> None:
    effects = POSITIONS["learned_bias"].function(PositionShape(6, 3, seed), max_distance=most)
    assert effects.bias is not None
    bias, table = effects.bias(np.arange(n_q), np.arange(n_k)), learned_bias_table(most, 3, seed)

    assert table.shape == (2 * most + 1, 3)
    for q, k in ((0, 0), (n_q - 1, 0), (0, n_k - 1), (n_q // 2, n_k // 3)):
        assert bias[:, q, k].tolist() == table[min(max(k - q, -most), most) + most].tolist()


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 12), seeds)
def test_a_larger_clipping_distance_keeps_the_biases_of_near_keys(
    most: int, more: int, n_heads: int, seed: int
) -> None:
    small, large = learned_bias_table(most, n_heads, seed), learned_bias_table(most + more, n_heads, seed)

    np.testing.assert_array_equal(large[more:-more], small)


def test_learned_biases_tell_before_from_after_heads_apart_and_depend_on_the_seed() -> None:
    table = learned_bias_table(100, 8, 1)

    assert np.unique(table).size == table.size
    assert table.std() == pytest.approx(1, abs=0.05)
    assert not np.array_equal(table, learned_bias_table(100, 8, 2))


def test_the_relative_index_equals_that_of_swin() -> None:
    stored = golden("swin_relative2d")["relative_position_bias__relative_position_index"].reshape(16, 16)

    np.testing.assert_array_equal(grid_index(WINDOW, WINDOW, 4), stored)


def test_whole_window_attention_equals_swin() -> None:
    stored = golden("swin_relative2d")
    table = stored["relative_position_bias__relative_position_bias_table"]
    bias = look_up(table, grid_index(WINDOW, WINDOW, 4))
    np.testing.assert_allclose(bias, stored["bias"][0], rtol=0, atol=2e-6)

    for x, weights, output in zip(stored["x"], stored["w"], stored["y"], strict=True):
        query, key, value = (
            split_heads(x @ stored[f"{name}_proj__weight"].T + stored[f"{name}_proj__bias"], 3) for name in "qkv"
        )
        attention = scaled_dot_product_attention(query, key, value, bias=bias)
        np.testing.assert_allclose(attention.weights, weights, rtol=0, atol=2e-6)
        projected = merge_heads(attention.context) @ stored["o_proj__weight"].T + stored["o_proj__bias"]
        np.testing.assert_allclose(projected, output, rtol=0, atol=2e-6)


@given(st.integers(1, 32), lengths, lengths, seeds)
def test_the_grid_bias_depends_on_steps_down_and_across_only(width: int, n_q: int, n_k: int, seed: int) -> None:
    effects = POSITIONS["grid_bias"].function(PositionShape(6, 3, seed), grid_width=width)
    assert effects.bias is not None
    bias, table = effects.bias(np.arange(n_q), np.arange(n_k)), grid_table(width, 3, seed)

    seen: dict[tuple[int, int], list[float]] = {}
    for q in range(0, n_q, 3):
        for k in range(0, n_k, 3):
            down = min(max(q // width - k // width, 1 - width), width - 1)
            step = (down, q % width - k % width)
            assert bias[:, q, k].tolist() == seen.setdefault(step, bias[:, q, k].tolist())
            row = (step[0] + width - 1) * (2 * width - 1) + step[1] + width - 1
            assert bias[:, q, k].tolist() == table[row].tolist()


@given(st.integers(1, 32), st.integers(0, 20), seeds)
def test_moving_a_window_by_whole_lines_changes_no_grid_bias(width: int, lines: int, seed: int) -> None:
    effects = POSITIONS["grid_bias"].function(PositionShape(6, 3, seed), grid_width=width)
    assert effects.bias is not None
    places, moved = np.arange(width * 2), np.arange(width * 2) + lines * width

    np.testing.assert_array_equal(effects.bias(moved, moved), effects.bias(places, places))


def test_a_grid_one_patch_wide_tells_no_places_apart() -> None:
    assert grid_index(np.arange(5), np.arange(7), 1).tolist() == [[0] * 7] * 5
