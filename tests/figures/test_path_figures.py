"""Paths and flow as pictures, and what is said of paths."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures import flow_bars, path_picture, path_words
from attnviz.figures.flow import LEAST_WIDTH
from attnviz.figures.paths import LOOKS
from attnviz.figures.theme import LIGHT
from attnviz.metrics.paths import strongest_routes
from attnviz.numbers import THIN_SPACE

TOKENS = ("the", "<b>", "sat")
TO_FIRST = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
TO_NEXT = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 1]])
EVEN = np.full((3, 3), 1 / 3)
ROUTES = strongest_routes([TO_NEXT, TO_FIRST], 2, enough=1.0)


def links(figure, name: str) -> set[tuple[int, int, int]]:
    """Column, token and next token of the lines of this name."""
    found = set()
    for trace in figure.data:
        if trace.name == name and len(trace.x) > 2:
            x, y = (np.asarray(side).reshape(-1, 3) for side in (trace.x, trace.y))
            assert (x[:, 1] == x[:, 0] + 1).all()
            found |= {(int(a), int(b), int(c)) for a, b, c in zip(x[:, 0], y[:, 0], y[:, 1], strict=True)}
    return found


def test_each_link_of_the_paths_is_a_line_and_the_strongest_path_has_a_colour_of_its_own() -> None:
    figure = path_picture(ROUTES, TOKENS, query=2, n_layers=2)

    assert links(figure, "strongest path") == {(0, 2, 2), (1, 2, 2)}
    assert links(figure, "other links") == {(0, 0, 0), (0, 1, 0), (1, 0, 2)}
    colours = {trace.name: trace.line.color for trace in figure.data if trace.mode == "lines"}
    assert colours == {"strongest path": LIGHT.accent, "other links": LIGHT.mark}
    widths = {trace.line.width for trace in figure.data if trace.name == "other links" and len(trace.x) > 2}
    assert widths == {LOOKS[2][1], LOOKS[3][1]}, "a quarter of the rollout is half of the largest share, a half all"
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == ["strongest path", "other links"]


def test_each_column_has_all_tokens_a_click_chooses_one_and_the_pointer_tells_what_passes() -> None:
    figure = path_picture(ROUTES, TOKENS, query=2, n_layers=2)

    columns = [trace for trace in figure.data if trace.meta]
    assert [trace.name for trace in columns] == ["in the input", "after layer 0", "after layer 1"]
    assert all(trace.meta == {"click": "query"} and trace.y.tolist() == [0, 1, 2] for trace in columns)
    assert [trace.x[0] for trace in columns] == [0, 1, 2]
    assert [text.replace(THIN_SPACE, " ") for text in columns[0].text] == [
        "token 0 the in the input: 25.0 %",
        "token 1 &lt;b&gt; in the input: 25.0 %",
        "token 2 sat in the input: 50.0 %",
    ]
    assert columns[1].text[1].endswith(f"after layer 0: 0{THIN_SPACE}%")
    assert list(columns[1].marker.color) == [LIGHT.muted, LIGHT.line, LIGHT.muted], "nothing passes the second"
    ticks = figure.layout.meta["ticks"]
    assert (ticks["x"], ticks["y"], ticks["strong"]) == (("input", "0", "1"), ("0 the", "1 <b>", "2 sat"), 2)


def test_tokens_on_no_link_are_left_out_and_a_click_still_means_the_token() -> None:
    tokens = ("a", "b", "c", "d", "e")
    to_last = np.zeros((5, 5))
    to_last[:, 4] = 1
    routes = strongest_routes([to_last, to_last], 1, enough=1.0)

    figure = path_picture(routes, tokens, query=1, n_layers=2)

    assert routes.tokens(1) == [1, 4]
    ticks = figure.layout.meta["ticks"]
    assert (ticks["y"], ticks["strong"]) == (("1 b", "4 e"), 0)
    assert list(figure.layout.yaxis.range) == [1.5, -0.5]
    assert list(figure.layout.yaxis.ticktext) == ["1 b", "4 e"]
    assert links(figure, "strongest path") | links(figure, "other links") == {
        (0, 0, 0),
        (0, 1, 0),
        (0, 1, 1),
        (1, 0, 0),
        (1, 1, 0),
    }
    for column in [trace for trace in figure.data if trace.meta]:
        np.testing.assert_array_equal(column.y, [np.nan, 0, np.nan, np.nan, 1])
        assert [place for place, text in enumerate(column.text) if text] == [1, 4]
    assert figure.data[-1].y.tolist() == [0]
    assert strongest_routes([np.eye(5)], 3).tokens(3) == [3]
    assert "Shown are the 2 of 5 tokens that these links touch." in path_words.paths_caption(2, 5)
    assert "Shown" not in path_words.paths_caption(5, 5)


def test_the_strongest_path_is_told_with_its_way_and_beside_uniform_attention() -> None:
    uniform = strongest_routes([EVEN, EVEN], 2, enough=1.0)

    assert path_words.paths_answer(ROUTES, uniform, 2, TOKENS).replace(THIN_SPACE, " ") == (
        "The strongest path to query 2 “sat” stays at its own token in every layer and carries 50.0 % of its rollout "
        "(the strongest with attention uniform over the allowed keys: 44.4 %). The strongest from another token comes "
        "from token 0 “the”, reaches it in layer 1 and carries 25.0 %. All paths over the 5 links drawn hold 100 % of "
        "its rollout (those over the 12 links that uniform attention would have here: 100 %)."
    )


def test_a_path_over_several_tokens_names_them_with_their_layers() -> None:
    routes = strongest_routes([TO_NEXT] * 2, 0, enough=0.1, residual=0.0)

    said = path_words.paths_answer(routes, routes, 0, TOKENS).replace(THIN_SPACE, " ")

    assert said.startswith(
        "The strongest path to query 0 “the” comes from token 2 “sat”, goes through token 1 “<b>” in layer 0, reaches "
        "it in layer 1 and carries 100 %"
    )
    assert "another token" not in said


def test_what_is_seen_of_paths_names_the_strongest() -> None:
    assert path_words.paths_alt(ROUTES, 2, 2, TOKENS).replace(THIN_SPACE, " ") == (
        "5 links between 3 columns of 3 tokens, the input on the left. Strongest paths: 2 “sat” to 2 “sat” to 2 “sat”, "
        "50.0 %; 0 “the” to 0 “the” to 2 “sat”, 25.0 %; 1 “<b>” to 0 “the” to 2 “sat”, 25.0 %."
    )


def test_bars_of_flow_lead_from_that_of_uniform_attention_over_the_range_of_both() -> None:
    flows, uniform = np.array([0.9, 0.95, 1.0]), np.array([1.0, 1.0, 0.98])
    figure = flow_bars(flows, uniform, TOKENS, [0, 2], key=2)

    bars, even, flow = figure.data
    assert (bars.base.tolist(), bars.x.tolist()) == (pytest.approx([1.0, 0.98]), pytest.approx([-0.1, 0.02], abs=1e-6))
    assert (even.x.tolist(), flow.x.tolist()) == (pytest.approx([1.0, 0.98]), pytest.approx([0.9, 1.0]))
    assert list(flow.marker.color) == [LIGHT.mark, LIGHT.accent]
    assert list(figure.layout.xaxis.range) == pytest.approx([0.896, 1.004])
    assert figure.layout.meta["ticks"]["y"] == ("0 the", "2 sat")


def test_an_axis_of_flows_that_are_the_same_is_not_filled_by_noise() -> None:
    left, right = flow_bars(np.ones(3), np.full(3, 1 - 1e-6), TOKENS, [0, 1, 2], key=0).layout.xaxis.range

    assert right - left >= LEAST_WIDTH
    assert left < 0.99 < 1 <= right
