"""Heads that tokens and layers use, in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attnviz import AttentionConfig, attend
from attnviz.figures import gate_words, layer_bars
from attnviz.metrics.adaptive import Costs, GatedModel, adaptive
from attnviz.metrics.contribution import written

TRACE = attend(AttentionConfig(("<a>", "b", "c"), d_model=8, n_heads=2, projections="random"))
ALL = adaptive(written(TRACE), 1.0, "query")
UNEVEN = replace(
    ALL,
    keeps=np.array([[True, True, False], [True, False, True]]),
    shares=np.array([[0.5, 0.75, 0.25], [0.5, 0.25, 0.75]]),
    change=replace(ALL.change, relative=0.25, cosine=0.9, at=np.array([0.0, 0.3, 0.4])),
    at_random=0.5,
)
ONE = replace(UNEVEN, keeps=np.array([[True], [False]]))


def plain(text: str) -> str:
    return text.replace("\u202f", " ")


def test_what_is_lost_is_said_beside_as_many_heads_at_random() -> None:
    assert plain(gate_words.gates_answer(UNEVEN, 0.5)) == (
        "On average 1.33 of 2 heads hold 50 % of what is written. Without the others the output changes by 25.0 %, "
        "cosine 0.900; without as many at random by 50.0 %."
    )
    assert plain(gate_words.gates_answer(ONE, 0.5)).startswith("1 of 2 heads holds 50 % of what is written")
    assert plain(gate_words.gates_answer(ALL, 1.0)) == (
        "2 of 2 heads hold 100 % of what is written: all are on, and the output does not change."
    )


def test_heads_for_a_half_and_nine_tenths_are_counted_and_an_only_head_has_a_sentence_of_its_own() -> None:
    curve = np.array([0.5, 0.9])
    found = Costs(curve, np.array([1.0, 1.5]), np.array([0.4, 0.1]))

    assert plain(gate_words.costs_answer(found, 2)) == (
        "Holding 50 % takes 1 head and changes the output by 40.0 %; 90 % takes 1.50 heads and changes the output by "
        "10.0 %. All 2 change nothing."
    )
    assert gate_words.costs_answer(found, 1).startswith("The only head holds all")


def test_heads_of_tokens_are_counted_in_words() -> None:
    assert gate_words.tokens_words(ALL, TRACE.query_tokens) == "Every token uses 2 heads."
    assert gate_words.tokens_words(UNEVEN, TRACE.query_tokens) == (
        "Most: 2 heads, for “<a>” (query 0). Fewest: 1, for 2 tokens, the first “b” (query 1)."
    )


def test_of_one_token_alone_there_is_nothing_to_compare() -> None:
    one = replace(UNEVEN, keeps=UNEVEN.keeps[:, :1], shares=UNEVEN.shares[:, :1])

    assert gate_words.tokens_words(one, ("a",)) == ""


def test_the_heads_of_one_query_are_named_with_their_shares_the_largest_first() -> None:
    assert plain(gate_words.query_words(UNEVEN, 2, TRACE.query_tokens)) == (
        "Query 2 “c” uses 1 head, together 75.0 % of what is written for it: 1 (75.0 %). Its output changes by 40.0 %."
    )
    nothing = replace(UNEVEN, shares=np.zeros((2, 3)))
    assert "has no key" in gate_words.query_words(nothing, 1, TRACE.query_tokens)


def test_layers_with_most_and_fewest_heads_are_named_beside_the_total() -> None:
    assert plain(gate_words.layers_answer([UNEVEN, ALL], 0.5)) == (
        "To hold 50 % of what is written in every layer, on average 3.33 of 4 heads are on: most in layer 1, 2, fewest "
        "in layer 0, 1.33."
    )
    assert plain(gate_words.layers_answer([ONE, ONE], 0.5)) == (
        "To hold 50 % of what is written in every layer, 2 of 4 heads are on, 1 in each layer."
    )


def test_what_layers_lose_is_said_beside_heads_at_random() -> None:
    less = replace(UNEVEN, change=replace(UNEVEN.change, relative=0.1), at_random=0.2)

    assert plain(gate_words.lost_answer([less, UNEVEN])) == (
        "Each layer’s output changes, that of layer 1 most, by 25.0 % (as many at random: 50.0 %), that of layer 0 "
        "least, by 10.0 % (as many at random: 20.0 %)."
    )
    assert gate_words.lost_answer([ALL, ALL]) == "All heads are on in every layer: no output changes."


def test_the_model_with_all_gates_is_said_beside_random_ones_and_those_set_anew() -> None:
    words = plain(gate_words.model_words(GatedModel(0.02, 0.09, 0.03, 46.5), 72))

    assert "change the embedding of the text by 2.00 % (1 − cosine); as many for each token drawn at random" in words
    assert "change it by 9.00 %" in words
    assert words.endswith("46.5 of 72 are on, and the embedding changes by 3.00 %.")
    assert gate_words.model_words(GatedModel(0.0, 0.0, 0.0, 72.0), 72).startswith("All heads of the model are on")


def test_a_bar_of_a_layer_is_its_change_and_stands_beside_as_many_heads_at_random() -> None:
    picture = layer_bars(np.array([0.4, 0.2]), np.array([0.6, 0.5]), ["8", "7.25"], selected=1)
    bars, random = picture.data

    np.testing.assert_allclose(bars.x, [40, 20], rtol=1e-6)
    np.testing.assert_allclose(random.x, [60, 50], rtol=1e-6)
    assert bars.meta == {"click": "head"}
    assert list(picture.layout.yaxis.ticktext) == ["layer 0 · 8", "layer 1 · 7.25"]
