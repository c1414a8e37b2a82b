"""Pictures that compare: heads with each other, distances, one query key by key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import build_mask
from attnviz.figures import measure_panel, query_bars, similarity_matrix
from attnviz.figures.row import MOST_KEYS, keys_to_show
from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics import mean_over_queries, survey
from attnviz.registries import MASKS, SIMILARITIES
from tests.figures.traces import random_trace, sentence_trace, trace_of
from tests.strategies import seeds

CAUSAL, FULL = MASKS["causal"].spec(), MASKS["full"].spec()


def by_name(picture) -> dict[str, object]:
    return {trace.name: trace for trace in picture.data}


def matrix_of(trace, roles, selected: int = 0):
    similarity = SIMILARITIES["cosine"].function((trace,)).pairs
    return similarity, similarity_matrix(similarity, roles, selected=selected, scale=SINGLE_HUE, value="cosine")


def test_the_similarity_matrix_has_a_cell_for_each_pair_on_a_scale_from_0_to_1() -> None:
    similarity, picture = matrix_of(random_trace(5, 6), ("",) * 5, selected=2)

    heatmap = picture.data[0]
    np.testing.assert_array_equal(heatmap.z, similarity.astype(np.float32))
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)
    assert list(heatmap.colorbar.ticktext) == ["0", "0.5", "1"]
    assert heatmap.colorbar.title.text == "cosine"
    assert list(picture.layout.xaxis.ticktext) == list(picture.layout.yaxis.ticktext) == list("01234")
    frame = picture.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (-0.5, 4.5, 1.5, 2.5)
    assert picture.layout.meta["ticks"]["strong"] == 2


def test_the_rows_of_the_similarity_matrix_are_named_where_the_heads_are_few() -> None:
    roles = ("same word", "", "<b>")
    _, picture = matrix_of(random_trace(3, 4), roles)

    assert list(picture.layout.yaxis.ticktext) == ["0 same word", "1", "2 &lt;b&gt;"]
    assert list(picture.layout.meta["ticks"]["y"]) == ["0 same word", "1", "2 <b>"]
    assert list(picture.layout.meta["cells"]["rows"]) == ["head 0 same word", "head 1", "head 2 <b>"]
    assert picture.layout.meta["cells"]["click"] == "pair"

    _, many = matrix_of(random_trace(30, 4), ("role",) * 30)
    assert list(many.layout.yaxis.ticktext) == [str(head) for head in range(0, 30, 2)]


@pytest.mark.parametrize(("selected", "shown"), [(0, range(256)), (299, range(256, 300))])
def test_of_more_than_256_heads_the_block_around_the_chosen_one_is_shown_in_its_place(
    selected: int, shown: range
) -> None:
    similarity, picture = matrix_of(random_trace(300, 2), ("",) * 300, selected=selected)

    heatmap, cells = picture.data[0], picture.layout.meta["cells"]
    np.testing.assert_array_equal(heatmap.z, similarity[np.ix_(shown, shown)].astype(np.float32))
    assert heatmap.x0 == heatmap.y0 == cells["first_row"] == cells["first_column"] == shown[0]
    assert all(place in shown for place in picture.layout.xaxis.tickvals)


def panel(trace, roles=None, selected: int = 0):
    found = survey(trace)
    values, uniform = found.measures["mean_distance"], found.uniform["mean_distance"]
    names = roles or ("",) * trace.n_heads
    return values, uniform, measure_panel(values, uniform, names, selected=selected, name="Distance", unit="tokens")


@pytest.mark.parametrize("mask", [None, "causal", "padded"])
def test_the_panel_shows_the_means_of_the_measure_beside_the_baseline(mask: str | None) -> None:
    masks = {"causal": [CAUSAL], "padded": [CAUSAL, MASKS["padding_left"].spec(padded=3)]}
    trace = random_trace(4, 10, build_mask(masks.get(mask or "", []), 10, 10))

    values, uniform, picture = panel(trace)

    found = by_name(picture)
    means, even = found["mean of the head"], found["uniform over the allowed keys"]
    np.testing.assert_allclose(means.x, mean_over_queries(values), rtol=1e-6)
    np.testing.assert_allclose(even.x, np.repeat(mean_over_queries(uniform), 4), rtol=1e-6)
    assert list(means.y) == list(even.y) == [0, 1, 2, 3]
    quantiles = np.nanquantile(values, [0, 0.25, 0.75, 1], axis=1)
    for name, low, high in (("all queries", 0, 3), ("middle half of the queries", 1, 2)):
        lines = np.asarray(found[name].x).reshape(4, 3)
        np.testing.assert_allclose(lines[:, 0], quantiles[low], rtol=1e-6)
        np.testing.assert_allclose(lines[:, 1], quantiles[high], rtol=1e-6)
        assert np.isnan(lines[:, 2]).all(), "a gap, so that the heads are not joined"


def test_uniform_and_previous_token_heads_of_equal_mean_distance_are_told_apart_by_their_spread() -> None:
    mask = np.tril(np.ones((4, 4), dtype=bool))
    previous = np.eye(4)[[0, 0, 1, 2]]
    trace = trace_of(np.stack([previous, mask / mask.sum(axis=1, keepdims=True)]), mask)

    _, _, picture = panel(trace)

    found = by_name(picture)
    assert np.asarray(found["mean of the head"].x).tolist() == [0.75, 0.75]
    spread = np.asarray(found["all queries"].x).reshape(2, 3)[:, :2]
    assert spread.tolist() == [[0, 1], [0, 1.5]]


def test_each_head_may_have_a_baseline_of_its_own() -> None:
    masks = np.stack([np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)])
    trace = trace_of(masks / masks.sum(axis=-1, keepdims=True), masks)

    _, _, picture = panel(trace)

    assert np.asarray(by_name(picture)["uniform over the allowed keys"].x).tolist() == [0, np.float32(8 / 9)]


@pytest.mark.parametrize(("n_heads", "mode", "widths"), [(8, "markers", [2, 9]), (64, "lines", [1, 2])])
def test_lines_of_many_heads_do_not_merge(n_heads: int, mode: str, widths: list[int]) -> None:
    _, uniform, picture = panel(random_trace(n_heads, 6))

    found = by_name(picture)
    even = found["uniform over the allowed keys"]
    assert even.mode == mode
    np.testing.assert_allclose(even.x, np.repeat(mean_over_queries(uniform), n_heads), rtol=1e-6)
    assert [found[name].line.width for name in ("all queries", "middle half of the queries")] == widths
    assert found["mean of the head"].marker.size < (picture.layout.height - 60) / n_heads


def test_where_no_key_is_allowed_the_panel_is_empty_but_keeps_its_heads() -> None:
    _, _, picture = panel(trace_of(np.zeros((2, 3, 3)), np.zeros((3, 3), dtype=bool)))

    assert np.isnan(np.asarray(by_name(picture)["mean of the head"].x)).all()
    assert list(picture.layout.yaxis.ticktext) == ["0", "1"]


def test_a_legend_names_everything_the_panel_draws() -> None:
    _, _, picture = panel(random_trace(2, 5))

    assert picture.layout.showlegend
    assert list(by_name(picture)) == [
        "all queries",
        "middle half of the queries",
        "uniform over the allowed keys",
        "mean of the head",
    ]


def test_the_bars_of_a_query_are_its_weights_beside_the_share_of_a_uniform_head() -> None:
    trace = sentence_trace(["a", "<b>", "c", "a"], CAUSAL)

    picture = query_bars(trace, head=1, query=2, key=1)

    bars, uniform = picture.data
    np.testing.assert_array_equal(bars.x, trace.weights[1, 2].astype(np.float64))
    np.testing.assert_array_equal(uniform.x, [1 / 3, 1 / 3, 1 / 3, np.nan])
    assert list(bars.y) == list(uniform.y) == [0, 1, 2, 3]
    assert list(picture.layout.yaxis.ticktext) == ["0 a", "1 &lt;b&gt;", "2 c", "3 a (forbidden)"]
    assert list(picture.layout.meta["ticks"]["y"]) == ["0 a", "1 <b>", "2 c", "3 a (forbidden)"]
    assert [colour == LIGHT.accent for colour in bars.marker.color] == [False, True, False, False]
    assert picture.layout.meta["ticks"]["strong"] == 1


def test_the_bars_of_a_query_without_keys_are_all_0_and_all_forbidden() -> None:
    trace = trace_of(np.zeros((1, 2, 2)), np.zeros((2, 2), dtype=bool))

    picture = query_bars(trace, head=0, query=1, key=0)

    bars, uniform = picture.data
    assert list(bars.x) == [0, 0]
    assert np.isnan(np.asarray(uniform.x)).all()
    assert all(text.endswith("(forbidden)") for text in picture.layout.yaxis.ticktext)


def test_of_many_keys_the_largest_and_the_chosen_one_are_shown_in_their_order() -> None:
    trace = random_trace(1, 100)
    weights = trace.weights[0, 7]
    smallest = int(weights.argmin())

    picture = query_bars(trace, head=0, query=7, key=smallest)

    shown = [int(text.split(" ")[0]) for text in picture.layout.yaxis.ticktext]
    assert shown == sorted(shown)
    assert len(shown) == MOST_KEYS
    assert set(np.argsort(-weights)[: MOST_KEYS - 1].tolist()) | {smallest} == set(shown)
    np.testing.assert_array_equal(picture.data[0].x, weights[shown])


@given(n=st.integers(1, 80), most=st.integers(2, 30), share=st.sampled_from([0.0, 0.2, 1.0]), seed=seeds)
def test_the_keys_shown_hold_the_chosen_one_and_no_allowed_key_left_out_has_more_weight(
    n: int, most: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random(n) < share
    weights = np.where(allowed, rng.random(n), 0)
    key = int(rng.integers(n))

    shown = keys_to_show(weights, allowed, key, most)

    assert key in shown
    assert shown == sorted(set(shown))
    assert len(shown) <= max(most, 1)
    if n <= most:
        assert shown == list(range(n))
    others = [place for place in shown if place != key]
    left_out = [place for place in range(n) if place not in shown and allowed[place]]
    if others and left_out:
        assert min(weights[others]) >= max(weights[left_out])
