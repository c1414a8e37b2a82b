"""The sentences on what the number of heads changes say what the numbers say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from attnviz import AttentionConfig
from attnviz.figures import sweep_words
from attnviz.metrics.sweep import LeftOut, Sweep, SweepPoint, sweep
from attnviz.numbers import THIN_SPACE

CONFIG = AttentionConfig(tuple("abcdefgh"), d_model=16, n_heads=4, projections="random")


def point(n_heads: int, **changed: float) -> SweepPoint:
    (made,) = [one for one in sweep(CONFIG).points if one.n_heads == n_heads]
    return replace(made, **changed)


def of(*points: SweepPoint) -> Sweep:
    return Sweep(points, (), 8, 8)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.2, 0.4, 0.4, 0.9], "rises from 0.200 with 1 head to 0.900 with 8"),
        ([0.9, 0.4, 0.4, 0.2], "falls from 0.900 with 1 head to 0.200 with 8"),
        ([0.5, 0.503, 0.5, 0.501], "stays about 0.500"),
        (
            [0.2, 0.9, 0.4, 0.5],
            "goes from 0.200 with 1 head to 0.500 with 8, up and down on the way: highest with 2 (0.900)",
        ),
        (
            [0.7, 0.6, 0.3, 0.8],
            "goes from 0.700 with 1 head to 0.800 with 8, up and down on the way: lowest with 4 (0.300)",
        ),
        (
            [0.5, 0.9, 0.1, 0.5],
            "goes from 0.500 with 1 head to 0.500 with 8, up and down on the way: lowest with 4 (0.100) and highest "
            "with 2 (0.900)",
        ),
        ([0.1, 0.5, 0.3, 0.9], "goes from 0.100 with 1 head to 0.900 with 8, up and down on the way"),
    ],
)
def test_a_course_that_turns_is_never_called_a_rise_or_a_fall(values: list[float], said: str) -> None:
    assert sweep_words.course(list(zip((1, 2, 4, 8), values, strict=True))) == said


def test_the_answers_tell_the_trade_off() -> None:
    few = point(2, score_effective_rank=8, weight_effective_rank=6, mean_cosine=0.3, entropy_share=0.2)
    middle = point(8, score_effective_rank=4, weight_effective_rank=7, mean_cosine=0.8, entropy_share=0.1)
    many = replace(
        point(16, score_effective_rank=1, weight_effective_rank=2, mean_cosine=0.6, entropy_share=0.9),
        n_alike_pairs=3,
        uniform_effective_rank=1.0,
    )
    found = of(few, middle, many)

    assert sweep_words.rank_answer(found) == (
        "From 2 to 16 heads the effective rank of a head's scores falls from 8.00 to 1.00; that of its weights goes "
        "from 6.00 to 2.00, up and down on the way: highest with 8 (7.00); a uniform head has 1.00. The "
        f"parameters stay 1{THIN_SPACE}024."
    )
    assert sweep_words.alike_answer(found) == (
        "The mean cosine of two heads goes from 0.300 with 2 heads to 0.600 with 16, up and down on the way: "
        "highest with 8 (0.800). With 16 heads 3 of 120 pairs lie above 0.9. Uniform heads: 1."
    )
    assert sweep_words.entropy_answer(found).startswith(
        f"Sharpest with 8 heads: 10.0{THIN_SPACE}% of the largest entropy; broadest with 16 heads: 90.0{THIN_SPACE}%."
    )


def test_the_answers_of_a_sweep_of_one_number_do_not_compare() -> None:
    assert sweep_words.rank_answer(of(point(1))) == f"Only 1 head can be computed: 1{THIN_SPACE}024 parameters."
    assert sweep_words.alike_answer(of(point(1))) == "One head has no other to be compared with."
    alone = replace(point(2, mean_cosine=0.95), n_alike_pairs=1)
    assert sweep_words.alike_answer(of(alone)) == (
        "With 2 heads the mean cosine is 0.950 and 1 of 1 pair lies above 0.9. Uniform heads: 1."
    )


def test_where_nothing_changes_the_answers_say_so() -> None:
    same = [
        point(n_heads, mean_cosine=0.5, entropy_share=0.5, score_effective_rank=1, weight_effective_rank=1)
        for n_heads in (2, 4)
    ]

    assert sweep_words.alike_answer(of(*same)).startswith("The mean cosine of two heads stays about 0.500. ")
    assert sweep_words.entropy_answer(of(*same)).startswith("The entropy stays 50.0")
    assert (
        "scores stays about 1.00; that of its weights stays about 1.00; a uniform head has "
        in sweep_words.rank_answer(of(*same))
    )
    undefined = of(point(2, entropy_share=math.nan))
    assert sweep_words.entropy_answer(undefined) == (
        "The entropy is not defined: no query has two keys it may attend to."
    )


def test_the_caption_says_what_was_cut_and_left_out() -> None:
    found = Sweep((point(1),), (LeftOut(64, "`d_head` must be even."),), 8, 8)

    caption = sweep_words.caption(found, "random", 100, 100)

    assert "The same random W_Q, W_K, W_V and W_O are cut into more heads." in caption
    assert caption.endswith("the first 8 tokens are taken. Left out, 64 heads: d_head must be even.")
    assert "designed anew for each number" in sweep_words.caption(found, "designed", 8, 8)
    assert sweep_words.cut(found, 8, 8) == ""


def test_heads_that_a_mean_or_the_axis_leaves_out_are_told() -> None:
    whole = of(point(2), point(4))
    assert (sweep_words.without_entropy(whole), sweep_words.below_the_axis(whole)) == ("", "")
    some = of(point(2, n_with_entropy=1), point(4, score_effective_rank=0.0), point(8, n_with_entropy=5))
    assert sweep_words.without_entropy(some) == (
        " (entropy: without 1 of 2, 3 of 8, which have no query with two keys)"
    )
    assert sweep_words.without_entropy(of(point(2, n_with_entropy=0))) == "", "the answer says that it is not defined"
    assert sweep_words.below_the_axis(some) == " The scores of all heads are 0 with 4: 0 has no place on this axis."
