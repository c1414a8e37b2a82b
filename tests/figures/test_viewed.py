"""Pictures in another view: what is drawn, the scale, the line at the top, and what is said."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.colors import hex_to_rgb

from attnviz.figures import attention_heatmap, viewing_words
from attnviz.figures.colours import ViewedScale
from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics import survey
from attnviz.metrics.viewing import HIDDEN, View, viewed
from tests.figures.seen import viewed_grid, viewed_part
from tests.figures.test_colours import apart, names, tops
from tests.figures.test_grid import maps_in
from tests.figures.traces import NASTY, trace_of

CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
WEIGHTS = np.array([[[1.0, 0, 0], [0.9, 0.1, 0], [0.5, 0.4, 0.1]], [[1.0, 0, 0], [1.0, 0, 0], [0.2, 0.2, 0.6]]])
TRACE = trace_of(WEIGHTS, CAUSAL, tokens=("[CLS]", "cat", "mat"))
every_view = pytest.mark.parametrize(
    "view", [View((0,)), View((0,), True), View((0,), True, True), View((), True), View((), False, True)], ids=str
)
scales = st.builds(ViewedScale, names, tops, st.booleans(), st.booleans(), st.booleans())


def grid(view: View, *, shared_scale: bool = True) -> go.Figure:
    return viewed_grid(TRACE, view, shared_scale=shared_scale)


def heatmap(view: View, head: int = 0, top: float = 1.0) -> go.Figure:
    seen = viewed_part(TRACE, view, head)
    return attention_heatmap(
        TRACE, survey(TRACE), head=head, role="", query=0, key=0, scale=SINGLE_HUE, top=top, seen=seen
    )


def kinds_of(picture: go.Figure, values: np.ndarray) -> list[list[str]]:
    """What each cell is, read by the picture's own description."""
    cells = picture.layout.meta["cells"]

    def kind(value: float) -> str:
        if value >= cells["lowest"]:
            return "number"
        return "hidden" if cells["hidden_from"] is not None and value > cells["hidden_from"] else "forbidden"

    return [[kind(float(value)) for value in row] for row in values]


def test_hidden_keys_forbidden_cells_and_empty_rows_are_told_apart() -> None:
    picture = heatmap(View((0,)), head=1)

    z = np.asarray(picture.data[0].z)
    assert kinds_of(picture, z) == [
        ["hidden", "forbidden", "forbidden"],
        ["hidden", "hidden", "forbidden"],
        ["hidden", "number", "number"],
    ]
    np.testing.assert_allclose(z[2, 1:], [0.25, 0.75])
    assert list(picture.layout.meta["ticks"]["y"]) == ["⊖ [CLS]", "⊖ cat", "mat"]
    assert list(picture.layout.yaxis.ticktext) == ["⊖ [CLS]", "⊖ cat", "mat"]
    assert picture.layout.meta["cells"]["hidden"] == "this key is hidden, or no weight is left in this row"


def test_a_row_whose_rest_is_a_weight_of_0_is_no_hidden_row() -> None:
    picture = heatmap(View((2,)), head=1)

    assert kinds_of(picture, np.asarray(picture.data[0].z))[1] == ["number", "number", "forbidden"]
    assert picture.layout.meta["cells"]["hidden"] == "this key is hidden"


@every_view
def test_both_pictures_say_in_what_view_they_are_on_the_page_and_in_a_file(view: View) -> None:
    for picture in (grid(view), heatmap(view)):
        (annotation,) = picture.layout.annotations
        text = viewing_words.badge(view, TRACE.key_tokens)
        assert text
        assert (picture.layout.meta["badge"], annotation.name, annotation.text) == (text, "badge", text)
        assert (annotation.yref, annotation.y, annotation.yanchor) == ("paper", 1, "bottom")
        assert picture.layout.margin.t > 8 + annotation.font.size, "room above the plot"


def test_a_badge_names_the_keys_and_what_is_done_to_rows_and_colours() -> None:
    tokens = ("[CLS]", "cat", "mat", "sat")

    assert viewing_words.badge(View(), tokens) == ""
    assert viewing_words.badge(View((0, 2)), tokens) == "keys 0 [CLS], 2 mat hidden, rows renormalised"
    assert viewing_words.badge(View((0, 1, 2, 3)), tokens) == "4 keys hidden, rows renormalised"
    assert viewing_words.badge(View((), True, True), tokens) == "each row its own scale · log colours"


@pytest.mark.parametrize("token", ["<b>x</b>", "$x$", "&amp;", "", "\n"])
def test_a_token_in_a_badge_is_literal(token: str) -> None:
    text = viewing_words.badge(View((0,)), (token,))
    trace = trace_of(np.ones((1, 1, 1)), tokens=(token,))

    picture = viewed_grid(trace, View((0,)))

    assert token in NASTY
    assert picture.layout.meta["badge"] == text
    assert not set("<>$\n") & set(picture.layout.annotations[0].text)


def test_the_grid_draws_what_is_left_on_one_scale_and_marks_the_rest() -> None:
    found = maps_in(grid(View((0,))))

    np.testing.assert_allclose(found[0][1, 1], 1)
    np.testing.assert_allclose(found[0][2, 1:], [0.8, 0.2])
    assert kinds_of(grid(View((0,))), found[1])[1] == ["hidden", "hidden", "forbidden"]


def test_each_row_has_its_own_range_and_the_weights_are_behind_the_colours() -> None:
    picture = heatmap(View((0,), row_scale=True), top=0.3)

    cells = picture.layout.meta["cells"]
    assert (cells["value"], cells["behind"]) == ("weight over largest of row", "renormalised weight")
    np.testing.assert_allclose(np.asarray(picture.data[0].z)[2, 1:], [1, 0.25])
    np.testing.assert_allclose(np.asarray(picture.data[0].customdata)[2], [np.nan, 0.8, 0.2])
    assert (picture.data[0].zmax, picture.data[0].colorbar.title.text) == (1, "share of the<br>row's largest")


