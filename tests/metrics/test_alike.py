"""How alike heads are, in every similarity: golden files, cases by hand, and what holds for any heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionTrace, masked_softmax
from attnviz.metrics.alike import Alike, closest
from attnviz.metrics.cka import cka
from attnviz.registries import SIMILARITIES
from tests.figures.traces import random_trace, trace_of
from tests.metrics.layers import MASKED, N_HEADS, layer, on_the_way
from tests.reference import golden
from tests.strategies import in_small_blocks, seeds

CLOSE = 1e-6
OF_MAPS = SIMILARITIES.names("Maps")
lengths = st.integers(1, 24)
masks = st.sampled_from(sorted(MASKED))
every_similarity = pytest.mark.parametrize("name", SIMILARITIES.names())


def alike(name: str, *layers: AttentionTrace) -> Alike:
    return SIMILARITIES[name].function(layers)


def of_rows(name: str, *rows: Sequence[Sequence[float]]) -> np.ndarray:
    return alike(name, trace_of(np.array(rows, dtype=np.float64))).pairs


def js_by_hand(one: np.ndarray, other: np.ndarray) -> float:
    """Mean over the rows of the divergence in bits, from its definition."""
    middle = (one + other) / 2
    halves = [
        np.where(row > 0, row * np.log2(np.where(row > 0, row, 1) / np.where(middle > 0, middle, 1)), 0)
        for row in (one, other)
    ]
    return float(sum(half.sum(axis=-1) for half in halves).mean() / 2)


@pytest.mark.parametrize(("name", "stored"), [("cosine", "cosine"), ("js_divergence", "js_bits")])
def test_similarities_of_maps_equal_the_stored_ones(name: str, stored: str) -> None:
    stats = golden("head_stats")

    np.testing.assert_allclose(alike(name, trace_of(stats["w"])).pairs, stats[stored], rtol=0, atol=1e-12)


def test_cka_of_outputs_and_of_maps_equals_the_stored_ones() -> None:
    stats = golden("head_stats")

    outputs = alike("linear_cka", replace(trace_of(stats["w"]), value=stats["v"])).pairs

    np.testing.assert_allclose(outputs, stats["cka_outputs"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(cka(stats["w"]), stats["cka_maps"], rtol=0, atol=1e-12)


def test_correlation_of_whole_maps_is_that_of_numpy() -> None:
    trace = random_trace(5, 12)

    pairs = alike("correlation", trace).pairs

    np.testing.assert_allclose(pairs, np.corrcoef(trace.weights.reshape(5, -1)), rtol=0, atol=1e-12)


def test_correlation_takes_out_what_the_mask_makes_of_every_head() -> None:
    mask = np.tril(np.ones((12, 12), dtype=bool))
    first, second = masked_softmax(np.random.default_rng(3).normal(0, 0.05, (2, 12, 12)), mask)

    trace = trace_of(np.stack([first, second]), mask)

    assert alike("cosine", trace).pairs[0, 1] > 0.99, "both are nearly uniform over the same keys"
    assert abs(alike("correlation", trace).pairs[0, 1]) < 0.3
    opposite = 2 * mask / mask.sum(axis=1, keepdims=True) - first
    assert alike("correlation", trace_of(np.stack([first, opposite]), mask)).pairs[0, 1] == pytest.approx(-1)


@pytest.mark.parametrize(
    ("first", "second", "nats"),
    [
        ([0.7, 0.3], [0.7, 0.3], 0.0),
        ([1, 0], [0, 1], 0.6931472),
        ([0.5, 0.5], [1, 0], 0.2157616),
        ([0.9, 0.1], [0.1, 0.9], 0.3680642),
    ],
)
def test_divergence_of_two_rows_is_that_of_the_cases_in_bits(
    first: list[float], second: list[float], nats: float
) -> None:
    pairs = of_rows("js_divergence", [first], [second])

    assert pairs[0, 1] == pytest.approx(nats / np.log(2), abs=2e-7)
    assert pairs[1, 0] == pairs[0, 1]
    np.testing.assert_allclose(of_rows("js_divergence", [first] * 5, [second] * 5), pairs, rtol=0, atol=1e-15)


def test_divergence_counts_queries_that_both_heads_have_a_key_for() -> None:
    mask = np.array([[[True, True], [True, True]], [[True, True], [False, False]], [[False, False], [False, False]]])
    weights = np.array([[[1.0, 0], [1, 0]], [[0, 1.0], [0, 0]], [[0, 0], [0, 0]]])

    found = alike("js_divergence", trace_of(weights, mask))

    np.testing.assert_allclose(found.pairs, [[0, 1, 1], [1, 0, 1], [1, 1, 0]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.uniform[:2], 0.2157616 / np.log(2) + 0.0 * found.uniform[:2], rtol=0, atol=1e-7)
    assert np.isnan(found.uniform[2])


@pytest.mark.parametrize("name", ["cosine", "js_divergence"])
def test_a_uniform_head_is_the_same_as_the_uniform_head(name: str) -> None:
    mask = np.tril(np.ones((5, 5), dtype=bool))
    found = alike(name, trace_of((mask / mask.sum(axis=1, keepdims=True))[None], mask))

    np.testing.assert_allclose(found.uniform, 0.0 if found.is_distance else 1.0, rtol=0, atol=1e-12)


def test_heads_with_one_map_may_write_different_things() -> None:
    stats = golden("head_stats")
    value = np.stack([stats["v"][0], np.roll(stats["v"][0], 7, axis=0)])
    trace = replace(trace_of(stats["w"][[0, 0]]), value=value)

    assert alike("cosine", trace).pairs[0, 1] == pytest.approx(1, abs=1e-12)
    assert alike("linear_cka", trace).pairs[0, 1] < 0.5


def test_heads_that_write_the_same_for_every_query_have_no_cka_and_are_far_from_every_other() -> None:
    even, other = np.full((4, 4), 0.25), np.eye(4)
    value = np.random.default_rng(0).normal(size=(3, 4, 2))

    found = alike("linear_cka", replace(trace_of(np.stack([even, even, other])), value=value))

    assert np.isnan(found.pairs[:2]).all()
    assert np.isnan(found.pairs[:, :2]).all()
    assert found.pairs[2, 2] == 1
    assert found.is_defined.tolist() == [False, False, True]
    assert found.reason == "writes the same for every query"
    assert np.isnan(found.uniform).tolist() == [True, True, False]
    assert found.distances.tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert found.defined_distances.tolist() == [[0]]


@pytest.mark.parametrize(
    ("dtype", "spread", "is_defined"),
    [(np.float32, 1e-7, False), (np.float32, 1e-4, True), (np.float64, 1e-15, False), (np.float64, 1e-9, True)],
)
def test_outputs_that_differ_by_no_more_than_their_precision_are_the_same(
    dtype: type[np.floating], spread: float, is_defined: bool
) -> None:
    features = np.random.default_rng(1).normal(size=(2, 20, 3))
    features[0] = features[0, :1] * (1 + spread * features[1, :, :1])

    pairs = cka(features.astype(dtype))

    assert (not np.isnan(pairs[0, 0])) == is_defined
    assert (not np.isnan(pairs[0, 1])) == is_defined
    assert pairs[1, 1] == 1


def test_what_is_most_like_a_head_has_something_in_common_with_it() -> None:
    pairs = np.array([[1, 0, 0.2, 0.7], [0, 1, 1e-9, 0], [0.2, 1e-9, 1, 0.5], [0.7, 0, 0.5, 1]])
    found = Alike(pairs, np.zeros(4))

    assert (found.like(0, 3), found.value_of_nearest(0)) == ([3, 2], 0.7)
    assert found.like(0, 1) == [3]
    assert (found.like(1, 3), found.value_of_nearest(1)) == ([], 1e-9)
    distance = Alike(1 - pairs, np.zeros(4), is_distance=True)
    assert (distance.like(0, 3), distance.value_of_nearest(0)) == ([3, 2], pytest.approx(0.3))
    assert Alike(np.array([[1.0, -0.5], [-0.5, 1.0]]), np.zeros(2), is_signed=True).like(0, 1) == []
    assert np.isnan(Alike(np.ones((1, 1)), np.ones(1)).value_of_nearest(0))


def test_a_head_without_a_value_is_like_no_other_and_no_pair_holds_it() -> None:
    nan = np.nan
    found = Alike(
        np.array([[nan, nan, nan, nan], [nan, nan, nan, nan], [nan, nan, 1, 0.1], [nan, nan, 0.1, 1]]), np.ones(4)
    )

    assert closest(found) == (2, 3, 0.1)
    assert found.like(0, 3) == []
    assert np.isnan(found.value_of_nearest(0))
    assert (found.like(2, 3), found.value_of_nearest(2)) == ([3], 0.1)
    assert closest(Alike(found.pairs[:3, :3], np.ones(3))) is None


def test_the_baseline_of_outputs_is_their_mean_likeness_to_themselves_in_any_order() -> None:
    value = np.random.default_rng(0).normal(size=(1, 4, 2))
    trace = replace(trace_of(np.eye(4)[None]), value=value)
    orders = [np.eye(4)[list(order)] for order in permutations(range(4))]
    among = [
        alike("linear_cka", replace(trace_of(np.stack([np.eye(4), order])), value=np.repeat(value, 2, axis=0))).pairs[
            0, 1
        ]
        for order in orders
    ]

    assert alike("linear_cka", trace).uniform[0] == pytest.approx(np.mean(among), abs=1e-12)


@every_similarity
@given(n=lengths, mask=masks, seed=seeds)
def test_a_similarity_is_symmetric_and_within_its_bounds(name: str, n: int, mask: str, seed: int) -> None:
    found = alike(name, layer(seed, n, MASKED[mask]))

    assert found.pairs.shape == (N_HEADS, N_HEADS)
    assert found.pairs.dtype == found.uniform.dtype == np.float64
    np.testing.assert_array_equal(found.pairs, found.pairs.T)
    defined = found.pairs[np.ix_(found.is_defined, found.is_defined)]
    assert found.is_defined.all() or (name == "linear_cka" and np.isnan(found.pairs[~found.is_defined]).all())
    assert (np.diagonal(defined) == (0 if found.is_distance else 1)).all()
    assert (defined >= (-1 if found.is_signed else 0)).all()
    assert (defined <= 1).all()
    assert ((found.uniform >= 0) & (found.uniform <= 1) | np.isnan(found.uniform)).all()
    assert (np.diagonal(found.distances) == 0).all()
    assert (found.distances >= 0).all()


@every_similarity
@given(n=lengths, mask=masks, seed=seeds)
def test_permuting_the_heads_permutes_a_similarity(name: str, n: int, mask: str, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(N_HEADS).tolist()

    found, permuted = (alike(name, layer(seed, n, MASKED[mask], heads)) for heads in (range(N_HEADS), order))

    np.testing.assert_allclose(permuted.pairs, found.pairs[np.ix_(order, order)], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(permuted.uniform, found.uniform[order], rtol=0, atol=CLOSE)


@every_similarity
@given(n=lengths, mask=masks, seed=seeds)
def test_a_head_and_its_duplicate_are_the_same(name: str, n: int, mask: str, seed: int) -> None:
    trace = layer(seed, n, MASKED[mask], (0, 1, 2, 0))
    found = alike(name, trace)

    has_weight = trace.weights[0].any() or name != "cosine"
    if has_weight and (name != "js_divergence" or trace.mask.any()):
        assert found.distances[0, 3] == pytest.approx(0, abs=CLOSE)


@every_similarity
@given(n=lengths, mask=masks, seed=seeds, cells=st.sampled_from([1, 40, 400]))
def test_maps_that_are_computed_on_the_way_give_the_same_similarity(
    name: str, n: int, mask: str, seed: int, cells: int
) -> None:
    trace = layer(seed, n, MASKED[mask])
    whole = alike(name, trace)

    with in_small_blocks(cells):
        streamed = alike(name, on_the_way(trace))

    np.testing.assert_allclose(streamed.pairs, whole.pairs, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(streamed.uniform, whole.uniform, rtol=0, atol=CLOSE)


@every_similarity
@pytest.mark.parametrize("cells", [30, 1 << 22])
@pytest.mark.parametrize("is_kept", [True, False])
def test_heads_of_several_layers_are_numbered_layer_by_layer(name: str, cells: int, is_kept: bool) -> None:
    layers = [layer(seed, 9, MASKED["causal"]) for seed in (1, 2, 3)]
    given_layers = layers if is_kept else [on_the_way(trace) for trace in layers]

    with in_small_blocks(cells):
        found = alike(name, *given_layers)

    assert found.pairs.shape == (3 * N_HEADS, 3 * N_HEADS)
    for place, trace in enumerate(layers):
        own, of_layer = alike(name, trace), slice(place * N_HEADS, (place + 1) * N_HEADS)
        np.testing.assert_allclose(found.pairs[of_layer, of_layer], own.pairs, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(found.uniform[of_layer], own.uniform, rtol=0, atol=CLOSE)
    if name in OF_MAPS:
        both = trace_of(np.concatenate([layers[0].weights, layers[2].weights]), layers[0].mask[0])
        across = alike(name, both).pairs[:N_HEADS, N_HEADS:]
        np.testing.assert_allclose(found.pairs[:N_HEADS, 2 * N_HEADS :], across, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("mask", sorted(MASKED))
def test_the_divergence_of_long_maps_is_right_to_a_millionth(mask: str) -> None:
    trace = layer(5, 300, MASKED[mask])
    has_keys = trace.mask[0].any(axis=1)
    exact = trace.weights[:, has_keys].astype(np.float64)

    with in_small_blocks(1 << 14):
        pairs = alike("js_divergence", on_the_way(trace)).pairs

    right = [[js_by_hand(exact[one], exact[other]) for other in range(N_HEADS)] for one in range(N_HEADS)]
    np.testing.assert_allclose(pairs, right, rtol=0, atol=CLOSE)


def test_a_sink_counts_as_one_more_key() -> None:
    weights = np.array([[[0.5, 0.5]], [[0.1, 0.1]]])
    plain = trace_of(weights)

    with_sinks = replace(plain, scorer=replace(plain.scorer, sinks=np.zeros(2)))

    right = js_by_hand(np.array([[0.5, 0.5, 0]]), np.array([[0.1, 0.1, 0.8]]))
    assert alike("js_divergence", with_sinks).pairs[0, 1] == pytest.approx(right, abs=1e-12)


@every_similarity
def test_the_progress_of_a_similarity_is_told_from_0_to_1(name: str) -> None:
    told: list[float] = []

    with in_small_blocks(40):
        SIMILARITIES[name].function([layer(0, 12, MASKED["full"]), layer(1, 12, MASKED["full"])], told.append)

    assert told == sorted(told)
    assert told[-1] == 1


@every_similarity
def test_one_token_leaves_no_distance_between_heads(name: str) -> None:
    found = alike(name, layer(0, 1, MASKED["full"]))

    if name in SIMILARITIES.names("Weights"):
        assert found.distances.max() > 0.1, "the matrices do not depend on the text"
    else:
        assert found.distances.max() == 0


def test_the_closest_pair_is_that_of_the_least_distance_whichever_way_it_counts() -> None:
    matrix = np.array([[0.0, 0.2, 0.1], [0.2, 0.0, 0.9], [0.1, 0.9, 0.0]])

    assert closest(Alike(matrix, np.zeros(3), is_distance=True)) == (0, 2, 0.1)
    assert closest(Alike(matrix + np.eye(3), np.zeros(3))) == (1, 2, 0.9)
    assert closest(Alike(np.ones((1, 1)), np.zeros(1))) is None
