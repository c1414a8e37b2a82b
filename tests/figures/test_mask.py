"""Pictures of masks: which cells are allowed, what their numbers say."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.cost import pair_cost
from attnviz.figures import keys_allowed, mask_heatmap, mask_row, mask_words
from attnviz.figures.colours import MaskScale
from attnviz.figures.mask import reading_heatmap
from attnviz.figures.pattern import map_part
from attnviz.metrics import overview
from attnviz.metrics.pooling import Window
from tests.figures.traces import random_trace, trace_of

CAUSAL_4 = np.tri(4, dtype=bool)


def heatmap_of(mask: np.ndarray) -> np.ndarray:
    n = len(mask)
    trace = random_trace(1, n, mask)
    window = Window(0, n, 0, n)
    picture = mask_heatmap(
        trace,
        map_part(trace, 0, window),
        window,
        head=0,
        query=0,
        key=0,
        has_keys=mask.any(axis=1),
    )
    return np.asarray(picture.data[0].z)


@pytest.mark.parametrize("mask", [CAUSAL_4, np.eye(5, dtype=bool), np.zeros((3, 3), dtype=bool), np.ones((1, 1), bool)])
def test_allowed_cells_are_1_and_forbidden_ones_have_the_value_of_their_own_colour(mask: np.ndarray) -> None:
    values = heatmap_of(mask)

    np.testing.assert_array_equal(values, np.where(mask, 1.0, MaskScale().forbidden_value).astype(np.float32))


def test_a_block_of_a_long_mask_is_allowed_where_any_of_its_pairs_is() -> None:
    mask = np.zeros((512, 512), dtype=bool)
    mask[0, 1] = mask[511, 510] = True

    values = heatmap_of(mask)

    assert values.shape == (256, 256)
    assert np.argwhere(values == 1).tolist() == [[0, 0], [255, 255]]


def test_masks_side_by_side_are_in_their_order_with_their_names() -> None:
    trace = random_trace(1, 4)
    picture = mask_row({"a <b>": CAUSAL_4, "all": np.ones((4, 4), dtype=bool)}, trace)

    assert list(picture.data[1].text) == ["a &lt;b&gt;", "all"]
    cells = picture.layout.meta["cells"]
    assert cells["roles"] == ("a <b>", "all")
    grow = 1 / cells["rows_per_cell"]
    z = np.asarray(picture.data[0].z)[cells["map_top"] :: int(grow), :: int(grow)]
    np.testing.assert_array_equal(z[:4, :4] == 1, CAUSAL_4)


def test_the_line_shows_how_many_keys_each_query_has_and_marks_the_chosen_one() -> None:
    picture = keys_allowed(np.array([1, 2, 3, 4]), random_trace(1, 4, CAUSAL_4), query=2)

    assert list(picture.data[0].y) == [1, 2, 3, 4]
    assert (list(picture.data[1].x), list(picture.data[1].y)) == ([2], [3])


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (CAUSAL_4, "10 of 16 pairs are allowed (62.5\u202f%): a query sees 1 to 4 keys, 2.50 on average."),
        (np.eye(4, dtype=bool), "4 of 16 pairs are allowed (25.0\u202f%): every query sees 1 key."),
        (np.zeros((4, 4), dtype=bool), "0 of 16 pairs are allowed (0\u202f%): every query sees 0 keys."),
    ],
)
def test_the_answer_counts_pairs_and_keys(mask: np.ndarray, said: str) -> None:
    assert mask_words.mask_answer(overview(random_trace(2, 4, mask)), 1) == said


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([1, 2, 3], "Query 0 “the” sees the fewest, 1 key; query 2 “<s>” the most, 3 of 3."),
        ([0, 0, 3], "Queries 0 and 1 see no key; query 2 “<s>” the most, 3 of 3."),
        ([2, 2, 2], "Every query may attend to 2 keys of 3."),
        ([1, 3, 3], "Query 0 “the” sees the fewest, 1 key; queries 1 and 2 the most, 3 of 3."),
    ],
)
def test_the_queries_with_the_fewest_and_the_most_keys_are_named_all_of_them(counts: list[int], said: str) -> None:
    trace = trace_of(np.zeros((1, 3, 3)), tokens=("the", "cat", "<s>"))

    assert mask_words.keys_answer(np.array(counts), trace) == said


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ([4], "query 4 “t4”"),
        ([0, 1, 2], "queries 0 to 2"),
        ([0, 1], "queries 0 and 1"),
        ([1, 5, 7], "queries 1, 5 and 7"),
        ([0, 2, 4, 6], "4 queries (the first is query 0)"),
    ],
)
def test_several_queries_are_a_range_a_list_or_a_number(places: list[int], said: str) -> None:
    assert mask_words.queries_named(places, random_trace(1, 8)) == said


def test_the_axis_of_the_queries_has_number_and_token_while_they_fit() -> None:
    trace = trace_of(np.zeros((1, 2, 2)), tokens=("it", "<b>"))

    picture = keys_allowed(np.array([1, 2]), trace, query=1)

    assert list(picture.layout.xaxis.ticktext) == ["0 it", "1 &lt;b&gt;"]
    assert picture.layout.meta["ticks"]["x"] == ("0 it", "1 <b>")
    assert list(picture.data[0].text) == ["it", "&lt;b&gt;"]
    assert picture.data[1].name == "query 1", "a legend takes no markup"
    assert keys_allowed(np.array([1, 2]), trace, query=0).data[1].name == "query 0 it"
    assert keys_allowed(np.ones(50, dtype=int), random_trace(1, 50), query=0).layout.xaxis.ticktext is None


def test_what_skipping_pairs_saves_is_said_with_what_a_dense_implementation_saves() -> None:
    said = mask_words.saved_answer(pair_cost(968, 8, 8), pair_cost(528, 8, 8), 391_424)

    assert said == (
        "Of the layer's 391\u202fkFLOP, 31.0\u202fkFLOP are for scores and context, the rest for projections. The "
        "allowed pairs alone would take 16.9\u202fkFLOP, and 2.11\u202fkB instead of 3.87\u202fkB "
        "for the weights: 45.5\u202f% less. A dense implementation computes every pair and then hides some, so it "
        "saves nothing."
    )
    assert mask_words.saved_answer(pair_cost(9, 8, 8), pair_cost(9, 8, 8), 9_999) == (
        "No pair is forbidden, so skipping forbidden pairs saves nothing."
    )


def test_where_positions_start_is_said_with_at_most_three_places() -> None:
    assert mask_words.positions_answer([3, 4], [0, 1], of_keys=False) == (
        "Positions count from the first token that is not padding: 0, 1 (places 3, 4)."
    )
    assert mask_words.positions_answer([2, 3, 4, 5], [0, 1, 2, 3], of_keys=True) == (
        "Positions of keys count from the first token that is not padding: 0, 1, 2 … (places 2, 3, 4 …)."
    )
    assert mask_words.positions_answer([4], [0], of_keys=False).endswith(": 0 (place 4).")


def test_the_opposite_reading_is_drawn_cell_by_cell_and_of_a_block_any_pair() -> None:
    small, large = np.tri(3, dtype=bool), np.eye(300, dtype=bool)
    trace = trace_of(np.zeros((1, 3, 3)))

    opposite = reading_heatmap(trace, ~small, Window(0, 3, 0, 3), head=0, query=0, key=0)
    blocks = reading_heatmap(random_trace(1, 300), large, Window(0, 300, 0, 200), head=0, query=0, key=0)

    assert (np.asarray(opposite.data[0].z) == 1).tolist() == (~small).tolist()
    assert opposite.layout.meta["ticks"]["y"][2].startswith("⊘"), "the last query has no key left"
    assert np.asarray(blocks.data[0].z).shape == (150, 200)
    assert (np.asarray(blocks.data[0].z)[1] == 1).nonzero()[0].tolist() == [2, 3]


def test_few_keys_are_counted_in_whole_numbers() -> None:
    few, many = (
        keys_allowed(np.array([count, count]), trace_of(np.zeros((1, 2, count))), query=0).layout.yaxis
        for count in (3, 40)
    )

    assert (few.tick0, few.dtick, many.dtick) == (0, 1, None)
