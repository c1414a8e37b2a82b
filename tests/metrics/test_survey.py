"""One pass over the rows finds what the whole maps hold: measures, cosines, sums, places beside, small maps."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz import AttentionConfig, AttentionTrace, attend, masked_softmax
from attnviz.core import layer
from attnviz.core.rows import Rows, rows_of
from attnviz.figures.pattern import map_part
from attnviz.metrics import SURVEYED, Overview, Survey, overview, pooling, survey, uniform_weights
from attnviz.metrics.patterns import first_key, top_mass
from attnviz.metrics.pooling import Window
from attnviz.metrics.similarity import cosine_of_maps
from attnviz.metrics.survey import MOST_LARGE
from attnviz.registries import MASKS, METRICS
from tests.figures.test_pooling import slow_pool
from tests.figures.traces import trace_of
from tests.strategies import configs, in_small_blocks, masked, seeds

cells = st.sampled_from([1, 30, 200, 1 << 21])
SENTENCE = AttentionConfig(tuple("abcdefghij"), d_model=16, n_heads=4)
N_LONG = 3000


def made_in_rows(config: AttentionConfig) -> AttentionTrace:
    """The layer of this setting as a long one is made: no map is held, and mask and bias are computed in rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layer, "MOST_KEPT", 0)
        return attend(config)


def assert_same_values(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], close: float) -> None:
    assert list(one) == list(other)
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], rtol=close, atol=close, err_msg=name)


def assert_same_overview(one: Overview, other: Overview, close: float) -> None:
    assert (one.step_q, one.step_k, one.allowed_share) == (other.step_q, other.step_k, other.allowed_share)
    np.testing.assert_array_equal(one.has_keys, other.has_keys)
    np.testing.assert_allclose(one.largest_weight, other.largest_weight, rtol=0, atol=close)
    np.testing.assert_array_equal(np.isnan(one.maps), np.isnan(other.maps))
    np.testing.assert_allclose(one.maps, other.maps, rtol=0, atol=close)


def assert_same_survey(one: Survey, other: Survey, close: float = 1e-6) -> None:
    assert_same_values(one.measures, other.measures, close)
    assert_same_values(one.uniform, other.uniform, close)
    assert list(one.beside) == list(other.beside)
    for offset, beside in one.beside.items():
        np.testing.assert_allclose(beside.weight, other.beside[offset].weight, rtol=0, atol=close)
        np.testing.assert_allclose(beside.uniform, other.beside[offset].uniform, rtol=0, atol=close)
    for name in ("cosine", "received", "uniform_received"):
        values, right = getattr(one, name), getattr(other, name)
        assert values.shape == right.shape
        np.testing.assert_allclose(values, right, rtol=close, atol=close, err_msg=name)
    assert_same_overview(one.small, other.small, close)
    if one.large is not None and other.large is not None:
        np.testing.assert_allclose(one.large, other.large, rtol=0, atol=close)


def beside_by_hand(weights: np.ndarray, mask: np.ndarray, offset: int) -> np.ndarray:
    """Weight on the key at this offset from each query's own place, read off the diagonals."""
    n_heads, n_q, n_k = weights.shape
    found = np.full((n_heads, n_q), np.nan)
    for head, query in np.ndindex(n_heads, n_q):
        key = n_k - n_q + query + offset
        if 0 <= key < n_k and mask[head % len(mask), query].any():
            found[head, query] = weights[head, query, key]
    return found


@given(config=configs(), cells=cells)
def test_a_survey_of_rows_is_that_of_the_maps_that_are_kept(config: AttentionConfig, cells: int) -> None:
    kept = attend(config)

    with in_small_blocks(cells):
        for trace in (replace(kept, kept=None), made_in_rows(config)):
            assert_same_survey(survey(trace), survey(kept))


@given(config=configs(), cells=cells)
def test_a_survey_does_not_depend_on_the_size_of_the_blocks(config: AttentionConfig, cells: int) -> None:
    trace = attend(config)
    whole = survey(trace)

    with in_small_blocks(cells):
        assert_same_survey(survey(trace), whole)


