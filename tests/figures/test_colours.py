"""One scale for all pictures of weights, and a colour that only forbidden cells have."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plotly.colors import hex_to_rgb, sample_colorscale, unlabel_rgb

from attnviz.figures.colours import WeightScale, rounded_top, with_forbidden
from attnviz.figures.theme import DARK_FOR_LIGHT, LIGHT, SINGLE_HUE
from attnviz.numbers import significant

NAMES = (SINGLE_HUE, "viridis", "cividis")
FORBIDDEN = hex_to_rgb(LIGHT.forbidden)
tops = st.floats(1e-6, 1.0)
names = st.sampled_from(NAMES)


def colour_at(scale: WeightScale, value: float) -> tuple[float, float, float]:
    """Red, green and blue that Plotly gives to a value."""
    place = min(max((value - scale.lowest) / (scale.top - scale.lowest), 0.0), 1.0)
    return unlabel_rgb(sample_colorscale(scale.colorscale(), [place])[0])


def apart(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


@given(names, tops, st.booleans())
def test_a_scale_goes_from_its_lowest_value_to_its_top_without_a_step_back(name: str, top: float, masked: bool) -> None:
    scale = WeightScale(name, top, masked)
    places = [float(place) for place, _ in scale.colorscale()]

    assert (places[0], places[-1]) == (0, pytest.approx(1, abs=1e-12))
    assert places == sorted(places)
    assert scale.trace_options()["zmin"] == scale.lowest
    assert scale.trace_options()["zmax"] == top


@given(names, tops)
def test_a_forbidden_cell_has_the_flat_colour_of_what_is_forbidden(name: str, top: float) -> None:
    scale = WeightScale(name, top, has_forbidden=True)

    assert scale.forbidden_value < 0
    for value in (scale.forbidden_value, np.float32(scale.forbidden_value), 1.1 * scale.forbidden_value, scale.lowest):
        assert apart(colour_at(scale, float(value)), FORBIDDEN) <= 1


@given(names, tops, st.floats(0, 1))
def test_no_weight_has_the_colour_of_what_is_forbidden(name: str, top: float, share: float) -> None:
    scale = WeightScale(name, top, has_forbidden=True)

    assert apart(colour_at(scale, share * top), FORBIDDEN) > 5


@given(names, tops, st.floats(0, 1))
def test_the_entry_for_forbidden_cells_leaves_the_colours_of_the_weights_as_they_are(
    name: str, top: float, share: float
) -> None:
    masked, free = WeightScale(name, top, has_forbidden=True), WeightScale(name, top, has_forbidden=False)

    assert apart(colour_at(masked, share * top), colour_at(free, share * top)) <= 1


@given(tops, st.booleans())
def test_no_weight_is_no_ink_and_more_weight_is_darker(top: float, masked: bool) -> None:
    scale = WeightScale(SINGLE_HUE, top, masked)
    brightness = [sum(colour_at(scale, share * top)) for share in np.linspace(0, 1, 50)]

    assert apart(colour_at(scale, 0), hex_to_rgb(LIGHT.background)) <= 1
    assert all(later < earlier for earlier, later in pairwise(brightness))


@given(tops)
def test_zero_is_a_step_of_its_own_where_a_long_map_is_sent_in_254_steps(top: float) -> None:
    scale = WeightScale(SINGLE_HUE, top, has_forbidden=True)

    step = -scale.lowest / (scale.top - scale.lowest) * 254

    assert step == pytest.approx(round(step), abs=1e-9)


@given(tops)
def test_the_colour_bar_says_its_range_and_names_the_forbidden_colour(top: float) -> None:
    bar = WeightScale(SINGLE_HUE, top, has_forbidden=True).colorbar()
    free = WeightScale(SINGLE_HUE, top, has_forbidden=False).colorbar()

    assert free["tickvals"] == [0, top / 2, top]
    assert free["ticktext"] == (["0", "0.5", "1"] if top == 1 else ["0", significant(top / 2, 2), significant(top, 2)])
    assert bar["tickvals"] == [WeightScale(SINGLE_HUE, top, has_forbidden=True).forbidden_value, *free["tickvals"]]
    assert bar["ticktext"] == ["forbidden", *free["ticktext"]]


@given(st.floats(0, 1))
def test_the_end_of_the_scale_is_1_or_the_largest_weight(largest: float) -> None:
    assert rounded_top(largest) == (1 if largest >= 0.5 or largest == 0 else largest)


def test_only_forbidden_cells_get_the_value_that_stands_for_them() -> None:
    scale = WeightScale(SINGLE_HUE, 1.0, has_forbidden=True)
    weights, allowed = np.array([[0.0, 0.5], [0.0, 1.0]]), np.array([[False, True], [True, True]])

    drawn = with_forbidden(weights, allowed, scale)

    assert drawn.dtype == np.float32
    assert drawn.tolist() == [[np.float32(scale.forbidden_value), 0.5], [0, 1]]
    assert weights.tolist() == [[0, 0.5], [0, 1]], "the weights themselves are left as they are"


def test_light_and_dark_palettes_differ_in_every_colour_and_none_replaces_two() -> None:
    assert len(set(DARK_FOR_LIGHT.values())) == len(DARK_FOR_LIGHT)
    assert not set(DARK_FOR_LIGHT) & set(DARK_FOR_LIGHT.values())


@pytest.mark.parametrize("palette", [DARK_FOR_LIGHT.keys(), DARK_FOR_LIGHT.values()], ids=["light", "dark"])
def test_text_can_be_read_on_its_background(palette) -> None:
    named = dict(zip(DARK_FOR_LIGHT, palette, strict=True))

    for word in (LIGHT.text, LIGHT.muted):
        assert contrast(named[word], named[LIGHT.background]) >= 4.5
    for mark in (LIGHT.accent, LIGHT.mark, LIGHT.baseline):
        assert contrast(named[mark], named[LIGHT.background]) >= 3


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    return float(np.dot([0.2126, 0.7152, 0.0722], [linear(part / 255) for part in hex_to_rgb(colour)]))


def linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
