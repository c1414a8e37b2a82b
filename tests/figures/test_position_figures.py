"""The pictures of positions: their data, axes, colours and words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz import AttentionConfig
from attnviz.core.shuffling import Shuffled, shuffled
from attnviz.figures import position_beyond_words as beyond_words
from attnviz.figures import position_words as words
from attnviz.figures.position_bars import pair_planes, shuffled_bars, vector_bars
from attnviz.figures.position_lines import (
    angle_lines,
    beyond_lines,
    bias_lines,
    curve_lines,
    distance_lines,
)
from attnviz.figures.position_maps import added_heatmap, place_matrices, scale_end
from attnviz.figures.theme import DARK_FOR_LIGHT
from attnviz.positions import Curve, Rotation, rotary_frequencies, sinusoidal_table
from attnviz.positions.beyond import BiasBeyond, FarScores
from attnviz.positions.similarity import by_distance
from tests.figures.test_every_figure import plain, strings
from tests.figures.traces import NASTY

ROTATION = Rotation(rotary_frequencies(8))
DISTANCE = np.arange(-5, 6)
BIAS = -np.array([[0.5], [0.25], [0.125]]) * np.abs(DISTANCE)
SCORES = -np.abs(np.arange(6.0)[:, None] - np.arange(6.0))
SLOPES = Curve("Slope", "per token", "head", np.arange(3), np.array([0.5, 0.25, 0.125]))
WAVES = Curve("Wavelength", "tokens", "pair of columns", np.arange(4), 6.283 * 10.0 ** np.arange(4), is_log=True)
BUCKETS = Curve("Bucket", "", "distance (key − query, tokens)", np.arange(-70, 71), np.abs(np.arange(-70.0, 71)))
COUNT = np.arange(1.0, 9)
FAR = FarScores(np.arange(33), -np.arange(33.0))


def made_shuffled(tokens: tuple[str, ...] = ("a", "b", "c")) -> Shuffled:
    return shuffled(AttentionConfig(tokens, projections="random"))


FIGURES: dict[str, Callable[[], go.Figure]] = {
    "added": lambda: added_heatmap(sinusoidal_table(np.arange(20), 6), place=3),
    "matrices": lambda: place_matrices({"<One>": SCORES, "Two": 2 * SCORES}),
    "slopes": lambda: curve_lines(SLOPES),
    "waves": lambda: curve_lines(WAVES),
    "buckets": lambda: curve_lines(BUCKETS),
    "angles": lambda: angle_lines(ROTATION, 64),
    "bias": lambda: bias_lines(DISTANCE, BIAS, head=1),
    "bias of one head": lambda: bias_lines(DISTANCE, 0 * BIAS[:1], head=0),
    "distance": lambda: distance_lines({"One": by_distance(SCORES), "Two": by_distance(2 * SCORES)}),
    "beyond": lambda: beyond_lines({"One": FAR}, trained_length=8, length=32),
    "vector": lambda: vector_bars(None, np.array([0.0, 0.5, -1.0]), name="added"),
    "turned": lambda: vector_bars(COUNT, ROTATION(COUNT[None, None], np.array([1]))[0, 0], name="after"),
    "planes": lambda: pair_planes(COUNT, ROTATION(COUNT[None, None], np.array([1]))[0, 0], ROTATION, position=1),
    "shuffled": lambda: shuffled_bars(made_shuffled(), has_positions=True, has_mask=True),
    "nasty tokens": lambda: shuffled_bars(made_shuffled(NASTY), has_positions=True, has_mask=False),
}
AXES = {
    "added": ("column of x", "position (row)"),
    "matrices": ("key (column)", "query (row)"),
    "slopes": ("head", "Slope (per token)"),
    "waves": ("pair of columns", "Wavelength (tokens)"),
    "buckets": ("distance (key − query, tokens)", "Bucket"),
    "angles": ("position", "angle (turns)"),
    "bias": ("distance (key − query, tokens)", "bias"),
    "distance": ("distance (key − query, tokens)", "score"),
    "beyond": ("distance (query − key, tokens)", "score"),
    "vector": ("column", "value"),
    "planes": ("first column of a pair", "second"),
    "shuffled": ("token", "relative change"),
}
every_figure = pytest.mark.parametrize("name", FIGURES)


@every_figure
def test_a_figure_is_valid_for_plotly_which_changes_nothing_of_it(name: str) -> None:
    picture = FIGURES[name]()

    assert plain(go.Figure(picture.to_plotly_json())) == plain(picture)


@every_figure
def test_every_colour_of_a_figure_is_one_the_dark_theme_replaces(name: str) -> None:
    colours = {text for text in strings(plain(FIGURES[name]())) if re.fullmatch(r"#[0-9a-fA-F]{6}", text)}

    assert colours <= set(DARK_FOR_LIGHT)


@pytest.mark.parametrize("name", AXES)
def test_both_axes_of_a_figure_are_named(name: str) -> None:
    layout = FIGURES[name]().layout

    assert layout.xaxis.title.text.startswith(AXES[name][0])
    assert AXES[name][1] in layout.yaxis.title.text


@every_figure
def test_the_height_of_a_figure_is_fixed_and_it_is_small_to_send(name: str) -> None:
    picture = FIGURES[name]()

    assert picture.layout.yaxis.range is not None
    assert len(json.dumps(plain(picture))) < 20_000


def test_what_is_added_is_on_a_scale_symmetric_about_0_with_the_position_framed() -> None:
    picture = added_heatmap(sinusoidal_table(np.arange(20), 6), place=3)

    (heatmap,) = picture.data
    np.testing.assert_allclose(heatmap.z, sinusoidal_table(np.arange(20), 6), atol=1e-7)
    assert heatmap.zmin == -heatmap.zmax
    assert (picture.layout.shapes[0].y0, picture.layout.shapes[0].y1) == (2.5, 3.5)
    assert picture.layout.meta["cells"]["row_name"] == "position"


def test_a_few_numbers_that_stand_out_do_not_wash_out_the_others() -> None:
    table = np.full((50, 20), 0.1)
    table[0, 0] = -2.0

    assert scale_end(table) == pytest.approx(0.1)
    assert scale_end(table[:2]) == 2.0, "one in forty is no exception"
    assert scale_end(np.zeros((3, 3))) == 1.0


def test_two_maps_of_places_have_one_scale_and_their_names() -> None:
    picture = place_matrices({"<One>": SCORES, "Two": 2 * SCORES})

    assert (picture.data[0].zmin, picture.data[0].zmax) == (-10, 10)
    assert list(picture.data[1].text) == ["&lt;One&gt;", "Two"]
    cells = picture.layout.meta["cells"]
    assert (list(cells["roles"]), cells["map_name"], cells["row_name"]) == (["<One>", "Two"], "", "query at position")


def test_few_numbers_are_written_out_and_many_are_a_line_in_steps() -> None:
    slopes, waves, buckets = (curve_lines(curve).data[0] for curve in (SLOPES, WAVES, BUCKETS))

    assert list(slopes.text) == ["0.5", "0.25", "0.125"]
    assert list(waves.text) == ["6.28", "62.8", "628", "6\u202f280"]
    assert (buckets.mode, buckets.line.shape, buckets.text) == ("lines", "hvh", None)
    assert curve_lines(WAVES).layout.yaxis.type == "log"


def test_angles_are_in_turns_and_at_most_five_pairs_are_drawn() -> None:
    picture = angle_lines(Rotation(rotary_frequencies(64)), 64)

    assert [trace.name for trace in picture.data] == [
        "pair 0",
        "pair 8",
        "pair 16",
        "pair 23",
        "pair 31",
        "one whole turn",
    ]
    np.testing.assert_allclose(picture.data[0].y, np.arange(1, 64) / (2 * np.pi))


def test_the_chosen_head_stands_before_the_others() -> None:
    others, chosen = bias_lines(DISTANCE, BIAS, head=1).data

    assert (others.name, chosen.name) == ("other heads", "head 1")
    np.testing.assert_array_equal(chosen.y, BIAS[1])
    assert np.isnan(others.y).sum() == 2


def test_a_bias_that_neighbouring_distances_share_is_drawn_in_steps_and_any_other_in_lines() -> None:
    shared = np.floor(BIAS)

    assert [trace.line.shape for trace in bias_lines(DISTANCE, shared, head=1).data] == ["hvh", "hvh"]
    assert [trace.line.shape for trace in bias_lines(DISTANCE, BIAS, head=1).data] == ["linear", "linear"]


def test_of_many_heads_over_many_distances_some_have_a_line_and_the_chosen_one_always() -> None:
    distance = np.arange(-1024, 1025)
    bias = np.ones((100, 1)) * np.abs(distance)

    others, chosen = bias_lines(distance, bias, head=99).data

    assert (np.isnan(others.y).sum(), chosen.name) == (15, "head 99")
    assert words.some_heads(bias) == " Lines of the first 15 of 100 heads."
    assert words.some_heads(BIAS) == ""


def test_pictures_of_two_methods_have_the_same_axes() -> None:
    other, slow = 3 * BIAS, Rotation(rotary_frequencies(8, base=1e6))

    biases = [bias_lines(DISTANCE, one, head=1, among=[BIAS, other]) for one in (BIAS, other)]
    turns = [angle_lines(one, 64, among=[ROTATION, slow]) for one in (ROTATION, slow)]

    for one, two in (biases, turns):
        assert one.layout.yaxis.range == two.layout.yaxis.range
    assert added_heatmap(np.ones((4, 4)), place=0, end=5.0).data[0].zmax == 5


def test_thousands_are_parted_alike_in_text_and_on_the_axis() -> None:
    picture = curve_lines(WAVES)

    assert list(picture.layout.yaxis.ticktext) == ["10", "100", "1\u202f000"]
    assert words.curve_answer(WAVES).endswith("to 6\u202f283 tokens (pair of columns 3).")
    far = beyond_lines({"One": FAR}, trained_length=8, length=32).layout
    assert (far.separators, far.xaxis.separatethousands) == (".\u202f", True)


def test_the_trained_length_is_marked() -> None:
    picture = beyond_lines({"One": FAR}, trained_length=8, length=32)

    assert [trace.name for trace in picture.data] == ["One", "trained length"]
    assert list(picture.data[1].x) == [8, 8]
    assert list(picture.layout.xaxis.range) == [0, 32]


def test_hands_turn_by_the_angle_of_their_pair() -> None:
    turned = ROTATION(COUNT[None, None], np.array([2]))[0, 0]
    before, after, titles = pair_planes(COUNT, turned, ROTATION, position=2).data

    assert list(titles.text) == ["0 115°", "1 11.5°", "2 1.15°", "3 0.115°"]
    for pair, angle in enumerate(2 * ROTATION.frequencies):
        hands = [np.arctan2(hand.y[3 * pair + 1], hand.x[3 * pair + 1] - hand.x[3 * pair]) for hand in (before, after)]
        assert (hands[1] - hands[0]) % (2 * np.pi) == pytest.approx(angle)


def test_bars_of_shuffled_tokens_have_only_what_is_worth_comparing() -> None:
    found = made_shuffled()

    def names(**chosen: bool) -> list[str]:
        return [trace.name for trace in shuffled_bars(found, **chosen).data]

    assert names(has_positions=True, has_mask=True) == [
        "with positions",
        "no positions, same mask",
        "no positions, no mask",
    ]
    assert names(has_positions=False, has_mask=False) == ["no positions, no mask"]
    np.testing.assert_array_equal(
        shuffled_bars(found, has_positions=True, has_mask=False).data[0].y, found.with_positions
    )


def test_bars_that_are_zero_everywhere_take_no_room_from_the_others() -> None:
    found = made_shuffled(("a", "b", "c", "a"))
    zero = np.zeros(4)
    two = Shuffled(**{**vars(found), "without_positions": np.ones(4), "without_either": zero})

    with_both = shuffled_bars(two, has_positions=True, has_mask=True).data
    with_one = shuffled_bars(two, has_positions=True, has_mask=False).data

    assert [(bar.offset, bar.width) for bar in with_both] == [(-0.38, 0.38), (0, 0.38), (-0.38, 0.76)]
    assert [(bar.offset, bar.width) for bar in with_one] == [(-0.38, 0.76), (-0.38, 0.76)]
    assert list(with_one[0].customdata) == ["0 a", "1 b", "2 c", "3 a"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (BiasBeyond(-1.0, -4.0, -0.1, None), "goes on in a straight line, −0.100 a token."),
        (BiasBeyond(0.5, 0.5, 0.0, 10), "stays the same: all these distances share one number."),
        (BiasBeyond(0.5, 0.7, None, 30), "changes unevenly, and from distance 30 on all share one number."),
        (BiasBeyond(0.5, 0.7, None, None), "changes unevenly."),
    ],
)
def test_the_bias_past_the_trained_length_is_told_as_it_goes(found: BiasBeyond, said: str) -> None:
    assert beyond_words.bias_past("Name", found, 10, 40, 2).endswith(said)


def test_a_method_that_does_nothing_makes_every_position_alike() -> None:
    assert words.distance_answer({"None": by_distance(np.zeros((6, 6)))}) == "None: every position is like every other."


def test_positions_that_the_weights_do_not_use_are_told_so() -> None:
    found = made_shuffled()
    unused = Shuffled(
        **{**vars(found), "with_positions": np.full(3, 1e-5), "without_either": np.zeros(3)},
    )

    answer = words.shuffled_answer(unused, has_positions=True, has_mask=False)

    assert answer == (
        "Without positions and mask the outputs are the same up to order: the largest change is 0. With positions "
        "outputs change by 0.00100\u202f% at most, 0.00100\u202f% on average; these weights hardly use them, random "
        "ones do."
    )