@given(config=configs(), cells=cells)
def test_the_measures_are_those_of_the_whole_maps_and_of_the_uniform_head(config: AttentionConfig, cells: int) -> None:
    trace = attend(config)
    heads, even = rows_of(trace.weights, trace.mask), rows_of(uniform_weights(trace.mask), trace.mask)

    with in_small_blocks(cells):
        found = survey(made_in_rows(config))

    assert list(found.measures) == list(found.uniform) == list(SURVEYED)
    assert_same_values(found.measures, {name: METRICS[name].function(heads) for name in SURVEYED}, 1e-5)
    assert_same_values(found.uniform, {name: METRICS[name].function(even) for name in SURVEYED}, 1e-9)


@given(config=configs(), cells=cells, is_kept=st.booleans())
def test_sums_cosines_and_places_beside_are_those_of_the_whole_maps(
    config: AttentionConfig, cells: int, is_kept: bool
) -> None:
    trace = attend(config)
    even = uniform_weights(trace.mask)

    with in_small_blocks(cells):
        found = survey(trace if is_kept else made_in_rows(config))

    wide = trace.weights.astype(np.float64)
    np.testing.assert_allclose(found.received, wide.sum(axis=1), rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(found.uniform_received, even.sum(axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.cosine, cosine_of_maps(trace.weights), rtol=0, atol=1e-6)
    assert list(found.beside) == [-1, 0, 1]
    for offset, beside in found.beside.items():
        right = beside_by_hand(trace.weights, trace.mask, offset)
        np.testing.assert_allclose(beside.weight, right, rtol=0, atol=1e-6)
        np.testing.assert_allclose(beside.uniform, beside_by_hand(even, trace.mask, offset), rtol=0, atol=1e-12)


@given(config=configs(), cells=cells, most=st.integers(1, 16), is_kept=st.booleans())
def test_small_maps_hold_the_largest_weight_of_each_block(
    config: AttentionConfig, cells: int, most: int, is_kept: bool
) -> None:
    trace = attend(config)

    with in_small_blocks(cells), pytest.MonkeyPatch.context() as patch:
        patch.setattr(pooling, "MOST_SIDE", most)
        some = trace if is_kept else made_in_rows(config)
        small, found = overview(some), survey(some).small

    right = slow_pool(trace.weights, trace.mask, most)
    assert small.maps.dtype == np.float32
    assert (small.step_q, small.step_k) == (math.ceil(trace.n_q / most), math.ceil(trace.n_k / most))
    np.testing.assert_array_equal(np.isnan(small.maps), np.isnan(right))
    np.testing.assert_allclose(small.maps, right, rtol=0, atol=0 if is_kept else 1e-6)
    np.testing.assert_allclose(small.largest_weight, trace.weights.max(axis=2), rtol=0, atol=0 if is_kept else 1e-6)
    np.testing.assert_array_equal(small.has_keys, trace.mask.any(axis=2))
    assert small.allowed_share == pytest.approx(trace.mask.mean(), abs=1e-12)
    assert_same_overview(small, found, 0)


@given(config=configs(), cells=cells, most=st.integers(1, 16))
def test_large_maps_of_a_layer_that_is_not_kept_hold_the_largest_weight_of_each_block(
    config: AttentionConfig, cells: int, most: int
) -> None:
    trace = attend(config)

    with in_small_blocks(cells), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["attnviz.metrics.survey"], "LARGE_SIDE", most)
        found, kept = survey(made_in_rows(config)).large, survey(trace).large

    assert kept is None
    if trace.n_heads > MOST_LARGE:
        assert found is None
        return
    right = slow_pool(trace.weights, trace.mask, most)
    assert found is not None
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-6)


def test_many_heads_have_smaller_maps_so_that_the_cells_of_64_are_bounded() -> None:
    of = {n_heads: overview(trace_of(np.full((n_heads, 150, 150), 1 / 150))) for n_heads in (1, 16, 64, 70)}

    assert {n_heads: small.maps.shape for n_heads, small in of.items()} == {
        1: (1, 75, 75),
        16: (16, 50, 50),
        64: (64, 30, 30),
        70: (70, 30, 30),
    }
    assert of[70].maps[:64].size <= pooling.MOST_CELLS


