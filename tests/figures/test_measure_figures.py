"""Pictures of measures: the map of all layers, the distribution over offsets, what keys receive; and their words."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures import layer_map, measure_words, offset_bars, received_map
from attnviz.figures.received import received_beyond
from attnviz.figures.theme import SINGLE_HUE
from attnviz.metrics import survey
from attnviz.metrics.offsets import Offsets, offsets_of
from attnviz.numbers import THIN_SPACE
from attnviz.picks import HeadAt
from tests.figures.traces import numbered, trace_of
from tests.reference import golden

CAUSAL_4 = np.tril(np.ones((4, 4), dtype=bool))
PREVIOUS = np.eye(4)[[0, 0, 1, 2]]
FIRST = np.eye(4)[[0, 0, 0, 0]]
MEANS = np.array([[0.5, 0.2], [np.nan, 0.9]])
UNIFORM = np.array([0.25, 0.25])
EVEN = np.full((2, 2), 0.25)
ROLES = (("", "sink"), ("", "previous token"))


def test_the_map_of_all_layers_has_the_uniform_head_in_a_column_apart() -> None:
    picture = layer_map(MEANS, UNIFORM, selected=HeadAt(1, 0), name="Top mass", scale=SINGLE_HUE)

    heatmap, above = picture.data
    np.testing.assert_allclose(heatmap.z, [[0.5, 0.2, np.nan, 0.25], [np.nan, 0.9, np.nan, 0.25]], rtol=1e-6)
    assert (heatmap.zmin, heatmap.zmax) == (0, 0.9)
    assert (above.text, above.textposition) == (("uniform",), "middle left")
    assert 3 < above.x[0] < 3.5, "in its column, so that the word ends there"
    assert picture.layout.yaxis.range[1] < above.y[0] < -0.5, "above the cells"
    assert picture.layout.xaxis.ticktext == ("0", "1")
    assert picture.layout.xaxis.tickvals == (0, 1)
    (frame,) = picture.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (-0.5, 0.5, 0.5, 1.5)
    cells = picture.layout.meta["cells"]
    assert cells["rows"] == ("layer 0", "layer 1")
    assert cells["columns"] == ("head 0", "head 1", "", "the uniform head")


def test_rows_beside_a_map_with_the_uniform_head_are_as_high_as_its_rows() -> None:
    chosen = HeadAt(0, 0)
    with_uniform, beside, alone = (
        layer_map(MEANS, uniform, selected=chosen, name="", scale=SINGLE_HUE, beside_uniform=is_beside).layout
        for uniform, is_beside in ((UNIFORM, False), (None, True), (None, False))
    )

    assert (beside.yaxis.range, beside.height) == (with_uniform.yaxis.range, with_uniform.height)
    assert beside.xaxis.range == alone.xaxis.range == (-0.5, 1.5)
    assert alone.yaxis.range == (1.5, -0.5)


def test_a_measure_that_can_be_negative_is_drawn_on_a_scale_symmetric_about_0() -> None:
    picture = layer_map(MEANS - 1, UNIFORM, selected=HeadAt(0, 0), name="back", scale=SINGLE_HUE)

    assert (picture.data[0].zmin, picture.data[0].zmax) == (-0.8, 0.8)


def test_the_map_of_all_layers_names_the_highest_and_the_lowest_head_beside_the_uniform_one() -> None:
    assert measure_words.layer_map_answer(MEANS, EVEN, ROLES, "bits") == (
        "Highest: head 1.1 (previous token), 0.900 bits. Lowest: head 0.1 (sink), 0.200 bits. For comparison, a head "
        "that spreads its attention evenly over the allowed keys has 0.250 bits."
    )
    same = measure_words.layer_map_answer(np.ones((2, 2)), EVEN, ROLES, "")
    assert same.startswith("Every head has 1.00; a head that spreads")
    assert measure_words.layer_map_alt(MEANS, "Top mass") == (
        "Heatmap of Top mass, 2 layers (rows) by 2 heads (columns): from 0.200 to 0.900."
    )


def test_where_heads_have_baselines_of_their_own_each_named_head_has_its_own_beside_it() -> None:
    own = np.array([[0.1, 0.2], [np.nan, 0.4]])

    assert measure_words.layer_map_answer(MEANS, own, ROLES, "") == (
        "Highest: head 1.1 (previous token), 0.900 (spread evenly 0.400). Lowest: head 0.1 (sink), 0.200 (spread "
        "evenly 0.200). For comparison, heads that spread their attention evenly over the allowed keys have 0.100 to "
        "0.400."
    )


def test_a_measure_that_tells_no_heads_apart_is_said_to_tell_nothing() -> None:
    assert measure_words.layer_map_answer(EVEN, EVEN, ROLES, "bits") == (
        "Every head has 0.250 bits, and so has a head that spreads its attention evenly over the allowed keys: the "
        "measure tells nothing here."
    )


def test_a_measure_that_is_nowhere_defined_is_said_to_be_so() -> None:
    nothing = np.full((2, 2), np.nan)

    assert measure_words.layer_map_answer(nothing, EVEN, ROLES, "") == (
        "It is not defined for any query of this setting."
    )
    assert measure_words.layer_map_alt(nothing, "Induction").endswith("without a number.")
    picture = layer_map(nothing, nothing[0], selected=HeadAt(0, 0), name="Induction", scale=SINGLE_HUE)
    assert picture.data[0].zmax == 1


def test_bars_of_offsets_stop_where_no_head_looks() -> None:
    bars, even = offset_bars(offsets_of(trace_of(np.stack([PREVIOUS]), CAUSAL_4), 0)).data

    assert bars.type == "bar"
    assert bars.x.tolist() == [-3, -2, -1, 0]
    assert bars.y.tolist() == [0, 0, 75, 25]
    np.testing.assert_allclose(even.y, 100 * np.array([3, 7, 13, 25]) / 48, rtol=1e-6)


def test_of_many_offsets_neighbours_are_summed_and_nothing_is_lost() -> None:
    n = 3001
    offsets = np.arange(-n + 1, n)
    share = np.random.default_rng(0).random(len(offsets))
    found = Offsets(offsets, share / share.sum(), np.full(len(offsets), 1 / len(offsets)))

    picture = offset_bars(found)

    line, even = picture.data
    assert line.mode == "lines"
    assert len(line.x) <= 512
    assert float(line.y.sum()) == pytest.approx(100, rel=1e-4)
    assert float(even.y.sum()) == pytest.approx(100, rel=1e-4)
    assert "per 12 offsets" in picture.layout.yaxis.title.text


def test_the_answer_tells_two_heads_apart_that_have_the_same_mean_distance() -> None:
    trace = trace_of(np.stack([PREVIOUS, CAUSAL_4 / CAUSAL_4.sum(axis=1, keepdims=True)]), CAUSAL_4)
    previous, uniform = (offsets_of(trace, head) for head in (0, 1))

    said = measure_words.offsets_answer(previous, "head 0 (previous token)")

    assert said.replace(THIN_SPACE, " ") == (
        "Head 0 (previous token) gives 75.0 % of its attention to offset −1; a uniform head gives 27.1 %. "
        "Mean distance: 0.750 tokens, uniform 0.750."
    )
    other = measure_words.offsets_answer(uniform, "head 1").replace(THIN_SPACE, " ")
    assert other.startswith(
        "Head 1 gives 52.1 % of its attention to offset 0 (its own place); a uniform head gives 52.1 %"
    )
    alt = measure_words.offsets_alt(previous, "head 0").replace(THIN_SPACE, " ")
    assert alt.endswith("the largest: offset −1 75.0 %, offset 0 (its own place) 25.0 %.")


def test_a_head_that_sees_nothing_is_said_to_see_nothing() -> None:
    trace = trace_of(np.zeros((1, 3, 3)), np.zeros((1, 3, 3), dtype=bool))
    found = offsets_of(trace, 0)

    assert measure_words.offsets_answer(found, "head 0") == "No query has a key it may attend to."
    assert offset_bars(found).data[0].y.tolist() == [0]
    beyond, uniform = received_beyond(survey(trace))
    assert measure_words.received_answer(beyond, uniform, numbered(3), ("",)) == (
        "No key gets more than a uniform head gives it."
    )


def test_what_keys_receive_is_the_mean_of_the_columns_less_that_of_the_uniform_head() -> None:
    stats = golden("head_stats")

    beyond, uniform = received_beyond(survey(trace_of(stats["w"])))

    np.testing.assert_allclose(beyond + uniform, stats["colmass"] / 40, rtol=0, atol=1e-12)
    np.testing.assert_allclose(uniform, np.full((1, 40), 1 / 40), rtol=0, atol=1e-12)


def test_a_uniform_causal_head_gives_no_key_more_than_its_share() -> None:
    even = CAUSAL_4 / CAUSAL_4.sum(axis=1, keepdims=True)
    trace = trace_of(np.stack([even, FIRST]), CAUSAL_4, tokens=("The", "cat", "sat", "down"))
    beyond, uniform = received_beyond(survey(trace))

    picture = received_map(beyond, trace.key_tokens, ("", "sink"), range(2), selected=1)

    np.testing.assert_allclose(picture.data[0].z[0], 0, atol=1e-7)
    np.testing.assert_allclose(picture.data[0].z[1], [23 / 48, -13 / 48, -7 / 48, -3 / 48], rtol=1e-6)
    assert picture.data[0].zmax == -picture.data[0].zmin == pytest.approx(23 / 48)
    assert measure_words.received_answer(beyond, uniform, trace.key_tokens, ("", "sink")) == (
        "Most: head 1 (sink) gives key 0 “The” 1.00 on average; a uniform head gives it 0.521. "
        "No head gives some key at least 0.5 more than a uniform head does."
    )
    assert measure_words.received_alt(beyond, trace.key_tokens, range(2)).endswith("head 1 key 0 “The” 0.479.")


def test_of_many_keys_each_cell_shows_the_number_farthest_from_0() -> None:
    beyond = np.zeros((1, 1025))
    beyond[0, 4], beyond[0, 5], beyond[0, 8] = 0.2, -0.3, 0.1

    picture = received_map(beyond, numbered(1025), ("",), range(1), selected=0)

    cells = picture.layout.meta["cells"]
    assert cells["columns_per_cell"] == 3
    assert picture.data[0].z.shape == (1, 342)
    np.testing.assert_allclose(picture.data[0].z[0, :4], [0, -0.3, 0.1, 0], rtol=1e-6)
    assert (picture.data[0].x0, picture.data[0].dx) == (1, 3)
