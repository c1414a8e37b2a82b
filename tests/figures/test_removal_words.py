"""What is lost without heads, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attnviz import AttentionConfig, attend
from attnviz.figures import removal_words
from attnviz.metrics.contribution import Pruning, change_without, written
from attnviz.metrics.takeover import Takeover
from attnviz.metrics.together import Together

TRACE = attend(AttentionConfig(("<a>", "b", "c"), d_model=8, n_heads=2, projections="random"))


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_the_most_and_the_least_missed_head_are_named_beside_equal_heads() -> None:
    answer = removal_words.removal_answer(np.array([0.31, 0.004, 0.2, 0.2]), 0.5, ("sink", "", "", ""))

    assert plain(answer) == (
        "Removing head 0 (sink) changes the output most, by 31.0 %; head 1 least, by 0.400 %. For comparison, 4 heads "
        "of equal length at right angles would each give 50.0 %."
    )


def test_equal_changes_an_only_head_and_no_output_have_sentences_of_their_own() -> None:
    equal = removal_words.removal_answer(np.array([0.5, 0.5]), 0.7, ("", ""))

    assert plain(equal).startswith("Removing any one head changes the output by 50.0 %")
    assert plain(removal_words.removal_answer(np.ones(1), 1.0, ("",))) == (
        "Without its only head the output changes by 100 %."
    )
    assert removal_words.removal_answer(np.array([np.nan, np.nan]), float("nan"), ("", "")) == removal_words.NO_OUTPUT


def test_equal_heads_at_right_angles_are_together_as_long_as_these() -> None:
    assert removal_words.equal_heads(Together(1.0, 1.2, 0.0, 0.0), 4) == 0.5
    assert removal_words.equal_heads(Together(1.15, 1.2, 0.5, -0.5), 4) == 0.575


def test_how_many_heads_can_go_is_counted_from_the_curve() -> None:
    greedy, random = np.array([0.0, 0.02, 0.09, 1.0]), np.array([0.0, 0.2, 0.3, 1.0])
    found = Pruning(np.array([2, 0, 1]), greedy, greedy, random)

    assert plain(removal_words.pruning_answer(found)) == (
        "2 of 3 heads can go until the output has changed by 10.0 %; in random order 0. The first to go: 2, 0, 1."
    )
    many = replace(found, order=np.array([4, 2, 0, 1, 3]))
    assert removal_words.pruning_answer(many).endswith("The first four to go: 4, 2, 0, 1.")
    steep = replace(found, greedy=np.array([0.0, 0.4, 0.5, 1.0]))
    assert "No head can go without changing the output by more than 10.0 %" in plain(
        removal_words.pruning_answer(steep)
    )


def test_an_only_head_cannot_go() -> None:
    found = Pruning(np.array([0]), np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    assert plain(removal_words.pruning_answer(found)) == (
        "The only head cannot go: without it the output changes by 100 %."
    )


def test_a_takeover_without_loss_is_told_from_one_with_loss() -> None:
    equal = removal_words.takeover_words(Takeover(3, 2.0, 0.0), 1, 0.3, "zero")
    other = removal_words.takeover_words(Takeover(3, 1.1, 0.25), 1, 0.3, "mean")

    assert "head 3: it would do so with what it writes multiplied by 2.00, so it can be removed without loss" in equal
    assert "with what it writes less its mean over the queries multiplied by 1.10, and leaves" in other
    assert "leaves a change of 25.0 % where removing alone gives 30.0 %" in plain(other)
    assert removal_words.takeover_words(None, 1, 0.3, "zero") == ""


def test_what_is_off_now_is_said_with_the_change_and_the_cosine() -> None:
    change = change_without(written(TRACE), np.array([[True], [False]]))

    assert plain(removal_words.off_words(replace(change, relative=0.25, cosine=0.9), "it")) == (
        "Without it the output changes by 25.0 % (cosine 0.900)."
    )
    assert removal_words.off_words(replace(change, relative=float("nan")), "them") == (
        "The output is 0 with all heads on too."
    )


def test_where_the_curve_ends_is_explained_by_what_is_never_removed() -> None:
    longer, shorter = Together(1.15, 1.28, 0.5, -0.499), Together(0.9, 1.0, 0.4, -0.2)

    assert plain(removal_words.none_left_words(longer, "zero", has_bias=True)) == (
        "With no head left what remains is the bias b_O, 50.0 % as long as the output, and it points against what went "
        "(cosine −0.499), which is therefore longer than the output: a change of 115 %."
    )
    assert plain(removal_words.none_left_words(shorter, "mean", has_bias=True)) == (
        "With no head left what remains is the means of the heads and the bias b_O, 40.0 % as long as the output: a "
        "change of 90.0 %."
    )
    nothing = Together(1.0, 1.0, 0.0, float("nan"))
    assert plain(removal_words.none_left_words(nothing, "zero", has_bias=False)) == (
        "With no head left nothing remains: a change of 100 %."
    )
    assert removal_words.none_left_words(Together(*[float("nan")] * 4), "zero", has_bias=False) == ""


def test_heads_that_write_against_each_other_are_told_from_those_that_write_alike() -> None:
    against = removal_words.agreement_words(Together(0.5, 1.0, 0.0, 0.0), 4, "zero")

    assert against == (
        "Heads write in part against each other: ‖Σp_h‖ / √Σ‖p_h‖² = 0.500, which is 1 at right angles and √heads = "
        "2.00 where all write the same."
    )
    assert "in part with each other" in removal_words.agreement_words(Together(1.5, 1.0, 0.0, 0.0), 4, "zero")
    assert "nearly at right angles" in removal_words.agreement_words(Together(1.01, 1.0, 0.0, 0.0), 4, "zero")
    assert removal_words.agreement_words(Together(1.0, 1.0, 0.0, 0.0), 1, "zero") == ""
    less_means = removal_words.agreement_words(Together(0.5, 1.0, 0.0, 0.0), 4, "mean")
    assert less_means.startswith("Less their means, heads write in part against each other: ‖Σd_h‖ / √Σ‖d_h‖² = 0.500")


def test_a_change_of_more_than_the_output_is_explained_only_where_there_is_one() -> None:
    curve = np.array([0.0, 0.5, 1.0])
    found = Pruning(np.array([1, 0]), curve, curve, curve)

    assert removal_words.above_words(found) == ""
    above = removal_words.above_words(replace(found, random=np.array([0.0, 1.2, 1.0])))
    assert plain(above) == "Above 100 %: what went and what is left point against each other."


def test_the_heads_missed_most_are_named_with_their_layers_and_all_others_bounded() -> None:
    changes = np.array([[0.01, 0.02], [0.3, 0.01]])

    assert plain(removal_words.importance_answer(changes)) == (
        "Without head 1.0 the embedding changes by 30.0 %, without 0.1 by 2.00 %, without any one of the other 2 by at "
        "most 1.00 %; half of all 4 heads give less than 1.50 %, the mean is 8.50 %."
    )
    assert removal_words.importance_answer(np.zeros((2, 2))).startswith("No head changes the embedding")