def test_each_head_may_have_a_mask_and_a_uniform_head_of_its_own() -> None:
    masks = np.stack([np.eye(3, dtype=bool), np.ones((3, 3), dtype=bool)])
    found = survey(trace_of(uniform_weights(masks), masks))

    assert found.uniform["entropy"].tolist() == [[0] * 3, pytest.approx([math.log2(3)] * 3)]
    assert found.uniform_received.tolist() == [[1] * 3, pytest.approx([1] * 3)]
    assert found.small.has_keys.shape == (2, 3)
    assert found.small.allowed_share == pytest.approx(12 / 18)
    np.testing.assert_allclose(found.beside[-1].uniform, [[np.nan, 0, 0], [np.nan, 1 / 3, 1 / 3]])


def test_where_nothing_is_allowed_every_measure_is_undefined_and_every_sum_0() -> None:
    trace = attend(replace(SENTENCE, masks=(MASKS["padding_left"].spec(padded=10),)))

    for one in (trace, replace(trace, kept=None)):
        with in_small_blocks(1):
            found = survey(one)

        assert all(np.isnan(values).all() for values in (*found.measures.values(), *found.uniform.values()))
        assert all(np.isnan(beside.weight).all() for beside in found.beside.values())
        assert not found.received.any()
        assert not found.uniform_received.any()
        np.testing.assert_array_equal(found.cosine, np.eye(4))
        assert np.isnan(found.small.maps).all()
        assert (found.small.allowed_share, found.small.has_keys.any(), found.small.largest_weight.any()) == (0, 0, 0)


def test_a_survey_tells_how_much_of_the_rows_is_done() -> None:
    trace = replace(attend(SENTENCE), kept=None)
    told: list[float] = []

    with in_small_blocks(1):
        survey(trace, told.append)

    np.testing.assert_allclose(told, np.arange(1, 11) / 10)


def five_largest(weights: np.ndarray) -> np.ndarray:
    return np.sort(weights.astype(np.float64), axis=-1)[..., -5:].sum(axis=-1)


LENGTHS = [1, 2, 4, 5, 6, 16, 11 * 16 - 1, 11 * 16, 11 * 16 + 1, 200, 1000, 2999, 3000, 4095, 4096, 4097, 4607, 8229]


@pytest.mark.parametrize("n_k", LENGTHS)
@pytest.mark.parametrize("kind", ["peaked", "flat", "ties", "few allowed", "sorted", "zeros"])
def test_the_top_5_mass_is_the_sum_of_the_five_largest_weights(n_k: int, kind: str) -> None:
    rng = np.random.default_rng(n_k)
    weights, mask = masked(n_k, (2, 3, n_k), 0.5 if kind == "few allowed" else 1.0)
    if kind == "flat":
        weights = np.full((2, 3, n_k), 1 / n_k)
    elif kind == "ties":
        weights = rng.integers(0, 4, (2, 3, n_k)) / (4.0 * n_k)
    elif kind == "few allowed":
        mask = np.zeros((1, 3, n_k), dtype=bool)
        mask[..., rng.integers(0, n_k, 3)] = True
        weights = masked_softmax(rng.normal(0, 3, (2, 3, n_k)), mask)
    elif kind == "sorted":
        weights = np.sort(weights, axis=-1)
        weights[1] = weights[1, :, ::-1]
    elif kind == "zeros":
        weights = np.zeros((2, 3, n_k))

    for dtype in (np.float64, np.float32):
        found = top_mass(rows_of(weights.astype(dtype), mask))

        assert found.dtype == np.float64
        np.testing.assert_allclose(found, five_largest(weights.astype(dtype)), rtol=1e-12, atol=1e-15)


