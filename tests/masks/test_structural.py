"""Encoder and decoder masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from attnviz.errors import SettingError
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


def test_a_prefix_is_read_in_both_directions_and_what_follows_in_one() -> None:
    mask = build_mask([MASKS["prefix_lm"].spec(prefix=2)], 4, 4)

    assert mask.astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_new_queries_after_a_cache_see_the_prefix_and_all_that_came_before() -> None:
    mask = build_mask([MASKS["prefix_lm"].spec(prefix=5)], 2, 6)

    assert mask.astype(int).tolist() == [[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1]]
    assert build_mask([MASKS["prefix_lm"].spec(prefix=1)], 3, 2).astype(int).tolist() == [[1, 0], [1, 0], [1, 1]]


def document(lengths: str, n_q: int, n_k: int, within: str = "full") -> list[str]:
    mask = build_mask([MASKS["document"].spec(lengths=lengths, within=within)], n_q, n_k)
    return ["".join(".#"[cell] for cell in row) for row in mask.astype(int).tolist()]


def test_documents_do_not_see_each_other_and_the_last_length_goes_on() -> None:
    assert document("1, 2", 6, 6) == ["#.....", ".##...", ".##...", "...##.", "...##.", ".....#"]
    assert document("1, 2", 6, 6, "causal") == ["#.....", ".#....", ".##...", "...#..", "...##.", ".....#"]


def test_new_queries_belong_to_the_last_documents_and_queries_before_the_first_key_to_none() -> None:
    assert document("3", 2, 7) == ["...###.", "......#"]
    assert document("2", 5, 3) == ["...", "...", "##.", "##.", "..#"]


def test_the_usual_sentence_falls_into_its_two_halves() -> None:
    assert document("6, 5", 11, 11) == ["######....."] * 6 + ["......#####"] * 5
    assert MASKS["document"].spec()["lengths"] == "6, 5"


@pytest.mark.parametrize("lengths", ["1", " 1 , 22,3", "032768"])
def test_lengths_may_have_spaces(lengths: str) -> None:
    assert MASKS["document"].spec(lengths=lengths)["lengths"] == lengths


@pytest.mark.parametrize(
    ("lengths", "problem"),
    [
        ("", '`lengths` must be whole numbers with commas between them; got "". Try 6, 5.'),
        ("3 4", '`lengths` must be whole numbers with commas between them; got "3 4". Try 6, 5.'),
        ("3,", '`lengths` must be whole numbers with commas between them; got "3,". Try 6, 5.'),
        ("-1", '`lengths` must be whole numbers with commas between them; got "-1". Try 6, 5.'),
        ("٣", '`lengths` must be whole numbers with commas between them; got "٣". Try 6, 5.'),
        ("9" * 99, f'`lengths` must be whole numbers with commas between them; got "{"9" * 20}…". Try 6, 5.'),
        ("4, 0", "`lengths` must be whole numbers from 1 to 32768; got 0. Try 1."),
        ("4, 99999", "`lengths` must be whole numbers from 1 to 32768; got 99999. Try 32768."),
        ("1," * 60 + "1", "`lengths` must be a text of at most 120 characters; got 121 characters. Shorten it."),
    ],
)
def test_lengths_that_are_none_are_refused_in_words(lengths: str, problem: str) -> None:
    with pytest.raises(SettingError) as refused:
        MASKS["document"].spec(lengths=lengths)

    assert str(refused.value) == problem


def test_a_number_is_not_taken_for_a_text() -> None:
    with pytest.raises(SettingError, match=r"^`lengths` must be a text of at most 120 characters; got lengths=6"):
        MASKS["document"].spec(lengths=6)
