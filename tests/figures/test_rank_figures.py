"""The pictures and sentences of how many directions heads use, and of what their number changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnviz import AttentionConfig, attend
from attnviz.figures import rank_words
from attnviz.figures.spectrum import rank_panel, spectrum_lines
from attnviz.figures.sweep import Series, sweep_lines
from attnviz.figures.theme import LIGHT
from attnviz.metrics.spectra import LayerSpectra, Spectra, layer_spectra
from attnviz.numbers import THIN_SPACE
from attnviz.registries import MASKS

EPS = float(np.finfo(np.float64).eps)
CONFIG = AttentionConfig(tuple("abcdefgh"), d_model=16, n_heads=4, projections="random")


def spectra_of(*rows: list[float]) -> Spectra:
    return Spectra(np.array(rows), (len(rows[0]), len(rows[0])), EPS)


def layer(scores: list[float], weights: list[float], uniform: list[float]) -> LayerSpectra:
    return LayerSpectra(spectra_of(scores), spectra_of(weights), spectra_of(uniform), len(weights))


def test_each_line_holds_the_shares_of_the_largest_and_ends_where_only_rounding_is_left() -> None:
    found = layer([4.0, 2.0, 0.0], [1.0, 0.5, 0.1], [1.0, 0.0, 0.0])

    picture = spectrum_lines(
        *(part.shares()[0] for part in (found.scores, found.weights, found.uniform)), most=2, most_name="d_head = 2"
    )

    mark, uniform, weights, scores = picture.data
    np.testing.assert_array_equal(scores.y, [1, 0.5, np.nan])
    np.testing.assert_array_equal(weights.y, [1, 0.5, 0.1])
    np.testing.assert_array_equal(uniform.y, [1, np.nan, np.nan])
    assert scores.x.tolist() == [1, 2, 3]
    assert mark.name == "d_head = 2"
    assert mark.x.tolist() == [2, 2]
    assert picture.layout.yaxis.range == (-2.0, 0.15)
    assert picture.layout.yaxis.ticktext == ("1", "10⁻¹", "10⁻²")


def test_many_singular_values_are_lines_on_a_logarithmic_axis() -> None:
    picture = spectrum_lines(np.ones(2), np.linspace(1, 0.1, 100), np.ones(100), most=2, most_name="d_head = 2")

    assert picture.layout.xaxis.type == "log"
    assert picture.layout.xaxis.tickvals == (1, 2, 4, 8, 16, 32, 64)
    assert [trace.mode for trace in picture.data] == ["lines", "lines", "lines", "lines+markers"]


def test_the_ranks_of_all_heads_stand_beside_the_uniform_heads_and_the_limit() -> None:
    picture = rank_panel(
        np.array([2.0, np.nan]),
        np.array([5.0, 1.0]),
        np.array([1.0]),
        ["sink", "uniform"],
        most=4,
        most_name="d_head = 4",
        selected=1,
    )

    mark, change, uniform, weights, scores = picture.data
    np.testing.assert_array_equal(scores.x, [2, np.nan])
    assert weights.x.tolist() == [5, 1]
    assert uniform.x.tolist() == [1, 1]
    assert mark.x.tolist() == [4, 4]
    np.testing.assert_array_equal(change.x, [2, 5, np.nan, np.nan, 1, np.nan])
    assert picture.layout.yaxis.ticktext == ("0 sink", "1 uniform")
    assert picture.layout.meta["ticks"]["strong"] == 1
    assert picture.layout.xaxis.range[1] > 5
    assert [one.meta for one in (uniform, weights, scores)] == [{"click": "head"}] * 3


def test_lines_over_the_number_of_heads_mark_the_present_one() -> None:
    series = {"scores": Series(np.array([8.0, 4, 2, 1]), LIGHT.mark)}

    picture = sweep_lines([1, 2, 4, 8], series, present=4, name="rank", is_doubling=True)

    mark, scores = picture.data
    assert mark.name == "now: 4"
    assert mark.x.tolist() == [4, 4]
    assert scores.x.tolist() == [1, 2, 4, 8]
    assert scores.y.tolist() == [8, 4, 2, 1]
    assert picture.layout.xaxis.tickvals == (1, 2, 4, 8)
    low, high = picture.layout.yaxis.range
    assert 10**low < 1 < 8 < 10**high


def test_shares_over_the_number_of_heads_go_from_0_to_1() -> None:
    picture = sweep_lines([1, 2], {"a": Series(np.array([np.nan, 0.5]), LIGHT.mark)}, present=1, name="cosine")

    assert picture.layout.yaxis.range == (-0.03, 1.04)
    assert picture.layout.yaxis.type is None


def test_many_numbers_of_heads_have_few_labels() -> None:
    counts = [2**power for power in range(12)]

    picture = sweep_lines(counts, {"a": Series(np.ones(12), LIGHT.mark)}, present=1, name="cosine")

    assert picture.layout.xaxis.ticktext == ("1", "4", "16", "64", "256", "1024")


def test_the_answer_counts_the_directions_before_and_after_the_softmax_beside_the_uniform_heads() -> None:
    found = layer([4.0, 2.0, 0.0, 0.0], [1.0, 0.5, 0.1, 0.1], [1.0, 0.0, 0.0, 0.0])

    answer = rank_words.rank_answer(found, 0, ["sink"], 2, "d_head = 2")

    assert answer == (
        "Head 0 (sink) uses 2 directions before the softmax (d_head = 2 is the most) and 4 of 4 after it; "
        f"90{THIN_SPACE}% of the sum of its squared weights lies in 2. A head uniform over the allowed keys uses 1."
    )


def test_fewer_tokens_than_columns_are_named_as_the_limit() -> None:
    found = layer([4.0, 2.0], [1.0, 0.5], [1.0, 0.0])

    assert rank_words.limit(8, 2, 2) == (2, "2 keys")
    assert rank_words.limit(8, 3, 5) == (3, "3 queries")
    assert "(2 is the most, with 2 keys)" in rank_words.rank_answer(found, 0, [""], 2, "2 keys")


def test_a_head_whose_scores_are_all_0_uses_no_direction() -> None:
    answer = rank_words.rank_answer(layer([0.0, 0.0], [1.0, 0.0], [1.0, 0.0]), 0, [""], 2, "d_head = 2")

    assert answer.startswith(
        "Head 0 has scores of 0 only, so it uses no direction before the softmax and 1 of 2 after it; "
    )


def test_without_any_allowed_key_no_direction_of_the_weights_is_counted() -> None:
    answer = rank_words.rank_answer(layer([1.0, 0.0], [0.0, 0.0], [0.0, 0.0]), 0, [""], 2, "d_head = 2")

    assert answer.endswith("(d_head = 2 is the most); no query has a key it may attend to.")


@pytest.mark.parametrize(
    ("scores", "weights", "words"),
    [
        (
            [2.0, 2.0],
            [4.0, 6.0],
            "The softmax raises the effective rank of 2 of 2 heads: from 2.00 to 5.00 on average.",
        ),
        (
            [4.0, 4.0],
            [1.0, 2.0],
            "The softmax lowers the effective rank of 2 of 2 heads: from 4.00 to 1.50 on average.",
        ),
        ([1.0, 4.0], [2.0, 3.0], "raises the effective rank of 1 of 2 heads, and lowers that of 1: from 2.50 to 2.50"),
        ([np.nan, 2.0], [1.0, 4.0], "The softmax raises the effective rank of 1 of 1 head: from 2.00 to 4.00"),
        ([np.nan, np.nan], [1.0, 1.0], "No head has scores other than 0. A uniform head's effective rank is 1.00."),
    ],
)
def test_the_answer_says_how_many_heads_the_softmax_raises(
    scores: list[float], weights: list[float], words: str
) -> None:
    answer = rank_words.ranks_answer(np.array(scores), np.array(weights), np.array([1.0]), 8, "d_head = 8")

    assert words in answer


def test_the_caption_says_when_only_the_first_queries_are_taken() -> None:
    found = layer([1.0, 0.0], [1.0, 0.0], [1.0, 0.0])

    assert "Weights: of" not in rank_words.rank_caption(found, 2)
    assert rank_words.rank_caption(found, 2048).endswith(f"Weights: of the first 2 of 2{THIN_SPACE}048 queries.")


def test_alt_texts_list_the_numbers() -> None:
    found = layer([4.0, 2.0], [1.0, 0.5], [1.0, 0.0])

    assert rank_words.spectrum_alt(found, 0).endswith(
        "scores: 2 values, 1.00, 0.500; weights: 2 values, 1.00, 0.500; a uniform head: 1 value, 1.00."
    )
    assert rank_words.ranks_alt(np.array([2.0]), np.array([3.5])).endswith("head 0 2.00 and 3.50.")


def test_sentences_hold_for_layers_of_any_mask() -> None:
    for name in MASKS.names("Structure"):
        trace = attend(replace(CONFIG, masks=(MASKS[name].spec(),)))
        found = layer_spectra(trace)
        most, most_name = rank_words.limit(trace.d_head, trace.n_q, trace.n_k)

        answer = rank_words.rank_answer(found, 1, [""] * 4, most, most_name)

        assert answer.startswith("Head 1 uses 4 directions before the softmax (d_head = 4 is the most)"), name
    assert "head 3" in rank_words.ranks_alt(np.ones(4), np.ones(4))


def test_many_heads_are_drawn_with_small_marks_and_numbers_only() -> None:
    found = np.full(40, 2.0)

    picture = rank_panel(found, found, np.ones(1), ["x"] * 40, most=2, most_name="d_head = 2", selected=0)

    assert picture.data[-1].marker.size == 5
    assert picture.layout.yaxis.ticktext[:2] == ("0", "2")
