"""How exact weights are: float32 against float64, float64 against exact fractions and 40-digit exponentials."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from attnviz import masked_softmax, scaled_dot_product_attention
from tests.reference import normal

MAGNITUDES = [0.01, 1.0, 9.0, 10.0, 11.0, 20.0, 60.0, 70.0, 100.0, 1e3, 1e4]


class Drawn(NamedTuple):
    """Query, key and the scale that makes `magnitude` the largest score."""

    query: np.ndarray
    key: np.ndarray
    scale: float


def close_races(magnitude: float, d_head: int, *, n_q: int = 48, n_k: int = 96, seed: int = 0) -> Drawn:
    """Two heads whose keys come in pairs with scores about 1 apart, so that rounding of a score is seen in a weight."""
    query, key = normal((2, n_q, d_head), seed), normal((2, n_k, d_head), seed + 1)
    key[:, 1::2] = key[:, ::2] + normal((2, n_k // 2, d_head), seed + 2) / max(magnitude, 1)
    single_q, single_k = query.astype(np.float32), key.astype(np.float32)
    largest = np.abs(single_q.astype(np.float64) @ single_k.astype(np.float64).transpose(0, 2, 1)).max()
    return Drawn(single_q, single_k, magnitude / float(largest))


def weights_in_both(drawn: Drawn, **variant: Any) -> tuple[np.ndarray, np.ndarray]:
    query, key, scale = drawn
    single = scaled_dot_product_attention(query, key, key, scale=scale, **variant)
    wide = {name: array.astype(np.float64) for name, array in {"query": query, "key": key, "value": key}.items()}
    if "bias" in variant:
        variant = variant | {"bias": variant["bias"].astype(np.float64)}
    double = scaled_dot_product_attention(**wide, scale=scale, **variant)
    assert {array.dtype for array in single} == {np.dtype(np.float32)}
    assert {array.dtype for array in double} == {np.dtype(np.float64)}
    return single.weights, double.weights


@pytest.mark.parametrize("d_head", [1, 2, 4, 64, 512])
@pytest.mark.parametrize("magnitude", MAGNITUDES)
def test_float32_weights_are_within_1e_6_of_float64_whatever_the_size_of_the_scores(
    magnitude: float, d_head: int
) -> None:
    single, double = weights_in_both(close_races(magnitude, d_head))

    np.testing.assert_allclose(single, double, rtol=0, atol=1e-6)


@pytest.mark.parametrize("d_head", [8, 64, 128, 256])
@pytest.mark.parametrize("magnitude", [1.0, 2.0, 4.0, 6.0, 9.9, 100.0])
def test_float32_weights_are_as_exact_where_every_query_and_key_points_the_same_way(
    magnitude: float, d_head: int
) -> None:
    shared = np.abs(normal((2, 1, d_head), d_head))
    query, key = (shared + normal((2, n, d_head), n) / 50 for n in (512, 2))
    query, key = query.astype(np.float32), key.astype(np.float32)
    lengths = [float(np.linalg.norm(x.astype(np.float64), axis=-1).max()) for x in (query, key)]

    single, double = weights_in_both(Drawn(query, key, magnitude / (lengths[0] * lengths[1])))

    np.testing.assert_allclose(single, double, rtol=0, atol=1e-6)


@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("variant", ["causal", "bias", "softcap", "sinks"])
def test_float32_weights_stay_within_1e_6_of_float64_in_every_variant(variant: str, magnitude: float) -> None:
    given: dict[str, Any] = {
        "causal": {"mask": np.tril(np.ones((48, 96), dtype=bool), k=48)},
        "bias": {"bias": (magnitude * normal((2, 48, 96), 7)).astype(np.float32)},
        "softcap": {"softcap": 50.0},
        "sinks": {"sinks": np.array([magnitude / 2, 0.5])},
    }[variant]
    single, double = weights_in_both(close_races(magnitude, 64), **given)

    np.testing.assert_allclose(single, double, rtol=0, atol=1e-6)


@pytest.mark.parametrize("magnitude", [1.0, 1e4])
def test_float32_weights_of_a_long_row_are_within_1e_6_of_float64(magnitude: float) -> None:
    single, double = weights_in_both(close_races(magnitude, 64, n_q=8, n_k=20_000))

    np.testing.assert_allclose(single, double, rtol=0, atol=1e-6)
    np.testing.assert_allclose(single.sum(axis=-1, dtype=np.float64), 1, rtol=0, atol=2e-6)


def exact_softmax(scores: list[Fraction]) -> list[float]:
    """Weights of one row, rounded once."""
    top = max(scores)
    with localcontext(prec=40):
        below = [score - top for score in scores]
        powers = [(Decimal(each.numerator) / Decimal(each.denominator)).exp() for each in below]
        return [float(power / sum(powers)) for power in powers]


def exact_weights(query: np.ndarray, key: np.ndarray, scale: float) -> np.ndarray:
    """Softmax of the exact scores, `(head, q, k)`, one key head for each query head."""

    def exact_score(one: list[float], other: list[float]) -> Fraction:
        return Fraction(scale) * sum(Fraction(a) * Fraction(b) for a, b in zip(one, other, strict=True))

    pairs = zip(query.tolist(), key.tolist(), strict=True)
    return np.array(
        [[exact_softmax([exact_score(row, each) for each in keys]) for row in rows] for rows, keys in pairs]
    )


@pytest.mark.parametrize("magnitude", MAGNITUDES)
def test_the_float64_softmax_of_given_scores_is_within_1e_14_of_exact_arithmetic(magnitude: float) -> None:
    scores = normal((6, 40)) * magnitude / 3
    scores[:, 1::2] = scores[:, ::2] + normal((6, 20), 1)
    right = np.array([exact_softmax([Fraction(score) for score in row]) for row in scores.tolist()])

    np.testing.assert_allclose(masked_softmax(scores), right, rtol=0, atol=1e-14)


@pytest.mark.parametrize("largest", [1, 8, 16, 64, 1000, 10_000])
def test_float64_weights_are_within_1e_14_of_exact_arithmetic_where_the_scores_can_be_written_exactly(
    largest: int,
) -> None:
    rng = np.random.default_rng(largest)
    query, key = (rng.integers(-8, 9, (2, n, 4)).astype(np.float64) for n in (5, 24))
    key[..., 0], query[..., 0] = rng.integers(-largest, largest + 1, (2, 24)), 1

    weights = scaled_dot_product_attention(query, key, key, scale=0.25).weights

    np.testing.assert_allclose(weights, exact_weights(query, key, 0.25), rtol=0, atol=1e-14)


@pytest.mark.parametrize("magnitude", MAGNITUDES)
def test_float64_weights_of_any_query_and_key_are_within_1e_14_or_above_100_within_the_rounding_of_the_scores(
    magnitude: float,
) -> None:
    query, key, scale = close_races(magnitude, 16, n_q=5, n_k=20)
    query, key = query.astype(np.float64) / 3, key.astype(np.float64) * 3

    weights = scaled_dot_product_attention(query, key, key, scale=scale).weights

    tolerance = 1e-14 * max(1.0, magnitude / 100)
    np.testing.assert_allclose(weights, exact_weights(query, key, scale), rtol=0, atol=tolerance)
