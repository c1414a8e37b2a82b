"""Links as lines: each from its query to its key, strong with its weight, in a colour for each head."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from plotly.colors import hex_to_rgb

from attnviz import AttentionTrace
from attnviz.figures import attention_lines
from attnviz.figures.lines import FAINT, MOST_HEIGHT, PALER, SPREAD, STRONG, colour_of
from attnviz.figures.theme import DARK_FOR_LIGHT, LIGHT
from attnviz.metrics.links import strongest_links
from attnviz.metrics.viewing import PLAIN, View
from tests.figures.test_colours import contrast, linear
from tests.figures.traces import numbered, random_trace, trace_of

WEIGHTS = np.array([[[0.9, 0.1, 0], [0.5, 0.5, 0], [0, 0, 1.0]], [[0, 1.0, 0], [0, 0.3, 0.7], [0.2, 0.8, 0]]])
SEES_LIKE = {
    "anyone": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.052]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.96888]]
    ),
}
OKLAB_CONES = np.array([[0.412221, 0.536333, 0.051446], [0.211903, 0.6807, 0.107397], [0.088302, 0.281719, 0.629979]])
OKLAB = np.array([[0.210454, 0.793618, -0.004072], [1.977998, -2.428592, 0.450594], [0.025904, 0.782772, -0.808676]])


def picture(trace: AttentionTrace, heads: range, query: int, most: int = 2000, *, head: int = 0, view: View = PLAIN):
    of_query = strongest_links(trace, heads, 200, rows=range(query, query + 1), view=view)
    links = strongest_links(trace, heads, most, view=view)
    tokens = (trace.query_tokens, trace.key_tokens)
    return attention_lines(links, of_query, *tokens, heads=heads, head=head, query=query, view=view)


def drawn(figure) -> list[tuple[str, float, int, float]]:
    """Colour, opacity, query and end of every line."""
    found = []
    for trace in figure.data:
        if not trace.name.startswith(("head", "the")) or len(trace.x) < 3:
            continue
        assert np.isnan(trace.x[2::3]).all()
        assert np.isnan(trace.y[2::3]).all()
        assert trace.x[0::3].tolist() == [0.0] * (len(trace.x) // 3), "queries are on the left"
        assert trace.x[1::3].tolist() == [1.0] * (len(trace.x) // 3), "keys are on the right"
        ends = zip(trace.y[0::3].tolist(), trace.y[1::3].tolist(), strict=True)
        found += [(trace.line.color, trace.opacity, int(start), end) for start, end in ends]
    return found


def test_every_link_is_one_line_from_its_query_to_its_key_in_the_colour_of_its_head() -> None:
    lines = drawn(picture(trace_of(WEIGHTS), range(2), query=1))

    expected = {(colour_of(head), query, key) for head, query, key in np.argwhere(WEIGHTS > 0).tolist()}
    assert {(colour, query, round(end)) for colour, _, query, end in lines} == expected
    assert len(lines) == len(expected)


def test_a_line_is_as_strong_as_its_quarter_of_the_largest_weight_and_faint_for_other_queries() -> None:
    lines = {
        (colour, query, round(end)): opacity
        for colour, opacity, query, end in drawn(picture(trace_of(WEIGHTS), range(2), 1))
    }

    assert lines[colour_of(0), 1, 0] == STRONG[2][0], "0.5 is in the third quarter of 1"
    assert lines[colour_of(1), 1, 2] == STRONG[2][0]
    assert lines[colour_of(1), 1, 1] == STRONG[1][0]
    assert lines[colour_of(0), 2, 2] == FAINT[3][0]
    assert lines[colour_of(0), 0, 1] == FAINT[0][0]


def test_the_faintest_line_of_the_chosen_query_is_stronger_than_the_strongest_of_any_other() -> None:
    assert min(opacity for opacity, _ in STRONG) > max(opacity for opacity, _ in FAINT)
    widths = [(strong, faint) for (_, strong), (_, faint) in zip(STRONG, FAINT, strict=True)]
    assert all(strong > 1.5 * faint for strong, faint in widths)


def test_lines_of_several_heads_from_the_chosen_query_to_one_key_end_side_by_side() -> None:
    weights = np.stack([np.eye(3)] * 3)

    ends = {(colour, query): end for colour, _, query, end in drawn(picture(trace_of(weights), range(3), query=1))}

    assert [ends[colour_of(head), 1] for head in range(3)] == pytest.approx([1 - SPREAD / 3, 1, 1 + SPREAD / 3])
    assert [ends[colour_of(head), 2] for head in range(3)] == [2, 2, 2], "all other queries' lines end at their key"


def test_links_of_the_chosen_query_are_drawn_last_and_even_where_others_are_stronger() -> None:
    lines = drawn(picture(trace_of(WEIGHTS), range(1), query=1, most=2))

    assert [(query, key) for _, _, query, key in lines] == [(2, 2), (0, 0), (1, 0), (1, 1)]


def test_one_head_keeps_its_colour_and_is_the_only_one_in_the_legend() -> None:
    figure = picture(random_trace(4, 5), range(3, 4), query=0, head=3)

    assert {colour for colour, *_ in drawn(figure)} == {colour_of(3)}
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == ["head 3"]


def test_of_more_than_twelve_heads_the_chosen_one_has_its_colour_and_is_on_top_of_the_others_in_grey() -> None:
    figure = picture(random_trace(14, 4), range(14), query=0, head=13)

    lines = drawn(figure)
    assert len(lines) == 14 * 16
    assert sum(colour == colour_of(13) for colour, *_ in lines) == 16
    assert {colour for colour, *_ in lines} == {colour_of(13), LIGHT.muted}
    of_query = [(colour, opacity) for colour, opacity, query, _ in lines if query == 0]
    assert [colour for colour, _ in of_query[-4:]] == [colour_of(13)] * 4, "drawn last"
    classes = {opacity for opacity, _ in STRONG}
    assert {opacity for colour, opacity in of_query if colour == LIGHT.muted} <= {PALER * one for one in classes}
    assert figure.layout.showlegend
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == ["the 13 other heads", "head 13"]


def test_hidden_keys_have_no_lines_but_a_badge_and_a_dot_of_their_own_colour() -> None:
    figure = picture(trace_of(WEIGHTS, tokens=("a", "b", "c")), range(2), query=1, view=View((0,), log_scale=True))

    lines = {(colour, query, round(end)): opacity for colour, opacity, query, end in drawn(figure)}
    assert {key for _, _, key in lines} == {1, 2}
    assert lines[colour_of(0), 1, 1] == STRONG[3][0], "0.5 of 0.5 that are left is 1"
    assert figure.layout.meta["badge"] == "key 0 a hidden, rows renormalised", "colours of a map do not apply"
    assert [note.name for note in figure.layout.annotations] == ["badge"]
    queries, keys, _ = figure.data[-3:]
    assert list(keys.marker.color) == [LIGHT.hidden, LIGHT.muted, LIGHT.muted]
    assert queries.marker.color == LIGHT.muted
    assert "badge" not in picture(trace_of(WEIGHTS), range(2), query=1).layout.meta


def test_both_columns_have_their_tokens_and_the_chosen_query_is_set_in_bold() -> None:
    weights = np.full((1, 2, 3), 1 / 3)
    links = strongest_links(trace_of(weights), range(1))
    figure = attention_lines(links, links, ("a<b", "c"), ("x", "y", "$z$"), heads=range(1), head=0, query=1)

    ticks = figure.layout.meta["ticks"]
    assert (ticks["y"], ticks["right"], ticks["strong"]) == (("a<b", "c"), ("x", "y", "$z$"), 1)
    assert list(figure.layout.yaxis.ticktext) == ["a&lt;b", "c"]
    assert list(figure.layout.yaxis2.ticktext) == ["x", "y", "&#36;z&#36;"]
    assert list(figure.layout.yaxis.range) == [2.5, -0.5], "both columns start at the top and use the same scale"
    queries, keys, chosen = figure.data[-3:]
    assert list(queries.text) == ["query 0 a&lt;b", "query 1 c"]
    assert (queries.meta, keys.meta) == ({"click": "query"}, None)
    assert (queries.y.tolist(), keys.y.tolist(), chosen.y.tolist()) == ([0, 1], [0, 1, 2], [1])
    assert (queries.mode, chosen.marker.color) == ("markers", LIGHT.accent)


def test_512_tokens_of_12_heads_are_few_lines_of_bounded_height() -> None:
    n = 512
    trace = random_trace(12, n)
    figure = picture(trace, range(12), query=7)

    assert len(figure.data) <= 12 + 2 * 12 * len(STRONG) + 3
    assert len(drawn(figure)) <= 2000 + 200
    assert figure.data[-3].mode == "lines", "points that cannot be seen apart are one line, which is quick to draw"
    assert len(figure.data[-3].x) == n
    assert figure.layout.height == MOST_HEIGHT
    assert len(figure.layout.yaxis.ticktext) <= 60
    assert figure.layout.meta["ticks"]["y"] == numbered(n)


@pytest.mark.parametrize("palette", [LIGHT.heads, tuple(DARK_FOR_LIGHT[colour] for colour in LIGHT.heads)])
def test_colours_of_heads_can_be_told_apart_and_seen_whatever_the_eyes(palette: tuple[str, ...]) -> None:
    background = LIGHT.background if palette == LIGHT.heads else DARK_FOR_LIGHT[LIGHT.background]

    assert len(set(palette)) == 12
    assert min(contrast(colour, background) for colour in palette) >= 3
    for name, eyes in SEES_LIKE.items():
        places = [_oklab(colour, eyes) for colour in palette]
        least = 0.16 if name == "anyone" else 0.09
        assert min(np.linalg.norm(one - other) for one, other in combinations(places, 2)) > least


def _oklab(colour: str, eyes: np.ndarray) -> np.ndarray:
    """Place of a colour among those that can be told apart (Ottosson 2020), seen by such eyes (Machado et al. 2009)."""
    seen = np.clip(eyes @ [linear(part / 255) for part in hex_to_rgb(colour)], 0, 1)
    return OKLAB @ np.cbrt(OKLAB_CONES @ seen)
