"""What holds for every picture: valid for Plotly, axes named, colours that the dark theme knows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go
import pytest
from plotly.utils import PlotlyJSONEncoder

from attnviz.figures.theme import DARK_FOR_LIGHT, recoloured
from tests.figures.every_figure import AXES, FIGURES, TRACES

OVER_WIDTHS = {"variance_lines", "gradient_lines", "spectrum_lines", "sweep_lines"}
UPWARD = {
    "offset_bars",
    "head_map",
    "pair_map",
    *("keys_allowed", "reach_line", "row_sums", "term_bars", "score_bars", "changed_bars", "group_picture"),
    *("pruning_lines", "cost_lines"),
    *OVER_WIDTHS,
}
every_figure = pytest.mark.parametrize("name", FIGURES)
every_trace = pytest.mark.parametrize("kind", TRACES)


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def plain(figure: go.Figure) -> dict[str, Any]:
    """The figure as a browser gets it, without Plotly's own template."""
    spec = json.loads(json.dumps(figure.to_plotly_json(), cls=PlotlyJSONEncoder))
    del spec["layout"]["template"]
    return spec


@every_figure
@every_trace
def test_a_figure_is_valid_for_plotly_which_changes_nothing_of_it(name: str, kind: str) -> None:
    picture = FIGURES[name](TRACES[kind]())

    checked = go.Figure(picture.to_plotly_json())

    assert plain(checked) == plain(picture)


@every_figure
@every_trace
def test_both_axes_of_a_figure_are_named(name: str, kind: str) -> None:
    layout = FIGURES[name](TRACES[kind]()).layout

    assert AXES[name][0] in layout.xaxis.title.text
    assert AXES[name][1] in layout.yaxis.title.text


@every_figure
@every_trace
def test_the_first_row_of_a_figure_is_on_top_and_no_axis_has_categories(name: str, kind: str) -> None:
    layout = FIGURES[name](TRACES[kind]()).layout

    assert (layout.yaxis.range[0] > layout.yaxis.range[1]) == (name not in UPWARD)
    for axis in (layout.xaxis, layout.yaxis):
        assert axis.type in (None, "linear") or (name in OVER_WIDTHS and axis.type == "log")
        assert all(isinstance(place, int | float) for place in axis.tickvals or ())


@every_figure
def test_every_tick_of_a_figure_has_a_text(name: str) -> None:
    for kind, make in TRACES.items():
        layout = FIGURES[name](make()).layout
        for axis in (layout.xaxis, layout.yaxis):
            if axis.tickmode == "array":
                assert len(axis.tickvals) == len(axis.ticktext), kind
                assert all(axis.ticktext), kind
                assert len(set(axis.tickvals)) == len(axis.tickvals), kind


@every_figure
def test_words_that_plotly_draws_hold_no_markup_of_a_token_or_role(name: str) -> None:
    picture = FIGURES[name](TRACES["nasty tokens"]())

    layout = picture.layout
    drawn = [text for axis in (layout.xaxis, layout.yaxis) for text in axis.ticktext or ()]
    drawn += [text for trace in picture.data if trace.type == "scatter" for text in trace.text or ()]
    for text in drawn:
        left = text.removeprefix(f"<b>{text[3:4]}</b> ") if name.startswith("head_grid") else text
        left = left.replace(" <br>\n", "", 1) if name == "mask_gallery" else left
        assert not set("<>$") & set(left), text


@every_figure
def test_every_colour_of_a_figure_in_the_single_hue_is_one_the_dark_theme_replaces(name: str) -> None:
    for kind, make in TRACES.items():
        if "per head" in name or kind == "nasty tokens":
            continue
        spec = FIGURES[name](make()).to_plotly_json()
        colours = {text for text in strings(spec) if re.fullmatch(r"#[0-9a-fA-F]{6}", text)}

        assert colours <= set(DARK_FOR_LIGHT), kind
        left = {text for text in strings(recoloured(spec)) if re.fullmatch(r"#[0-9a-fA-F]{6}", text)}
        assert left == {DARK_FOR_LIGHT[colour] for colour in colours}, kind


@every_figure
def test_a_recoloured_figure_is_still_valid_and_holds_the_same_numbers(name: str) -> None:
    picture = FIGURES[name](TRACES["sentence"]())

    dark = go.Figure(recoloured(picture.to_plotly_json()))

    for one, other in zip(plain(picture)["data"], plain(dark)["data"], strict=True):
        assert [one.get(field) for field in "xyz"] == [other.get(field) for field in "xyz"]


@every_figure
def test_a_figure_brings_no_template_of_its_own(name: str) -> None:
    spec = FIGURES[name](TRACES["sentence"]()).to_plotly_json()

    assert spec["layout"]["template"] == {}
    assert len(json.dumps(spec, cls=PlotlyJSONEncoder)) < 20_000
