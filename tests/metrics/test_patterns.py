"""Measures of one head's map: against SciPy, the classroom labs and numbers that can be checked by eye."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, masked_softmax
from attnviz.core.rows import MOST_CELLS, USUAL_CELLS, row_blocks, rows_of
from attnviz.metrics import mean_over_queries, measured, survey, uniform_weights
from attnviz.metrics.patterns import (
    entropy,
    entropy_nats,
    largest_weight,
    mean_distance,
    normalised_entropy,
    top_mass,
)
from attnviz.metrics.places import diagonality
from attnviz.metrics.spread import sum_of_squares
from attnviz.registries import METRICS, POSITIONS
from tests.figures.traces import trace_of
from tests.reference import golden, labs
from tests.strategies import in_small_blocks

STATS = golden("head_stats")
HARD_ROWS = sorted(name.removeprefix("entropy_") for name in golden("softmax_hard") if name.startswith("entropy_"))
CAUSAL_4 = np.tril(np.ones((1, 4, 4), dtype=bool))


def full(n: int) -> np.ndarray:
    return np.ones((1, n, n), dtype=bool)


HEADS = rows_of(STATS["w"], full(40))


def one_hot(keys: list[int], n: int) -> np.ndarray:
    return np.eye(n)[keys][None]


@pytest.mark.parametrize(
    ("measure", "name"),
    [
        (entropy, "entropy_bits"),
        (entropy_nats, "entropy"),
        (mean_distance, "distance"),
        (largest_weight, "top1_mass"),
        (partial(top_mass, top=1), "top1_mass"),
        (top_mass, "top5_mass"),
        (partial(top_mass, top=10), "top10_mass"),
        (sum_of_squares, "p2"),
    ],
)
def test_a_measure_equals_scipy_on_heads_of_every_character(measure, name: str) -> None:
    np.testing.assert_allclose(measure(HEADS), STATS[name], rtol=0, atol=1e-12)


def test_entropy_in_bits_is_entropy_in_nats_over_ln_2() -> None:
    np.testing.assert_allclose(entropy(HEADS) * math.log(2), STATS["entropy"], rtol=0, atol=1e-12)


def test_float32_weights_are_measured_in_float64() -> None:
    single = STATS["w"].astype(np.float32)

    for measure, name in ((entropy, "entropy_bits"), (mean_distance, "distance"), (largest_weight, "top1_mass")):
        values = measure(rows_of(single, full(40)))
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, measure(rows_of(single.astype(np.float64), full(40))))
        np.testing.assert_allclose(values, STATS[name], rtol=0, atol=1e-5)


@pytest.mark.parametrize("row", HARD_ROWS)
def test_entropy_of_a_hard_row_equals_60_digit_arithmetic(row: str) -> None:
    stored = golden("softmax_hard")
    exact, scores = stored[f"softmax_{row}"][None, None], stored[f"logits_{row}"].astype(np.float64)[None, None]
    mask = np.ones((1, 1, 12), dtype=bool)
    right = float(stored[f"entropy_{row}"])

    assert entropy(rows_of(exact, mask))[0, 0] * math.log(2) == pytest.approx(right, abs=1e-14)
    assert entropy(rows_of(masked_softmax(scores), mask))[0, 0] * math.log(2) == pytest.approx(right, abs=1e-13)


def test_the_distance_lab_prints_the_same_numbers() -> None:
    lab = labs("distance")
    maps = np.random.RandomState(42).rand(2, 8, 10, 10)
    maps /= maps.sum(axis=-1, keepdims=True)

    distance = mean_distance(rows_of(maps[0], full(10)))

    assert distance.size == lab["n"]
    np.testing.assert_allclose(distance[0], lab["head0"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(mean_over_queries(distance), lab["mean_per_head"], rtol=0, atol=1e-9)


def test_uniform_causal_entropy_is_the_logarithm_of_the_number_of_allowed_keys() -> None:
    nats = entropy(rows_of(uniform_weights(CAUSAL_4), CAUSAL_4))[0] * math.log(2)

    np.testing.assert_allclose(nats, [0, 0.6931471806, 1.0986122887, 1.3862943611], atol=1e-9)
    assert nats.mean() == pytest.approx(0.7945134576, abs=1e-9)


def test_entropy_counts_allowed_keys_only_however_long_the_padding() -> None:
    mask = np.zeros((1, 4, 4096), dtype=bool)
    mask[0, :, :4] = CAUSAL_4[0]
    rows = rows_of(masked_softmax(np.zeros((1, 4, 4096)), mask), mask)

    nats = entropy(rows)[0] * math.log(2)

    np.testing.assert_allclose(nats, np.log([1, 2, 3, 4]), atol=1e-12)
    np.testing.assert_allclose(normalised_entropy(rows)[0, 1:], 1, atol=1e-12)


def test_normalised_entropy_of_a_uniform_causal_head_is_1_and_not_defined_for_one_allowed_key() -> None:
    share = normalised_entropy(rows_of(uniform_weights(CAUSAL_4), CAUSAL_4))[0]

    assert math.isnan(share[0])
    np.testing.assert_allclose(share[1:], 1, rtol=0, atol=1e-15)


def test_a_row_on_one_key_has_entropy_exactly_0_and_never_minus_0_or_nan() -> None:
    rows = rows_of(one_hot([0, 0, 2, 3], 4), CAUSAL_4)

    assert entropy(rows).tolist() == [[0, 0, 0, 0]]
    assert not np.signbit(entropy(rows)).any()
    assert normalised_entropy(rows)[0, 1:].tolist() == [0, 0, 0]
    assert largest_weight(rows).tolist() == [[1, 1, 1, 1]]


def test_one_token_has_entropy_0_distance_0_and_no_normalised_entropy() -> None:
    rows = rows_of(np.ones((3, 1, 1)), full(1))

    assert entropy(rows).tolist() == mean_distance(rows).tolist() == [[0]] * 3
    assert largest_weight(rows).tolist() == [[1]] * 3
    assert np.isnan(normalised_entropy(rows)).all()
    assert np.isnan(mean_over_queries(normalised_entropy(rows))).all()


@pytest.mark.parametrize(
    ("weights", "mean"),
    [
        (one_hot([0, 1, 2, 3], 4), 0.0),
        (one_hot([0, 0, 1, 2], 4), 0.75),
        (uniform_weights(CAUSAL_4), 0.75),
        (one_hot([0, 0, 0, 0], 4), 1.5),
        (uniform_weights(full(4)), 1.25),
    ],
    ids=["self", "previous token", "uniform causal", "first token", "uniform both ways"],
)
def test_mean_distance_of_a_head_that_can_be_computed_by_eye(weights: np.ndarray, mean: float) -> None:
    assert mean_over_queries(mean_distance(rows_of(weights, full(4))))[0] == pytest.approx(mean, abs=1e-15)


def test_mean_distance_of_ten_uniform_causal_tokens_is_2_25() -> None:
    mask = np.tril(full(10))

    assert mean_over_queries(mean_distance(rows_of(uniform_weights(mask), mask)))[0] == pytest.approx(2.25, abs=1e-15)


def test_the_distance_in_an_image_is_that_of_its_patches() -> None:
    config = AttentionConfig(tuple("abcdefghi"), position=POSITIONS["grid_bias"].spec(grid_width=3), masks=())
    trace = attend(config)
    corner = trace.weights[:, 0].astype(float) @ [0, 1, 2, 1, 2**0.5, 5**0.5, 2, 5**0.5, 8**0.5]

    found = measured(trace, METRICS["distance_in_image"].spec())

    np.testing.assert_allclose(found.values[:, 0], corner, rtol=1e-5)
    assert found.uniform[0, 4] == pytest.approx((4 + 4 * 2**0.5) / 9)


def test_words_that_are_no_patches_have_no_distance_in_an_image() -> None:
    found = measured(attend(AttentionConfig(tuple("abc"))), METRICS["distance_in_image"].spec())

    assert np.isnan(found.values).all()
    assert np.isnan(found.uniform).all()


def test_fewer_queries_than_keys_stand_at_the_end_of_the_keys() -> None:
    weights, mask = np.array([[[0.0, 0, 0, 1, 0], [1, 0, 0, 0, 0]]]), np.ones((1, 2, 5), dtype=bool)

    assert mean_distance(rows_of(weights, mask)).tolist() == [[0, 4]]


@pytest.mark.parametrize("cells", [1, 700, 2000])
def test_measures_do_not_depend_on_the_size_of_the_blocks(cells: int) -> None:
    trace = trace_of(STATS["w"])

    with in_small_blocks(cells):
        found = survey(trace).measures

    np.testing.assert_array_equal(found["entropy"], entropy(HEADS))
    np.testing.assert_array_equal(found["mean_distance"], mean_distance(HEADS))


@given(n_heads=st.integers(1, 100), first=st.integers(0, 50), count=st.integers(1, 4000), n_k=st.integers(1, 1 << 16))
def test_blocks_cover_every_row_once_in_order_and_none_is_larger_than_allowed(
    n_heads: int, first: int, count: int, n_k: int
) -> None:
    blocks = row_blocks(n_heads, range(first, first + count), n_k)

    assert [row for block in blocks for row in block] == list(range(first, first + count))
    for block in blocks:
        cells = n_heads * len(block) * n_k
        assert len(block) == 1 or cells <= USUAL_CELLS or (len(block) <= 32 and cells <= MOST_CELLS)
    assert len({len(block) for block in blocks[:-1]}) <= 1


@pytest.mark.parametrize("top", [1, 5, 64])
def test_the_largest_weights_of_a_long_row_are_found_exactly(top: int) -> None:
    weights = masked_softmax(np.random.default_rng(0).normal(0, 3, (1, 2, 5000)))

    found = top_mass(rows_of(weights, np.ones(weights.shape, dtype=bool)), top=top)

    np.testing.assert_allclose(found, np.sort(weights, axis=-1)[..., -top:].sum(axis=-1), rtol=1e-12)


def test_what_each_key_receives_equals_the_reference() -> None:
    np.testing.assert_allclose(survey(trace_of(STATS["w"])).received, STATS["colmass"], rtol=0, atol=1e-12)


def test_the_mean_over_queries_leaves_out_those_without_a_value() -> None:
    values = np.array([[np.nan, 1.0, 3.0], [np.nan, np.nan, np.nan], [0.0, 0.0, 6.0]])

    np.testing.assert_array_equal(mean_over_queries(values), [2, np.nan, 2])


def test_diagonality_is_the_mean_over_ranges_of_the_share_within_them() -> None:
    weights = np.array([[[0.5, 0.3, 0.2], [0, 1.0, 0], [1.0, 0, 0]]])
    rows = rows_of(weights, np.ones((1, 3, 3), dtype=bool))
    away = np.abs(np.arange(3)[:, None] - np.arange(3))
    within = [np.where(away <= reach, weights[0], 0).sum(axis=1) for reach in range(3)]

    np.testing.assert_allclose(diagonality(rows)[0], np.mean(within, axis=0), rtol=0, atol=1e-12)
