"""Masks that leave out keys to save work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.masks import build_mask
from attnviz.registries import MASKS
from tests.strategies import lengths


def window(n_q: int, n_k: int, width: int, structure: str = "causal") -> np.ndarray:
    return build_mask([MASKS[structure].spec(), MASKS["sliding_window"].spec(window=width)], n_q, n_k)


def test_a_causal_window_of_three_keys_includes_the_own_position() -> None:
    assert window(6, 6, 3).sum(axis=1).tolist() == [1, 2, 3, 3, 3, 3]
    assert window(6, 6, 3).sum() == 15
    assert np.flatnonzero(window(6, 6, 3)[4]).tolist() == [2, 3, 4]


def test_a_window_of_one_key_is_the_own_position_alone() -> None:
    np.testing.assert_array_equal(window(5, 5, 1, "full"), np.eye(5, dtype=bool))


def test_a_full_window_reaches_as_far_on_both_sides() -> None:
    assert np.flatnonzero(window(9, 9, 3, "full")[4]).tolist() == [2, 3, 4, 5, 6]


def test_new_queries_after_a_cache_see_the_end_of_the_cache() -> None:
    assert window(2, 6, 3).astype(int).tolist() == [[0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1]]


@given(lengths, lengths, st.integers(1, 64))
def test_a_causal_window_leaves_each_query_at_most_that_many_keys(n_q: int, n_k: int, width: int) -> None:
    seen = window(n_q, n_k, width).sum(axis=1)

    assert seen.tolist() == [max(0, min(width, n_k - n_q + 1 + row)) for row in range(n_q)]


@pytest.mark.parametrize("structure", ["full", "causal"])
@given(n=st.integers(1, 64))
def test_a_window_as_wide_as_the_text_leaves_out_nothing(structure: str, n: int) -> None:
    np.testing.assert_array_equal(window(n, n, n, structure), build_mask([MASKS[structure].spec()], n, n))


@given(lengths, st.integers(1, 63))
def test_a_wider_window_allows_all_that_a_narrower_one_does(n: int, width: int) -> None:
    assert not (window(n, n, width, "full") & ~window(n, n, width + 1, "full")).any()


def drawn(name: str, n_q: int, n_k: int, *, head: int = 0, **params: Any) -> list[str]:
    mask = build_mask([MASKS[name].spec(**params)], n_q, n_k, n_heads=2)
    return ["".join(".#"[cell] for cell in row) for row in mask[head % len(mask)].astype(int).tolist()]


def test_a_dilated_window_sees_every_other_key_to_each_side() -> None:
    assert drawn("dilated_window", 5, 5, window=2, dilation=2) == ["#.#..", ".#.#.", "#.#.#", ".#.#.", "..#.#"]
    assert drawn("dilated_window", 1, 7, window=3, dilation=2) == ["..#.#.#"]


def test_a_stride_of_three_sees_three_keys_back_and_every_third_before() -> None:
    assert drawn("strided", 1, 10, stride=3) == ["#..#..####"]
    assert drawn("strided", 1, 10, stride=3, heads="alternating") == ["......####"]
    assert drawn("strided", 1, 10, head=1, stride=3, heads="alternating") == ["#..#..#..#"]
    assert drawn("strided", 4, 4, stride=1) == ["#...", "##..", "###.", "####"]


def test_the_fixed_pattern_sees_its_block_so_far_and_the_end_of_each_block_before() -> None:
    assert drawn("fixed", 6, 6, stride=3) == ["#.....", "##....", "###...", "..##..", "..###.", "..####"]
    assert drawn("fixed", 1, 8, stride=3, summary=2) == [".##.####"]
    assert drawn("fixed", 1, 8, stride=3, summary=2, heads="alternating") == ["......##"]
    assert drawn("fixed", 1, 8, head=1, stride=3, summary=2, heads="alternating") == [".##.##.#"]


def test_blocks_see_only_themselves_and_the_last_may_be_shorter() -> None:
    assert drawn("block_local", 5, 5, block=2) == ["##...", "##...", "..##.", "..##.", "....#"]
    assert drawn("block_local", 2, 6, block=4) == ["....##", "....##"]


def test_a_global_token_sees_all_and_is_seen_by_all() -> None:
    assert drawn("global_tokens", 4, 4, window=1, places="0") == ["####", "##..", "#.#.", "#..#"]
    assert drawn("global_tokens", 2, 5, window=1, places="1, 3, 99") == ["#####", ".#.##"]


def test_streaming_never_forgets_the_sinks() -> None:
    assert drawn("streaming", 1, 9, sinks=2, window=3) == ["##....###"]
    assert drawn("streaming", 3, 3, sinks=2, window=1) == ["#..", "##.", "###"]


def test_nothing_is_allowed_where_nothing_is() -> None:
    assert drawn("nothing", 2, 3) == ["...", "..."]