@settings(max_examples=60)
@given(seeds, st.integers(1, 6000), st.integers(1, 4), st.floats(0, 12))
def test_the_top_5_mass_of_a_row_of_any_length_is_that_of_the_sorted_row(
    seed: int, n_k: int, n_q: int, sharpness: float
) -> None:
    weights = masked_softmax(np.random.default_rng(seed).normal(0, 1, (2, n_q, n_k)) * sharpness)
    before = weights.copy()

    found = top_mass(rows_of(weights, np.ones((1, n_q, n_k), dtype=bool)))

    np.testing.assert_allclose(found, five_largest(weights), rtol=1e-12)
    np.testing.assert_array_equal(weights, before, err_msg="the weights themselves are left as they are")


def test_the_top_5_mass_of_at_most_five_keys_is_the_whole_row() -> None:
    rows = rows_of(np.array([[[0.5, 0.25, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0]]]), np.array([[[True] * 4, [False] * 4]]))

    assert top_mass(rows)[0, 0] == 1
    assert math.isnan(top_mass(rows)[0, 1])


def test_the_share_of_the_first_key_is_its_column_also_where_it_is_left_out_of_the_block() -> None:
    weights = np.array([[[0.7, 0.3, 0.0], [0.0, 0.4, 0.6], [0.0, 0.0, 0.0]]])
    mask = np.array([[[True, True, False], [True, True, True], [False] * 3]])
    later = Rows(weights[:, 1:2, 1:], mask[:, 1:2, 1:], np.array([1]), np.array([1, 2]), 3)

    np.testing.assert_array_equal(first_key(rows_of(weights, mask)), [[0.7, 0, np.nan]])
    np.testing.assert_array_equal(first_key(later), [[0]])


@pytest.fixture(scope="module")
def long_trace() -> AttentionTrace:
    return attend(AttentionConfig(tuple(f"w{place % 97}" for place in range(N_LONG)), d_model=16, n_heads=1))


def measures_in_float64(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Every measure of a causal map, from the whole of it."""
    wide = weights[0].astype(np.float64)
    nats = -(wide * np.log(np.where(wide > 0, wide, 1.0))).sum(axis=1)
    allowed = np.arange(1, N_LONG + 1)
    distance = np.abs(np.arange(N_LONG)[:, None] - np.arange(N_LONG)[None])
    return {
        "entropy": nats / np.log(2),
        "normalised_entropy": np.where(allowed > 1, nats / np.log(np.maximum(allowed, 2)), np.nan),
        "largest_weight": wide.max(axis=1),
        "top_mass": five_largest(wide),
        "first_key": wide[:, 0],
        "mean_distance": (wide * distance).sum(axis=1),
    }


def test_the_measures_of_a_long_layer_are_right_to_five_digits(long_trace: AttentionTrace) -> None:
    assert long_trace.kept is None
    right = measures_in_float64(long_trace.weights)

    found = survey(long_trace)

    assert set(right) == set(found.measures)
    for name, values in found.measures.items():
        np.testing.assert_allclose(values[0], right[name], rtol=1e-5, atol=1e-5, err_msg=name)
    np.testing.assert_allclose(found.received, long_trace.weights.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    assert found.cosine.tolist() == [[1]]
    assert found.large is not None
    np.testing.assert_array_equal(found.large[0], map_part(long_trace, 0, Window(0, N_LONG, 0, N_LONG)))


def test_small_maps_of_a_long_layer_are_those_of_its_whole_map(long_trace: AttentionTrace) -> None:
    step = math.ceil(N_LONG / pooling.MOST_SIDE)
    n = math.ceil(N_LONG / step)
    padded = np.full((n * step, n * step), -1.0, dtype=np.float32)
    padded[:N_LONG, :N_LONG] = np.where(long_trace.mask[0], long_trace.weights[0], -1)
    blocks = padded.reshape(n, step, n, step).max(axis=(1, 3))

    small = overview(long_trace)

    assert (small.step_q, small.step_k, small.maps.shape) == (step, step, (1, n, n))
    np.testing.assert_array_equal(np.isnan(small.maps[0]), blocks < 0)
    np.testing.assert_allclose(small.maps[0][blocks >= 0], blocks[blocks >= 0], rtol=0, atol=1e-6)
    assert small.allowed_share == pytest.approx((N_LONG + 1) / (2 * N_LONG), abs=1e-12)
