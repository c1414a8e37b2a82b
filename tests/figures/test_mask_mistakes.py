"""Pictures and sentences of a mask that is read the wrong way round, or used after the softmax."""

from __future__ import annotations

import numpy as np

from attnviz.figures import mistake_words
from attnviz.figures.mask_rows import row_sums, two_rows
from attnviz.metrics.mistakes import misread
from tests.figures.traces import random_trace, trace_of

HALVES, LAST = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.0, 1.0])
ALLOWED = np.array([True, True, False])


def test_the_bars_stand_side_by_side_key_by_key_with_what_is_forbidden_marked() -> None:
    trace = trace_of(np.zeros((1, 1, 3)), tokens=("a", "b", "<c>"))

    picture = two_rows({"right": HALVES, "wrong": LAST}, trace, ALLOWED, [0, 1, 2], key=1)

    assert [list(bars.x) for bars in picture.data] == [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    assert [bars.name for bars in picture.data] == ["right", "wrong"]
    assert picture.layout.meta["ticks"]["y"] == ("0 a", "1 b", "2 <c> (forbidden)")
    assert picture.layout.meta["ticks"]["strong"] == 1
    assert picture.layout.yaxis.ticktext[2] == "2 &lt;c&gt; (forbidden)"


def test_some_of_many_keys_keep_their_numbers() -> None:
    picture = two_rows(
        {"right": np.arange(9) / 36, "wrong": np.zeros(9)}, random_trace(1, 9), np.ones(9, bool), [3, 8], key=0
    )

    np.testing.assert_allclose(picture.data[0].x, [3 / 36, 8 / 36])
    assert picture.layout.meta["ticks"]["y"] == ("3 t3", "8 t8")
    assert picture.layout.meta["ticks"]["strong"] is None


def test_the_sums_of_all_rows_are_two_lines_with_the_chosen_query_on_both() -> None:
    picture = row_sums({"before": np.ones(4), "after": np.arange(1, 5) / 4}, random_trace(1, 4), query=1)

    assert [list(line.y) for line in picture.data[:2]] == [[1, 1, 1, 1], [0.25, 0.5, 0.75, 1]]
    assert (list(picture.data[2].x), list(picture.data[2].y)) == ([1, 1], [1, 0.5])


def test_a_misreading_is_told_with_the_future_and_the_queries_that_lose_all_keys() -> None:
    mask = np.tri(3, dtype=bool)
    trace = random_trace(1, 3, mask)

    assert mistake_words.misreading_answer(misread(mask), trace, has_order=True) == (
        "6 allowed pairs would be forbidden and 3 forbidden pairs allowed; 3 pairs would look into the future instead "
        "of none. Query 2 “t2” would be left without a key."
    )
    assert "future" not in mistake_words.misreading_answer(misread(mask), trace, has_order=False)
    full = mistake_words.misreading_answer(misread(np.ones((3, 3), dtype=bool)), trace, has_order=True)
    assert full.endswith("Every query would be left without a key.")


def test_the_mask_as_it_is_meant_is_told_with_the_future_that_it_allows() -> None:
    causal, full = misread(np.tri(3, dtype=bool)), misread(np.ones((3, 3), dtype=bool))

    assert mistake_words.meant_answer(causal, has_order=True) == (
        "Read as this app means it, 6 of 9 pairs are allowed (66.7\u202f%), none of them in the future."
    )
    assert mistake_words.meant_answer(full, has_order=True).endswith("(100\u202f%), 3 of them in the future.")
    assert mistake_words.meant_answer(full, has_order=False).endswith("9 of 9 pairs are allowed (100\u202f%).")
    assert mistake_words.misreading_alt(causal, is_misread=True) == (
        "The opposite of the mask, with 3 allowed pairs instead of 6."
    )
    assert mistake_words.misreading_alt(causal, is_misread=False) == (
        "The mask as meant, with 6 allowed pairs; its opposite has 3."
    )


def test_short_rows_are_told_as_their_numbers_and_long_ones_by_their_largest() -> None:
    trace = random_trace(1, 8)
    long, other = np.eye(8)[2], np.eye(8)[5]
    none = np.zeros(8)

    assert mistake_words.misread_row_answer(HALVES, LAST, trace, 1) == (
        "True = may attend gives query 1 “t1” the weights [0.500, 0.500, 0]; True = ignore [0, 0, 1.00]."
    )
    assert mistake_words.misread_row_answer(long, other, trace, 1) == (
        "Query 1 “t1” looks most at key 2 “t2”; read the wrong way round it looks most at key 5 “t5”."
    )
    assert mistake_words.misread_row_answer(long, none, trace, 1).endswith(
        "may attend to no key: all its weights are 0."
    )
    assert mistake_words.misread_row_answer(none, long, trace, 1).endswith("it attends to all of them.")


def test_what_the_order_of_mask_and_softmax_does_is_told_for_every_kind_of_row() -> None:
    trace = random_trace(1, 8)
    after = np.array([0.25, 0.25, 0.0, 0.0])
    right, allowed = np.array([0.5, 0.5, 0.0, 0.0]), np.array([True, True, False, False])

    assert mistake_words.order_answer(after, allowed, trace, 1, right) == (
        "Mask before the softmax: [0.500, 0.500, 0, 0], sum 1.00; mask after it: [0.250, 0.250, 0, 0], sum 0.500."
    )
    assert "makes no difference" in mistake_words.order_answer(right, np.ones(4, bool), trace, 1, right)
    assert "no key" in mistake_words.order_answer(0 * right, np.zeros(4, bool), trace, 1, 0 * right)
    many = np.arange(8) < 4
    assert mistake_words.order_answer(many / 8, many, trace, 1, many / 4) == (
        "Masked after the softmax, the weights of query 1 “t1” sum to 0.500: 50.0\u202f% went to keys that it may "
        "not see."
    )


def test_rows_that_lose_next_to_nothing_after_the_softmax_are_not_counted_as_broken() -> None:
    def said(after: list[float], n_allowed: list[int], before: list[float]) -> str:
        return mistake_words.sums_answer(np.array(before, float), np.array(after), np.array(n_allowed), 3)

    assert said([0.25, 0.5, 1.0, 0.0], [1, 2, 3, 0], [1, 1, 1, 0]) == (
        "Masked after the softmax, 2 of 4 rows lose more than 0.1\u202f% of their sum, down to 0.250."
    )
    assert said([0.6, 0.9995, 0.9999, 1.0], [1, 1, 2, 3], [1, 1, 1, 1]) == (
        "Masked after the softmax, 1 of 4 rows loses more than 0.1\u202f% of their sum, down to 0.600; 2 lose less, "
        "because next to none of their weight is on forbidden keys."
    )
    assert said([0.9995, 1.0], [1, 3], [1, 1]) == (
        "Masked after the softmax, 1 of 2 rows loses, but less than 0.1\u202f% of their sum: next to no weight is on "
        "forbidden keys."
    )
    assert "1 of 2 rows loses more" in said([0.3, 0.5], [1, 2], [0.5, 0.5]), "a sink leaves less than 1 to both"
    assert "makes no difference" in said([1.0, 1.0], [3, 3], [1, 1])
