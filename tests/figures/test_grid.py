"""The grid of heads: from each cell of the one heatmap back to head, query and key."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.figures import head_grid
from attnviz.figures.grid import heads_shown, largest_shown
from attnviz.figures.labels import escaped, visible
from attnviz.figures.montage import grid_height, grid_shape
from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics import overview
from attnviz.metrics.pooling import MOST_CELLS, MOST_HEADS, MOST_SIDE
from tests.figures.test_pooling import slow_pool
from tests.figures.traces import NASTY, random_trace, trace_of


def grid(trace, head: int = 0, *, roles=None, scale: str = SINGLE_HUE, shared_scale: bool = True, fit: int = 8):
    names = ("",) * trace.n_heads if roles is None else roles
    small = overview(trace)
    return head_grid(trace, small, names, selected=head, scale=scale, shared_scale=shared_scale, fit=fit)


def maps_in(picture) -> dict[int, np.ndarray]:
    """The map of each head, one value a block of queries and keys, read out of the picture by its own description."""
    z, cells = np.asarray(picture.data[0].z), picture.layout.meta["cells"]
    blocks: dict[int, dict[tuple[int, int], float]] = {head: {} for head in cells["heads"]}
    gaps = np.isnan(z)
    for row, column in zip(*np.nonzero(~gaps), strict=True):
        inside_row = row % cells["pitch_rows"] - cells["map_top"]
        inside_column = column % cells["pitch_columns"]
        assert 0 <= inside_row < cells["map_rows"]
        assert 0 <= inside_column < cells["map_columns"]
        place = row // cells["pitch_rows"] * cells["grid_columns"] + column // cells["pitch_columns"]
        query = math.floor(inside_row * cells["rows_per_cell"]) + cells["first_row"]
        key = math.floor(inside_column * cells["columns_per_cell"]) + cells["first_column"]
        assert query < len(cells["rows"])
        assert key < len(cells["columns"])
        head = cells["heads"][place]
        assert blocks[head].setdefault((query, key), z[row, column]) == z[row, column]
    found = {}
    for head, values in blocks.items():
        rows, columns = (sorted({place[axis] for place in values}) for axis in range(2))
        assert len(values) == len(rows) * len(columns)
        found[head] = np.array([[values[row, column] for column in columns] for row in rows])
    cells_drawn = sum(one.size for one in found.values())
    assert (~gaps).sum() == cells_drawn * max(round(1 / cells["rows_per_cell"]), 1) ** 2
    return found


def allowed_only(found: np.ndarray) -> np.ndarray:
    return np.where(found < 0, np.nan, found)


@settings(max_examples=25)
@given(n_heads=st.integers(1, 24), n=st.integers(1, 30), fit=st.integers(2, 16), causal=st.booleans())
def test_every_cell_leads_back_to_the_weight_of_its_head_query_and_key(
    n_heads: int, n: int, fit: int, causal: bool
) -> None:
    mask = np.tril(np.ones((n, n), dtype=bool)) if causal else None
    trace = random_trace(n_heads, n, mask)

    found = maps_in(grid(trace, fit=fit))

    assert list(found) == list(range(n_heads))
    right = np.where(trace.mask, trace.weights, np.nan).astype(np.float32)
    for head in range(n_heads):
        np.testing.assert_array_equal(allowed_only(found[head]), right[head])


@pytest.mark.parametrize("n", [1, 2, 3, 24, 25])
def test_one_head_of_any_length_is_read_back_too(n: int) -> None:
    trace = random_trace(1, n)

    np.testing.assert_array_equal(maps_in(grid(trace))[0], trace.weights[0].astype(np.float32))


@pytest.mark.parametrize("causal", [False, True])
def test_200_tokens_are_pooled_by_two_and_each_cell_is_the_largest_of_its_block(causal: bool) -> None:
    mask = np.tril(np.ones((200, 200), dtype=bool)) if causal else None
    trace = random_trace(3, 200, mask)

    picture = grid(trace)

    assert (picture.layout.meta["cells"]["rows_per_cell"], picture.layout.meta["cells"]["columns_per_cell"]) == (2, 2)
    right = slow_pool(trace.weights, trace.mask, MOST_SIDE)
    for head, found in maps_in(picture).items():
        assert found.shape == (100, 100)
        np.testing.assert_allclose(
            allowed_only(found), right[head], rtol=0, atol=0.002 * trace.weights[head].max() + 1e-7
        )


@pytest.mark.parametrize("head", [0, 63, 64, 99])
def test_of_100_heads_the_64_around_the_chosen_one_are_shown(head: int) -> None:
    trace = random_trace(100, 5)
    shown = range(64) if head < 64 else range(64, 100)

    picture = grid(trace, head)

    found = maps_in(picture)
    assert list(found) == list(shown)
    for number in shown:
        np.testing.assert_array_equal(found[number], trace.weights[number].astype(np.float32))
    frames = [shape for shape in picture.layout.shapes if shape.line.color == LIGHT.accent]
    assert len(frames) == 1


@pytest.mark.parametrize(("n_heads", "n"), [(1, 500), (8, 129), (16, 300), (64, 140)])
def test_what_the_grid_draws_is_bounded(n_heads: int, n: int) -> None:
    small = overview(random_trace(n_heads, n))

    assert small.maps.size <= MOST_CELLS
    assert max(small.maps.shape[1:]) <= MOST_SIDE
    assert small.maps.shape == (n_heads, math.ceil(n / small.step_q), math.ceil(n / small.step_k))


@given(st.integers(1, MOST_HEADS), st.integers(2, 16))
def test_the_rows_of_maps_hold_every_head_and_none_is_empty(n_maps: int, fit: int) -> None:
    rows, columns = grid_shape(n_maps, fit)

    assert rows * columns >= n_maps
    assert (rows - 1) * columns < n_maps
    assert columns <= 2 * fit
    assert grid_height(rows, columns, fit) > 0


def test_eight_heads_are_one_row_of_at_most_420_pixels() -> None:
    assert grid_shape(8, fit=8) == (1, 8)
    assert grid_height(1, 8, fit=8) <= 420


def test_the_frame_of_the_chosen_head_is_around_its_map() -> None:
    picture = grid(random_trace(6, 30), head=4, fit=3)
    cells = picture.layout.meta["cells"]
    top = cells["pitch_rows"] + cells["map_top"] - 0.5
    left = cells["pitch_columns"] - 0.5

    path = picture.layout.shapes[-1].path

    assert path == f"M{left},{top} H{left + cells['map_columns']} V{top + cells['map_rows']} H{left} Z"


def test_a_small_title_stands_above_each_map_with_the_number_and_the_name() -> None:
    roles = ("<b>x</b>", "", "previous token and more", "$y$")
    picture = grid(random_trace(4, 30), roles=roles)

    titles = picture.data[1]

    assert list(titles.text) == [
        f"<b>0</b> {escaped('<b>x</b>')}",
        "<b>1</b>",
        "<b>2</b> previous token …",
        f"<b>3</b> {escaped('$y$')}",
    ]
    cells = picture.layout.meta["cells"]
    for number, (x, y) in enumerate(zip(titles.x, titles.y, strict=True)):
        assert x == number * cells["pitch_columns"] - 0.5
        assert -0.5 < y < cells["map_top"] - 0.5, "inside the room above the map"


def test_the_axes_of_the_grid_are_named_and_rows_run_downwards() -> None:
    layout = grid(random_trace(4, 6)).layout

    assert "key (column)" in layout.xaxis.title.text
    assert "query (row)" in layout.yaxis.title.text
    assert layout.yaxis.range[0] > layout.yaxis.range[1]


def test_all_heads_share_one_scale_up_to_the_largest_weight_of_all_which_is_said() -> None:
    trace = trace_of(np.array([[[0.25, 0.75], [0.5, 0.5]], [[0.4, 0.6], [0.5, 0.5]]]) / 4)

    heatmap = grid(trace).data[0]

    assert (heatmap.zmin, heatmap.zmax) == (0, 0.1875)
    assert list(heatmap.colorbar.ticktext) == ["0", "0.094", "0.19"]
    assert heatmap.colorbar.title.text == "weight"


def test_a_largest_weight_of_a_half_or_more_makes_the_scale_end_at_1() -> None:
    heatmap = grid(trace_of(np.array([[[0.5, 0.5], [0.25, 0.75]]]))).data[0]

    assert (heatmap.zmin, heatmap.zmax) == (0, 1)
    assert list(heatmap.colorbar.ticktext) == ["0", "0.5", "1"]


def test_per_head_each_map_is_a_share_of_its_own_largest_weight_which_is_said() -> None:
    trace = random_trace(3, 7)

    picture = grid(trace, shared_scale=False)

    for head, found in maps_in(picture).items():
        np.testing.assert_allclose(found, trace.weights[head] / trace.weights[head].max(), rtol=1e-6)
        assert found.max() == 1
    assert picture.data[0].colorbar.title.text == "share of<br>the largest"
    assert picture.layout.meta["cells"]["value"] == "weight over largest of head"


def test_per_head_a_head_without_any_weight_stays_forbidden() -> None:
    masks = np.stack([np.zeros((2, 2), dtype=bool), np.ones((2, 2), dtype=bool)])
    found = maps_in(grid(trace_of(masks / 2, masks), shared_scale=False))

    assert (found[0] < 0).all()
    assert (found[1] == 1).all()


def test_tokens_are_plain_text_in_the_description_of_the_cells() -> None:
    n = len(NASTY)
    cells = grid(trace_of(np.full((2, n, n), 1 / n), tokens=NASTY)).layout.meta["cells"]

    assert list(cells["rows"]) == list(cells["columns"]) == [visible(token) for token in NASTY]
    assert (cells["row_name"], cells["column_name"], cells["click"]) == ("query", "key", "head")


def test_the_overview_tells_the_largest_weight_of_each_query_exactly() -> None:
    trace = random_trace(5, 150)

    small = overview(trace)

    np.testing.assert_array_equal(small.largest_weight, trace.weights.max(axis=2))
    np.testing.assert_array_equal(
        np.fmax.reduce(small.maps, axis=(1, 2)), trace.weights.max(axis=(1, 2)).astype(np.float32)
    )
    assert (small.maps.shape[0], small.step_q, small.step_k, small.allowed_share) == (5, 2, 2, 1)


@given(st.integers(1, 300), st.data())
def test_the_heads_shown_are_a_block_of_at_most_64_with_the_chosen_one_and_blocks_share_no_head(
    n_heads: int, data: st.DataObject
) -> None:
    head, other = (data.draw(st.integers(0, n_heads - 1)) for _ in range(2))
    shown = heads_shown(head, n_heads)

    assert head in shown
    assert 1 <= len(shown) <= MOST_HEADS
    assert shown[-1] < n_heads
    assert (other in shown) == (heads_shown(other, n_heads) == shown)


def test_the_scale_ends_at_the_largest_weight_of_the_heads_that_are_shown() -> None:
    weights = np.full((70, 2, 4), 0.25)
    weights[3, 0], weights[69, 1] = (0.4, 0.2, 0.2, 0.2), (0.3, 0.3, 0.2, 0.2)
    small = overview(trace_of(weights))

    assert [largest_shown(small, head) for head in (0, 63, 64, 69)] == np.array(
        [0.4, 0.4, 0.3, 0.3], dtype=np.float32
    ).tolist()
    assert grid(trace_of(weights), 66).data[0].zmax == np.float32(0.3)
