"""Encoder and decoder masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from attnviz.masks import build_mask
from attnviz.registries import MASKS
from tests.strategies import lengths


def causal(n_q: int, n_k: int, align: str = "bottom-right") -> list[list[int]]:
    return build_mask([MASKS["causal"].spec(align=align)], n_q, n_k).astype(int).tolist()


@pytest.mark.parametrize("name", ["full", "dense", "no_padding"])
@given(n_q=lengths, n_k=lengths)
def test_a_mask_that_forbids_nothing_allows_everything(name: str, n_q: int, n_k: int) -> None:
    assert build_mask([MASKS[name].spec()], n_q, n_k).all()


@pytest.mark.parametrize("align", ["bottom-right", "top-left"])
def test_a_square_causal_mask_is_the_lower_triangle_for_either_alignment(align: str) -> None:
    for n in (1, 2, 5, 33):
        assert causal(n, n, align) == np.tril(np.ones((n, n), dtype=int)).tolist()


def test_two_queries_after_a_cache_of_three_see_the_cache_and_themselves() -> None:
    assert causal(2, 5) == [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert causal(2, 5, "top-left") == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]


def test_more_queries_than_keys_leave_the_first_queries_without_a_key() -> None:
    assert causal(5, 2) == [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]
    assert causal(5, 2, "top-left") == [[1, 0], [1, 1], [1, 1], [1, 1], [1, 1]]


def test_one_new_query_sees_the_whole_cache_and_top_left_only_the_first_key() -> None:
    assert causal(1, 8) == [[1] * 8]
    assert causal(1, 8, "top-left") == [[1] + [0] * 7]


def test_the_default_alignment_is_for_new_queries_after_a_cache() -> None:
    assert MASKS["causal"].spec()["align"] == "bottom-right"


@given(n_q=lengths, n_k=lengths)
def test_the_last_query_sees_every_key_and_each_query_one_more_than_the_one_before(n_q: int, n_k: int) -> None:
    seen = build_mask([MASKS["causal"].spec()], n_q, n_k).sum(axis=1)

    assert seen[-1] == n_k
    assert seen.tolist() == [max(0, n_k - n_q + 1 + row) for row in range(n_q)]
