"""The heatmap of one head: cells, axes, labels, what is forbidden, zoom and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionTrace
from attnviz.figures import attention_heatmap
from attnviz.figures.labels import escaped, short, visible
from attnviz.figures.pattern import MOST_SIDE, MOST_TICKS, fitting_window, is_exact, map_part
from attnviz.figures.theme import SINGLE_HUE
from attnviz.metrics import survey
from attnviz.metrics.pooling import Window
from attnviz.registries import MASKS
from tests.figures.traces import NASTY, random_trace, sentence_trace, trace_of

FULL, CAUSAL = MASKS["full"].spec(), MASKS["causal"].spec()


def drawn(trace: AttentionTrace, head: int = 0, **changed: Any) -> go.Figure:
    found = survey(trace)
    of_its_own = float(np.nanmax(found.measures["largest_weight"][head], initial=0.0)) or 1.0
    options: dict[str, Any] = {"role": "", "query": 0, "key": 0, "scale": SINGLE_HUE, "top": of_its_own, **changed}
    return attention_heatmap(trace, found, head=head, **options)


def cells_of(picture) -> np.ndarray:
    return np.asarray(picture.data[0].z)


@pytest.mark.parametrize(
    "tokens",
    [
        ["the", "cat", "sat", "on", "the", "mat"],
        ["1", "2", "3", "+"],
        ["2024-01-01", "2024-01-02", "2024-01-01"],
        ["1e5", "nan", "inf", "true"],
        ["only"],
    ],
    ids=" ".join,
)
def test_the_axes_are_the_numbers_of_the_tokens_and_every_token_keeps_its_row_and_column(tokens: list[str]) -> None:
    trace = sentence_trace(tokens, FULL)
    n = len(tokens)

    picture = drawn(trace, head=1)

    assert cells_of(picture).shape == (n, n)
    np.testing.assert_array_equal(cells_of(picture), trace.weights[1])
    heatmap = picture.data[0]
    assert (heatmap.x0, heatmap.dx, heatmap.y0, heatmap.dy) == (0, 1, 0, 1)
    for axis in (picture.layout.xaxis, picture.layout.yaxis):
        assert (axis.type, axis.tickmode) == ("linear", "array")
        assert list(axis.tickvals) == list(range(n))
        assert list(axis.ticktext) == tokens
    assert list(picture.layout.xaxis.range) == [-0.5, n - 0.5]
    assert list(picture.layout.yaxis.range) == [n - 0.5, -0.5], "the first query on top"


@pytest.mark.parametrize("token", NASTY, ids=lambda token: token.encode("unicode_escape").decode() or "empty")
def test_a_nasty_token_is_literal_in_ticks_and_labels(token: str) -> None:
    trace = sentence_trace(("a", token, "b", token), FULL)

    picture = drawn(trace)

    for axis in (picture.layout.xaxis, picture.layout.yaxis):
        assert list(axis.ticktext) == ["a", escaped(short(token)), "b", escaped(short(token))]
    meta = picture.layout.meta
    assert list(meta["cells"]["rows"]) == list(meta["cells"]["columns"]) == ["a", visible(token), "b", visible(token)]
    assert list(meta["ticks"]["x"]) == list(meta["ticks"]["y"]) == ["a", short(token), "b", short(token)]


def test_the_axes_are_named() -> None:
    layout = drawn(sentence_trace("ab", FULL)).layout

    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("key (column)", "query (row)")


def test_every_cell_above_the_diagonal_of_a_causal_head_is_forbidden_and_no_other() -> None:
    trace = sentence_trace("abcdef", CAUSAL)
    assert not np.triu(trace.weights, k=1).any()

    values = cells_of(drawn(trace, head=2))

    above = np.triu(np.ones((6, 6), dtype=bool), k=1)
    assert (values[above] < 0).all()
    np.testing.assert_array_equal(values[~above], trace.weights[2][~above])


def test_a_bidirectional_head_hides_nothing() -> None:
    trace = sentence_trace("abcdef", FULL)

    picture = drawn(trace)

    assert (cells_of(picture) > 0).all()
    assert (picture.data[0].zmin, "forbidden" in picture.data[0].colorbar.ticktext) == (0, False)


def test_a_weight_of_zero_is_not_a_forbidden_cell() -> None:
    trace = trace_of(np.array([[[1.0, 0.0], [0.0, 0.0]]]), np.array([[True, True], [False, False]]))

    values = cells_of(drawn(trace))

    assert values[0].tolist() == [1, 0]
    assert (values[1] < 0).all()


def test_a_query_without_a_key_is_marked_on_its_axis_and_only_it() -> None:
    trace = sentence_trace("abc", FULL, MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=1))

    picture = drawn(trace)

    assert list(picture.layout.yaxis.ticktext) == ["⊘ a", "b", "c"]
    assert list(picture.layout.meta["ticks"]["y"]) == ["⊘ a", "b", "c"]
    assert list(picture.layout.xaxis.ticktext) == ["a", "b", "c"]


def test_each_head_is_drawn_with_its_own_mask() -> None:
    masks = np.stack([np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool)])
    trace = trace_of(masks / masks.sum(axis=-1, keepdims=True), masks)

    assert (cells_of(drawn(trace, head=0)) < 0).tolist() == [[False, True], [True, False]]
    assert (cells_of(drawn(trace, head=1)) >= 0).all()


@pytest.mark.parametrize("top", [1.0, 0.25])
def test_a_shared_scale_ends_at_its_top_for_every_head(top: float) -> None:
    trace = sentence_trace("abcd", FULL)

    ends = {drawn(trace, head=head, top=top).data[0].zmax for head in range(trace.n_heads)}

    assert ends == {top}


def test_a_scale_of_its_own_ends_at_the_largest_weight_of_the_head_which_is_said() -> None:
    trace = trace_of(np.array([[[0.75, 0.25], [0.5, 0.5]]]))

    heatmap = drawn(trace).data[0]

    assert (heatmap.zmin, heatmap.zmax) == (0, 0.75)
    assert list(heatmap.colorbar.tickvals) == [0, 0.375, 0.75]
    assert list(heatmap.colorbar.ticktext) == ["0", "0.38", "0.75"]


def test_a_head_without_any_weight_has_a_scale_to_1() -> None:
    heatmap = drawn(trace_of(np.zeros((1, 2, 2)), np.zeros((2, 2), dtype=bool))).data[0]

    assert heatmap.zmax == 1
    assert (np.asarray(heatmap.z) < 0).all()


def test_the_chosen_cell_and_its_row_are_framed() -> None:
    shapes = drawn(sentence_trace("abcde", FULL), query=3, key=1).layout.shapes

    corners = [(shape.x0, shape.y0, shape.x1, shape.y1) for shape in shapes]
    assert corners == [(-0.5, -0.5, 4.5, 4.5), (0.5, 2.5, 1.5, 3.5), (-0.5, 2.5, 4.5, 3.5)]


def test_the_cells_of_a_picture_say_which_head_they_show() -> None:
    cells = drawn(sentence_trace("ab", FULL), head=3, role="uniform").layout.meta["cells"]

    assert (list(cells["heads"]), list(cells["roles"]), cells["value"], cells["click"]) == (
        [3],
        ["uniform"],
        "weight",
        "cell",
    )


def test_a_window_of_a_long_head_shows_every_weight_exactly() -> None:
    trace = random_trace(2, 300, np.tril(np.ones((300, 300), dtype=bool)))
    window = Window(20, 276, 40, 296)

    picture = drawn(trace, head=1, window=window)

    part = trace.weights[1, 20:276, 40:296].astype(np.float32)
    allowed = trace.mask[0, 20:276, 40:296]
    np.testing.assert_array_equal(cells_of(picture)[allowed], part[allowed])
    assert (cells_of(picture)[~allowed] < 0).all()
    heatmap, cells = picture.data[0], picture.layout.meta["cells"]
    assert (heatmap.x0, heatmap.dx, heatmap.y0, heatmap.dy) == (40, 1, 20, 1)
    assert (cells["first_row"], cells["first_column"], cells["rows_per_cell"]) == (20, 40, 1)
    assert cells["zoom"]
    for axis, first, end in ((picture.layout.xaxis, 40, 296), (picture.layout.yaxis, 20, 276)):
        assert len(axis.tickvals) <= MOST_TICKS
        assert all(first <= place < end for place in axis.tickvals)
        assert list(axis.ticktext) == [f"t{place}" for place in axis.tickvals]
    assert list(picture.layout.xaxis.range) == [-0.5, 299.5], "the axes stay those of the whole map"


def test_a_long_head_shows_the_largest_weight_of_each_block_in_its_place() -> None:
    n, step = 600, 3
    trace = random_trace(1, n, np.tril(np.ones((n, n), dtype=bool)))

    picture = drawn(trace)

    values, heatmap = cells_of(picture), picture.data[0]
    assert values.shape == (200, 200)
    assert (heatmap.x0, heatmap.dx, heatmap.y0, heatmap.dy) == (1, step, 1, step)
    cells = picture.layout.meta["cells"]
    assert (cells["rows_per_cell"], cells["columns_per_cell"], cells["first_row"]) == (step, step, 0)
    assert cells["zoom"]
    blocks = np.where(trace.mask[0], trace.weights[0], -1).reshape(200, step, 200, step).max(axis=(1, 3))
    assert ((values < 0) == (blocks < 0)).all()
    np.testing.assert_allclose(values[blocks >= 0], blocks[blocks >= 0], atol=0.002 * trace.weights.max())


@pytest.mark.parametrize("window", [None, Window(20, 290, 0, 300), Window(7, 9, 250, 260)])
def test_weights_that_are_computed_before_make_the_same_picture(window: Window | None) -> None:
    trace = random_trace(2, 300, np.tril(np.ones((300, 300), dtype=bool)))
    part = map_part(trace, 1, window or Window(0, 300, 0, 300))

    assert drawn(trace, head=1, window=window, part=part) == drawn(trace, head=1, window=window)


def test_few_tokens_ask_for_no_exact_values() -> None:
    assert not drawn(sentence_trace("abc", FULL)).layout.meta["cells"]["zoom"]


edges = st.floats(-1e6, 1e6)


@given(st.tuples(edges, edges, edges, edges), st.integers(1, 3000), st.integers(1, 3000))
def test_any_window_a_browser_asks_for_is_brought_inside_the_map(
    wanted: tuple[float, float, float, float], n_q: int, n_k: int
) -> None:
    window = fitting_window(wanted, n_q, n_k)

    assert 0 <= window.top < window.bottom <= n_q
    assert 0 <= window.left < window.right <= n_k


def test_no_window_is_the_whole_map_and_a_window_inside_is_rounded_to_cells() -> None:
    assert fitting_window(None, 7, 9) == Window(0, 7, 0, 9)
    assert fitting_window((1.2, 3.8, 0.4, 6.6), 7, 9) == Window(1, 4, 0, 7)


@pytest.mark.parametrize(("side", "exact"), [(MOST_SIDE, True), (MOST_SIDE + 1, False)])
def test_a_window_is_exact_up_to_256_tokens(side: int, exact: bool) -> None:
    assert is_exact(Window(0, side, 0, 3)) is exact
    assert is_exact(Window(0, 3, 5, 5 + side)) is exact
