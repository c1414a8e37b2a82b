"""Looking at the same word and at what followed it, on the case that a reader can check by eye."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.metrics import mean_over_queries, measured
from attnviz.metrics.facts import word_numbers
from attnviz.metrics.measured import Measured
from attnviz.registries import METRICS
from tests.figures.traces import trace_of

TWICE = tuple("01234" * 2)
CAUSAL = np.tril(np.ones((10, 10), dtype=bool))
INDUCTION = np.eye(10)[[0, 0, 0, 0, 0, 1, 2, 3, 4, 5]]
PREVIOUS = np.eye(10)[[0, 0, 1, 2, 3, 4, 5, 6, 7, 8]]
DUPLICATE = np.eye(10)[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4]]


def found(name: str, *heads: np.ndarray, mask: np.ndarray | None = None, tokens: tuple[str, ...] = TWICE) -> Measured:
    return measured(trace_of(np.stack(heads), mask, tokens=tokens), METRICS[name].spec())


def test_the_score_of_an_induction_head_is_1_of_a_previous_token_or_identity_head_0() -> None:
    induction = found("induction", INDUCTION, PREVIOUS, np.eye(10), mask=CAUSAL)

    assert mean_over_queries(induction.values).tolist() == [1, 0, 0]


def test_queries_whose_word_was_not_said_before_do_not_hold_the_score_down() -> None:
    values = found("induction", INDUCTION, mask=CAUSAL).values[0]

    assert np.isnan(values).tolist() == [True] * 5 + [False] * 5
    assert found("induction", INDUCTION, mask=CAUSAL).uniform[0, 5:].tolist() == [1 / n for n in range(6, 11)]


def test_the_key_that_counts_is_t_minus_1_places_back_not_1() -> None:
    for back in range(1, 10):
        head = np.eye(10)[[max(query - back, 0) for query in range(10)]]

        score = mean_over_queries(found("induction", head, mask=CAUSAL).values).item()
        assert score == (1 if back == 4 else 0), back


def test_the_duplicate_token_score_counts_other_places_only() -> None:
    same = found("same_token", DUPLICATE, np.eye(10), mask=CAUSAL)

    np.testing.assert_array_equal(same.values[0], [np.nan] * 5 + [1] * 5)
    np.testing.assert_array_equal(same.values[1], [np.nan] * 5 + [0] * 5)
    assert found("same_token", DUPLICATE).values[0].tolist() == [0] * 5 + [1] * 5


@pytest.mark.parametrize("name", ["induction", "same_token"])
def test_without_a_word_that_comes_again_there_is_no_score(name: str) -> None:
    nothing = found(name, np.eye(10), tokens=tuple("abcdefghij"))

    assert np.isnan(nothing.values).all()
    assert np.isnan(nothing.uniform).all()


def test_words_of_queries_and_keys_of_two_texts_share_their_numbers() -> None:
    queries, keys = word_numbers(("Sat", "cat"), ("The", "cat", "sat"))

    assert [keys.tolist().index(number) for number in queries.tolist()] == [2, 1]
