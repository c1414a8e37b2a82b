"""The picture of all pairs of heads, and its words."""

from __future__ import annotations

import numpy as np

from attnviz.figures import pair_map, pair_words
from attnviz.figures.theme import LIGHT
from attnviz.metrics.alike import Alike
from attnviz.metrics.contrast import by_pair
from attnviz.numbers import THIN_SPACE
from attnviz.picks import HeadAt

MAPS = Alike(np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.1], [0.5, 0.1, 1.0]]), np.array([0.2, 0.4, 0.6]))
OUTPUTS = Alike(np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.8], [0.5, 0.8, 1.0]]), np.full(3, 0.3))
SAME = Alike(np.ones((3, 3)), np.full(3, np.nan))
NAMES = ("0 sink", "1", "2")
AT = [HeadAt(0, 0), HeadAt(0, 1), HeadAt(5, 11)]


def by_name(picture) -> dict[str, object]:
    return {trace.name: trace for trace in picture.data}


def test_every_pair_is_a_dot_that_can_be_clicked_and_the_two_that_contrast_are_marked() -> None:
    found = by_name(pair_map(by_pair(MAPS, OUTPUTS), AT, selected=2, has_layers=True))

    dots = found["pairs of heads"]
    np.testing.assert_allclose(dots.x, [0.9, 0.5, 0.1], rtol=1e-6)
    np.testing.assert_allclose(dots.y, [0.1, 0.5, 0.8], rtol=1e-6)
    assert dots.meta == {"click": "head"}
    assert dots.customdata.tolist() == [[0, 0, 0, 1], [0, 0, 5, 11], [0, 1, 5, 11]]
    assert dots.hovertemplate.startswith(
        "heads %{customdata[0]}.%{customdata[1]} and %{customdata[2]}.%{customdata[3]}"
    )
    np.testing.assert_allclose(found["those of the chosen head"].x, [0.5, 0.1], rtol=1e-6)
    rings = found["A and B, the largest contrasts"]
    np.testing.assert_allclose(rings.x, [0.9, 0.1], rtol=1e-6)
    assert rings.marker.color == LIGHT.accent
    assert [text.strip() for text in found["names"].text] == ["A", "B"]


def test_both_baselines_are_lines_across_the_picture() -> None:
    picture = pair_map(by_pair(MAPS, OUTPUTS), AT, selected=0)

    lines = by_name(picture)["baselines"]
    across, up = picture.layout.xaxis.range, picture.layout.yaxis.range
    np.testing.assert_allclose(lines.x, [0.4, 0.4, np.nan, *across], rtol=1e-6)
    np.testing.assert_allclose(lines.y, [*up, np.nan, 0.3, 0.3], rtol=1e-6)
    assert across[0] < 0 < 0.9 < across[1]
    assert by_name(picture)["pairs of heads"].hovertemplate.startswith("heads %{customdata[1]} and %{customdata[3]}")


def test_where_no_pair_contrasts_none_is_marked() -> None:
    found = by_name(pair_map(by_pair(SAME, SAME), AT, selected=0))

    assert set(found) == {"baselines", "pairs of heads", "those of the chosen head"}
    assert np.isnan(found["baselines"].x[:2]).all()


def test_the_answer_says_how_far_looks_tell_and_names_both_numbers_of_both_pairs() -> None:
    answer = pair_words.pair_answer(by_pair(MAPS, OUTPUTS), NAMES)

    assert answer.replace(THIN_SPACE, " ") == (
        "Rather the reverse: rank correlation −1.00 over 3 pairs (1: the more alike two heads look, the more alike "
        "they write; 0: one says nothing of the other). A: heads 0 (sink) and 1 look more alike than 100 % of the "
        "other pairs (cosine of maps 0.900), yet write less alike than 100 % (CKA of outputs 0.100). B, the "
        "reverse: heads 1 and 2 look less alike than 100 % (cosine 0.100), yet write more alike than 100 % (CKA "
        "0.800). Baselines: cosine 0.400, CKA 0.300."
    )
    assert pair_words.pair_alt(by_pair(MAPS, OUTPUTS)) == (
        "3 pairs of heads as points: cosine of maps from 0.100 to 0.900, CKA of outputs from 0.100 to 0.800."
    )


def test_outputs_that_follow_the_maps_are_said_to_do_so() -> None:
    assert pair_words.pair_answer(by_pair(MAPS, MAPS), NAMES).startswith("Mostly: rank correlation 1.00 over 3 pairs")


def test_what_is_the_same_for_all_pairs_has_no_correlation() -> None:
    same_outputs = pair_words.pair_answer(by_pair(MAPS, SAME), NAMES)
    same_maps = pair_words.pair_answer(by_pair(SAME, OUTPUTS), NAMES)

    assert same_outputs == "All pairs write equally alike (CKA of outputs 1.00). Baseline: cosine 0.400."
    assert same_maps == "All pairs look equally alike (cosine of maps 1.00). Baseline: CKA 0.300."


def test_heads_that_are_left_out_are_named_with_the_reason() -> None:
    pairs = OUTPUTS.pairs.copy()
    pairs[0] = pairs[:, 0] = np.nan
    outputs = Alike(pairs, np.array([np.nan, 0.3, 0.3]), reason="writes the same for every query")

    answer = pair_words.pair_answer(by_pair(MAPS, outputs), NAMES)

    assert answer == (
        "There is one pair: cosine of maps 0.100, CKA of outputs 0.800. Baselines: cosine 0.500, CKA 0.300. Head 0 "
        "(sink) writes the same for every query: it has no CKA and is left out."
    )
    pairs[1] = pairs[:, 1] = np.nan
    none = by_pair(MAPS, Alike(pairs, np.full(3, np.nan), reason="writes the same for every query"))
    assert pair_words.left_out_answer(none, NAMES) == (
        "Each of heads 0 (sink) and 1 writes the same for every query: they have no CKA and are left out."
    )
    assert pair_words.left_out_answer(by_pair(MAPS, OUTPUTS), NAMES) == ""


def test_a_single_pair_has_its_two_numbers() -> None:
    maps, outputs = (Alike(one.pairs[:2, :2], one.uniform[:2]) for one in (MAPS, OUTPUTS))

    answer = pair_words.pair_answer(by_pair(maps, outputs), NAMES[:2])

    assert answer == (
        "There is one pair: cosine of maps 0.900, CKA of outputs 0.100. Baselines: cosine 0.300, CKA 0.300."
    )