def test_log_colours_follow_the_logarithm_and_the_bar_is_labelled_with_weights() -> None:
    picture = heatmap(View(log_scale=True))

    z, bar = np.asarray(picture.data[0].z), picture.data[0].colorbar
    np.testing.assert_allclose(z[1, :2], np.log10([0.9, 0.1]), rtol=1e-6)
    assert list(bar.ticktext) == ["forbidden", "≤ 10⁻⁴", "0.001", "0.01", "0.1", "1"]
    assert list(bar.tickvals[1:]) == [-4, -3, -2, -1, 0]
    assert (picture.data[0].zmax, picture.layout.meta["cells"]["is_log"]) == (0, True)
    np.testing.assert_allclose(np.asarray(picture.data[0].customdata)[1], [0.9, 0.1, np.nan])


def test_the_order_is_hide_then_renormalise_then_row_then_log() -> None:
    z = np.asarray(heatmap(View((0,), True, True)).data[0].z)

    np.testing.assert_allclose(z[2, 1:], np.log10([1, 0.25]), atol=1e-6)


def test_per_head_a_view_is_a_share_of_the_largest_that_is_left() -> None:
    picture = grid(View((1,)), shared_scale=False)

    found = maps_in(picture)
    np.testing.assert_allclose(found[0][2, [0, 2]], [5 / 6, 1 / 6], rtol=1e-6)
    assert picture.layout.meta["cells"]["value"] == "renormalised weight over largest of head"
    assert picture.data[0].colorbar.title.text == "share of<br>the largest"


@given(scales, st.floats(0, 1))
def test_no_number_of_any_view_has_the_colour_of_what_has_none(scale: ViewedScale, share: float) -> None:
    number = np.array([share * scale.top])
    place = (float(scale.drawn(number)[0]) - scale.lowest) / (scale.end - scale.lowest)
    shown = colour_of(scale, place)

    for _, colour in scale.flats:
        assert apart(shown, hex_to_rgb(colour)) > 5


@given(scales)
def test_what_has_no_number_has_a_flat_colour_of_its_own_at_a_step_of_a_long_map(scale: ViewedScale) -> None:
    drawn = scale.drawn(np.array([np.nan, HIDDEN, 0.0]))
    values = dict(zip(("forbidden", "hidden", "number"), map(float, drawn), strict=True))

    for name, colour in scale.flats:
        place = (values[name] - scale.lowest) / (scale.end - scale.lowest)
        assert apart(colour_of(scale, place), hex_to_rgb(colour)) <= 1
    step = (scale.start - scale.lowest) / (scale.end - scale.lowest) * 254
    assert step == pytest.approx(27 * len(scale.flats), abs=1e-9)
    assert values["number"] >= scale.numbers_from
    if scale.has_hidden:
        assert scale.hidden_from is not None
        assert scale.hidden_from < values["hidden"] < scale.numbers_from
        assert not scale.has_forbidden or values["forbidden"] < scale.hidden_from


def colour_of(scale: ViewedScale, place: float) -> tuple[float, ...]:
    """Red, green and blue at a place of the scale, from 0 to 1."""
    stops = [float(str(stop)) for stop, _ in scale.colorscale()]
    colours = np.array([hex_to_rgb(str(colour)) for _, colour in scale.colorscale()])
    return tuple(float(np.interp(place, stops, colours[:, part])) for part in range(3))


@given(tops)
def test_the_bar_of_a_log_scale_begins_at_its_floor_and_ends_at_its_top(top: float) -> None:
    bar = ViewedScale(SINGLE_HUE, top, has_forbidden=False, is_log=True).colorbar()

    ticks = bar["tickvals"]
    assert isinstance(ticks, list)
    assert ticks == sorted(ticks)
    assert (10 ** ticks[-1], ticks[0]) == (pytest.approx(top), pytest.approx(math.floor(math.log10(top)) - 4))


def test_the_sentence_says_what_the_hidden_keys_get_beside_a_uniform_head_and_what_is_left() -> None:
    view, found = View((0,)), survey(TRACE)
    seen = viewed(TRACE, view)

    both = viewing_words.hidden_answer(TRACE, found, seen, view, range(2))
    one = viewing_words.hidden_answer(TRACE, found, seen, view, range(1))

    assert both.replace("\u202f", " ") == (
        " Hidden key 0 “[CLS]” gets 76.7 % of the attention, a mean over 2 heads (most in head 0: 80.0 %); a uniform "
        "head gives 61.1 %. 3 rows, counted over 2 heads, have no weight left."
    )
    assert one.replace("\u202f", " ") == (
        " Hidden key 0 “[CLS]” gets 80.0 % of its attention; a uniform head gives 61.1 %. 1 row has no weight left."
    )
    rest = viewing_words.rest_answer(TRACE, seen, found.small.has_keys, 0)
    assert rest.replace("\u202f", " ") == " Of the rest most goes to key 1 “cat”: 90.0 %; a uniform head gives 75.0 %."


def test_keys_past_the_last_are_said_to_be_ignored() -> None:
    assert viewing_words.past_the_last([0, 5], 6) == ""
    assert viewing_words.past_the_last([0, 6], 6) == " Key 6 is past the last, 5: it is ignored."
    assert viewing_words.past_the_last([6, 99], 6) == " 2 hidden keys are past the last, 5: they are ignored."


def test_hidden_and_forbidden_have_colours_that_no_one_takes_for_each_other() -> None:
    assert apart(hex_to_rgb(LIGHT.hidden), hex_to_rgb(LIGHT.forbidden)) > 25
