"""What is lost without heads, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attnviz import AttentionConfig, attend
from attnviz.figures import gate_words, removal_words
from attnviz.metrics.adaptive import adaptive
from attnviz.metrics.contribution import Pruning, change_without, written
from attnviz.metrics.takeover import Takeover

TRACE = attend(AttentionConfig(("<a>", "b", "c"), d_model=8, n_heads=2, projections="random"))


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_the_most_and_the_least_missed_head_are_named_beside_equal_heads() -> None:
    answer = removal_words.removal_answer(np.array([0.31, 0.004, 0.2, 0.2]), ("sink", "", "", ""))

    assert plain(answer) == (
        "Removing head 0 (sink) changes the output most, by 31.0 %; head 1 least, by 0.400 %. For comparison, 4 heads "
        "of equal length at right angles would each give 50.0 %."
    )


def test_equal_changes_an_only_head_and_no_output_have_sentences_of_their_own() -> None:
    equal = removal_words.removal_answer(np.array([0.5, 0.5]), ("", ""))

    assert plain(equal).startswith("Removing any one head changes the output by 50.0 %")
    assert plain(removal_words.removal_answer(np.ones(1), ("",))) == (
        "Without its only head the output changes by 100 %."
    )
    assert removal_words.removal_answer(np.array([np.nan, np.nan]), ("", "")) == removal_words.NO_OUTPUT


def test_how_many_heads_can_go_is_counted_from_the_curve() -> None:
    greedy, random = np.array([0.0, 0.02, 0.09, 1.0]), np.array([0.0, 0.2, 0.3, 1.0])
    found = Pruning(np.array([2, 0, 1]), greedy, greedy, random)

    assert plain(removal_words.pruning_answer(found)) == (
        "2 of 3 heads can go until the output has changed by 10.0 %; in random order 0. The first to go: 2, 0, 1."
    )
    steep = replace(found, greedy=np.array([0.0, 0.4, 0.5, 1.0]))
    assert "No head can go without changing the output by more than 10.0 %" in plain(
        removal_words.pruning_answer(steep)
    )


def test_a_takeover_without_loss_is_told_from_one_with_loss() -> None:
    equal = removal_words.takeover_words(Takeover(3, 2.0, 0.0), 1, 0.3)
    other = removal_words.takeover_words(Takeover(3, 1.1, 0.25), 1, 0.3)

    assert "head 3: it would do so with what it writes multiplied by 2.00, so it can be removed without loss" in equal
    assert "leaves a change of 25.0 % where removing alone gives 30.0 %" in plain(other)
    assert removal_words.takeover_words(None, 1, 0.3) == ""


def test_what_is_off_now_is_said_with_what_stands_in() -> None:
    change = change_without(written(TRACE), np.array([[True], [False]]))

    words = plain(removal_words.off_words(change, (1,), "mean"))

    assert words.startswith("Now head 1 of this layer is off, its mean over the queries instead: its output changes by")
    assert removal_words.off_words(change, (), "zero") == ""


def test_the_most_missed_head_of_a_model_is_named_with_its_layer() -> None:
    changes = np.array([[0.01, 0.02], [0.3, 0.01]])

    assert removal_words.importance_answer(changes) == (
        "Missed most: head 1.0, 0.300. Mean of all 4 heads: 0.0850; 3 of them are below half of it."
    )


def test_heads_of_tokens_are_counted_in_words() -> None:
    found = adaptive(written(TRACE), 1.0, "query")

    answer = plain(gate_words.gates_answer(found, 1.0, "query"))

    assert answer == (
        "On average 2.00 of 2 heads hold 100 % of what is written; the output changes by 0 %, cosine 1.00. With all "
        "2 heads it would not change."
    )
    assert gate_words.tokens_words(found, TRACE.query_tokens) == "Every token uses 2 heads."
    uneven = replace(found, keeps=np.array([[True, True, False], [True, False, True]]))
    assert gate_words.tokens_words(uneven, TRACE.query_tokens) == (
        "Most: “<a>” (query 0), 2 heads. Fewest: “b” (query 1), 1."
    )
