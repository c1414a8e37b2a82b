"""How many directions heads use: small cases by hand, and against NumPy on the full product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, build_mask
from attnviz.errors import SettingError
from attnviz.metrics import spectra as made
from attnviz.metrics import uniform_weights
from attnviz.metrics.ranks import directions_for_most, effective_rank, numerical_rank, stable_rank
from attnviz.metrics.spectra import (
    Spectra,
    layer_spectra,
    matrix_spectra,
    product_values,
    score_spectra,
    singular_values,
    weight_spectra,
)
from attnviz.registries import MASKS, SPECTRA
from tests.figures.traces import random_trace, trace_of
from tests.reference import golden
from tests.strategies import configs, seeds

EXACT = float(np.finfo(np.float64).eps)
CAUSAL = MASKS["causal"].spec()
every_measure = pytest.mark.parametrize("name", SPECTRA.names())
sizes = st.integers(1, 9)


def spectra_of(*rows: list[float]) -> Spectra:
    return Spectra(np.array(rows), (len(rows[0]), len(rows[0])), EXACT)


def full(values: np.ndarray) -> np.ndarray:
    """Singular values of whole matrices, by NumPy."""
    return np.linalg.svd(values.astype(np.float64), compute_uv=False)


def test_scores_of_two_columns_have_rank_2_for_eight_tokens() -> None:
    trace = attend(AttentionConfig(tuple("abcdefgh"), d_model=8, n_heads=4, projections="random"))

    found = layer_spectra(trace)

    assert trace.query.shape == (4, 8, 2)
    assert numerical_rank(found.scores).tolist() == [2, 2, 2, 2]
    assert np.linalg.matrix_rank(trace.scores[0], tol=1e-5) == 2
    assert (numerical_rank(found.weights) > 2).all(), "the softmax keeps no such bound"


def test_equal_directions_count_fully_in_every_measure() -> None:
    found = spectra_of([2.0, 2.0, 2.0, 2.0])

    assert numerical_rank(found).tolist() == [4]
    assert effective_rank(found) == pytest.approx([4])
    assert stable_rank(found).tolist() == [4]
    assert directions_for_most(found).tolist() == [4]
    assert directions_for_most(found, share=0.5).tolist() == [2]


def test_measures_of_unequal_directions_are_those_of_their_formulas() -> None:
    found = spectra_of([3.0, 1.0, 0.0])

    assert numerical_rank(found).tolist() == [2]
    assert effective_rank(found) == pytest.approx([(4 / 3) ** 0.75 * 4**0.25])
    assert stable_rank(found) == pytest.approx([10 / 9])
    assert directions_for_most(found).tolist() == [1]
    assert directions_for_most(found, share=0.91).tolist() == [2]


def test_a_matrix_of_zeros_has_rank_0_and_no_other_measure() -> None:
    found = spectra_of([0.0, 0.0])

    assert numerical_rank(found).tolist() == [0]
    for measure in (effective_rank, stable_rank, directions_for_most):
        assert np.isnan(measure(found)).all()


def test_a_matrix_with_a_number_that_is_not_finite_has_no_measure_and_harms_no_other_head() -> None:
    found = Spectra(singular_values(np.stack([np.full((2, 2), np.inf), np.eye(2)])), (2, 2), EXACT)

    for entry in SPECTRA:
        broken, whole = entry.function(found)
        assert np.isnan(broken), entry.name
        assert whole == pytest.approx(2), entry.name


def test_what_is_no_more_than_rounding_in_float32_is_no_direction() -> None:
    values = np.array([[1.0, 2e-6, 1e-7]])

    assert numerical_rank(Spectra(values, (10, 10), float(np.finfo(np.float32).eps))).tolist() == [2]
    assert numerical_rank(Spectra(values, (10, 10), EXACT)).tolist() == [3]
    np.testing.assert_array_equal(
        Spectra(2 * values, (10, 10), float(np.finfo(np.float32).eps)).shares(), [[1.0, 2e-6, np.nan]]
    )


def test_the_share_has_its_range() -> None:
    with pytest.raises(SettingError, match=r"`share` must be a number from 0\.5 to 0\.99"):
        SPECTRA["directions_for_most"].spec(share=2.0)


@given(n_q=sizes, n_k=sizes, columns=sizes, group=st.integers(1, 3), seed=seeds)
def test_the_thin_factors_give_the_singular_values_of_the_product(
    n_q: int, n_k: int, columns: int, group: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2 * group, n_q, columns)), rng.standard_normal((2, n_k, columns))

    found = product_values(left, right)

    right_of_each = np.repeat(right, group, axis=0)
    np.testing.assert_allclose(
        found, full(left @ right_of_each.transpose(0, 2, 1))[:, : min(n_q, n_k, columns)], rtol=1e-9, atol=1e-12
    )


def test_factors_of_many_rows_are_taken_a_few_heads_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((6, 20, 3)), rng.standard_normal((3, 20, 3))
    whole = product_values(left, right)
    monkeypatch.setattr(made, "MOST_CELLS", 1)

    np.testing.assert_array_equal(product_values(left, right), whole)


@given(config=configs())
def test_scores_and_weights_of_any_setting_have_the_singular_values_of_their_maps(config: AttentionConfig) -> None:
    trace = attend(config)

    found = layer_spectra(trace)

    scores = full(np.matmul(trace.query.astype(np.float64), repeated(trace.key, trace.n_heads)) * trace.scale)
    atol = 1e-9 * max(1.0, float(scores.max(initial=0.0)))
    n_values = found.scores.values.shape[1]
    np.testing.assert_allclose(found.scores.values, scores[:, :n_values], rtol=1e-9, atol=atol)
    np.testing.assert_allclose(scores[:, n_values:], 0, atol=atol)
    np.testing.assert_allclose(found.weights.values, full(trace.weights), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.uniform.values, full(uniform_weights(trace.mask))[: len(found.uniform.values)])
    assert len(found.uniform.values) in (1, trace.n_heads)
    assert (numerical_rank(found.scores) <= min(trace.d_head, trace.n_q, trace.n_k)).all()


def repeated(key: np.ndarray, n_heads: int) -> np.ndarray:
    return np.repeat(key.astype(np.float64), n_heads // len(key), axis=0).transpose(0, 2, 1)


def test_stored_maps_have_the_singular_values_that_numpy_finds() -> None:
    weights = golden("head_stats")["w"]

    found, _ = weight_spectra(trace_of(weights))

    np.testing.assert_allclose(found.values, full(weights), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(numerical_rank(found), [np.linalg.matrix_rank(one) for one in weights])


def test_a_uniform_head_has_rank_1_where_all_may_attend_and_full_rank_under_a_causal_mask() -> None:
    _, everywhere = weight_spectra(random_trace(3, 6))
    _, causal = weight_spectra(random_trace(3, 6, build_mask([CAUSAL], 6, 6)))

    assert numerical_rank(everywhere).tolist() == [1]
    assert effective_rank(everywhere) == pytest.approx([1])
    assert numerical_rank(causal).tolist() == [6]
    assert effective_rank(causal) == pytest.approx(
        effective_rank(Spectra(full(uniform_weights(np.tril(np.ones((1, 6, 6), bool)))), (6, 6), EXACT))
    )


@every_measure
@pytest.mark.parametrize("name_of_mask", ["full", "causal", "sliding_window"])
def test_a_head_of_sharpness_0_scores_the_baseline(name: str, name_of_mask: str) -> None:
    config = AttentionConfig(tuple("abcdefgh"), masks=(MASKS[name_of_mask].spec(),), sharpness=0.0)

    weights, uniform = weight_spectra(attend(config))

    values, even = (SPECTRA[name].function(part) for part in (weights, uniform))
    np.testing.assert_allclose(values, np.broadcast_to(even, values.shape), rtol=1e-5)


def test_a_mask_for_each_head_has_a_baseline_for_each_head() -> None:
    masks = np.stack([np.ones((4, 4), bool), np.tril(np.ones((4, 4), bool))])

    _, uniform = weight_spectra(trace_of(uniform_weights(masks), masks))

    assert numerical_rank(uniform).tolist() == [1, 4]


@every_measure
def test_permuting_the_heads_permutes_the_values(name: str) -> None:
    found, _ = weight_spectra(random_trace(5, 7))
    order = [3, 0, 4, 1, 2]
    permuted = Spectra(found.values[order], found.shape, found.eps)

    np.testing.assert_array_equal(SPECTRA[name].function(permuted), SPECTRA[name].function(found)[order])


@every_measure
@given(n=sizes, seed=seeds)
def test_every_measure_lies_between_1_and_the_number_of_singular_values(name: str, n: int, seed: int) -> None:
    found, _ = weight_spectra(random_trace(3, n, seed=seed % 1000))

    values = SPECTRA[name].function(found)

    assert ((values >= 1 - 1e-12) & (values <= n + 1e-9)).all()


def test_of_a_long_map_the_first_queries_are_taken_with_all_their_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = random_trace(3, 10)
    monkeypatch.setattr(made, "MOST_ROWS", 4)

    found = layer_spectra(trace)

    assert found.n_rows == 4
    assert found.weights.shape == (4, 10)
    np.testing.assert_allclose(found.weights.values, full(trace.weights[:, :4]), atol=1e-12)
    assert found.scores.shape == (10, 10), "scores need no map"


def test_maps_that_are_not_kept_are_taken_a_head_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = tuple(f"t{place}" for place in range(520))
    trace = attend(AttentionConfig(tokens, d_model=16, n_heads=8, masks=(CAUSAL,)))
    monkeypatch.setattr(made, "MOST_ROWS", 40)
    monkeypatch.setattr(made, "MOST_CELLS", 40 * 520)

    weights, uniform = weight_spectra(trace)

    assert trace.kept is None
    np.testing.assert_allclose(weights.values, full(trace.weights[:, :40]), atol=1e-5)
    np.testing.assert_allclose(uniform.values, full(uniform_weights(trace.mask)[:, :40]), atol=1e-12)


def test_matrices_have_the_singular_values_of_their_products() -> None:
    trace = attend(AttentionConfig(("a", "b"), d_model=12, n_heads=4, n_kv_heads=2, d_value=2, projections="random"))
    W_Q, W_K, W_V, W_O = (
        to.W.astype(np.float64)
        for to in (trace.origin.to_query, trace.origin.to_key, trace.origin.to_value, trace.origin.to_output)
    )

    looks, writes = matrix_spectra(trace)

    for head in range(4):
        kv = head // 2
        product = W_Q[:, 3 * head : 3 * head + 3] @ W_K[:, 3 * kv : 3 * kv + 3].T
        np.testing.assert_allclose(looks.values[head], full(product)[:3], rtol=1e-9)
        product = W_V[:, 2 * kv : 2 * kv + 2] @ W_O[2 * head : 2 * head + 2]
        np.testing.assert_allclose(writes.values[head], full(product)[:2], rtol=1e-9)
    assert numerical_rank(looks).tolist() == [3] * 4
    assert numerical_rank(writes).tolist() == [2] * 4


def test_scores_of_a_negative_scale_have_positive_singular_values() -> None:
    trace = attend(AttentionConfig(("a", "b", "c"), d_model=8, n_heads=2, projections="random", sharpness=-2.0))

    np.testing.assert_allclose(score_spectra(trace).values, full(trace.scores), atol=1e-5)


def test_the_more_heads_are_looked_at_together_the_fewer_queries_are_taken_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(made, "MOST_WORK", 4000)
    trace = random_trace(2, 20)

    alone, among = layer_spectra(trace), layer_spectra(trace, among=8)

    assert (alone.n_rows, among.n_rows) == (10, 5)
    np.testing.assert_allclose(among.weights.values, full(trace.weights[:, :5]), atol=1e-9)
    np.testing.assert_array_equal(among.scores.values, alone.scores.values)
