"""What holds for every registered measure, under every kind of mask."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, build_mask, masked_softmax
from attnviz.core.rows import Facts, rows_of
from attnviz.metrics import mean_over_queries, measured, uniform_weights
from attnviz.registries import MASKS, METRICS
from attnviz.registry import Spec
from tests.strategies import mask_specs, seeds

MASKED = {
    "full": MASKS["full"].spec(),
    "causal": MASKS["causal"].spec(),
    "window": MASKS["sliding_window"].spec(window=3),
    "padded": MASKS["padding_left"].spec(padded=3),
}
BESIDE = {"previous_token": -1, "own_token": 0, "next_token": 1}
GRID_WIDTH = 3
OF_ALL_HEADS = ("output_share",)
lengths = st.integers(1, 24)
every_metric = pytest.mark.parametrize("name", METRICS.names())
every_metric_of_one_head = pytest.mark.parametrize(
    "name", [name for name in METRICS.names() if name not in OF_ALL_HEADS]
)


def word(place: int) -> int:
    return place * place % 5


def facts(n_heads: int, n: int, order: np.ndarray | None = None) -> Facts:
    """Words that come again, and heads that write different things, in this order."""
    rng = np.random.default_rng(n)
    heads = np.arange(n_heads) if order is None else order
    words = np.array([word(place) for place in range(n)])
    value, W_O = rng.normal(size=(n_heads, n, 2))[heads], rng.normal(size=(n_heads, 2, 3))[heads]
    return Facts(
        words,
        words,
        grid_width=GRID_WIDTH,
        value=value,
        output_products=np.einsum("hdm,hem->hde", W_O, W_O),
    )


def measure(name: str, weights: np.ndarray, mask: np.ndarray, known: Facts | None = None) -> np.ndarray:
    given = known or facts(len(weights), weights.shape[2])
    return METRICS[name].function(replace(rows_of(weights, mask), facts=given))


def random_heads(n_heads: int, mask: np.ndarray, seed: int) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(0, 3, (n_heads, *mask.shape[1:]))
    return masked_softmax(scores, mask)


def again(row: list[bool], place: int) -> list[int]:
    """Other keys with the word that stands at this place."""
    return [key for key, allowed in enumerate(row) if allowed and key != place and word(key) == word(place)]


def next_again(row: list[bool], place: int) -> list[int]:
    """Keys after an earlier place of the word that stands at this place."""
    return [key for key in range(1, place + 1) if row[key] and word(key - 1) == word(place)]


def is_defined(name: str, row: list[bool], place: int) -> bool:
    """Whether a query at this place, with these keys allowed, has a value."""
    if name in ("normalised_entropy", "hoyer"):
        return sum(row) > 1
    if name in ("same_token", "induction"):
        return bool(again(row, place) if name == "same_token" else next_again(row, place))
    return any(row) and 0 <= place + BESIDE.get(name, 0) < len(row)


def written_by_hand(keys: list[int], n: int) -> float:
    """Share of the output of the first of three heads that are all uniform over these keys."""
    known = facts(3, n)
    assert known.value is not None
    assert known.output_products is not None
    contexts = [known.value[head][keys].mean(axis=0) for head in range(3)]
    norms = [math.sqrt(one @ known.output_products[head] @ one) for head, one in enumerate(contexts)]
    return norms[0] / math.fsum(norms)


def uniform_by_hand(name: str, row: list[bool], place: int) -> float:
    """What a query at this place scores that is uniform over its allowed keys."""
    keys = [key for key, allowed in enumerate(row) if allowed]
    if not is_defined(name, row, place):
        return math.nan
    if name in BESIDE:
        return row[place + BESIDE[name]] / len(keys)
    if name == "output_share":
        return written_by_hand(keys, len(row))
    return {
        "effective_keys": len(keys),
        "keys_for_most": math.ceil(Fraction(9, 10) * len(keys)),
        "gini": 0.0,
        "hoyer": 0.0,
        "diagonality": sum(1 - abs(place - key) / len(row) for key in keys) / len(keys),
        "distance_back": sum(place - key for key in keys) / len(keys),
        "entropy": math.log2(len(keys)),
        "entropy_nats": math.log(len(keys)),
        "normalised_entropy": 1.0,
        "largest_weight": 1 / len(keys),
        "sum_of_squares": 1 / len(keys),
        "top_mass": min(5, len(keys)) / len(keys),
        "first_key": row[0] / len(keys),
        "sink_mass": row[0] / len(keys),
        "mean_distance": sum(abs(place - key) for key in keys) / len(keys),
        "distance_in_image": sum(
            math.hypot(place // GRID_WIDTH - key // GRID_WIDTH, place % GRID_WIDTH - key % GRID_WIDTH) for key in keys
        )
        / len(keys),
        "same_token": len(again(row, place)) / len(keys),
        "induction": len(next_again(row, place)) / len(keys),
    }[name]


@every_metric
@given(specs=mask_specs(), n=lengths)
def test_a_uniform_head_scores_exactly_the_baseline_and_the_baseline_is_that_of_the_formula(
    name: str, specs: tuple[Spec, ...], n: int
) -> None:
    mask = build_mask(specs, n, n)[None]
    known = facts(3, n)
    baseline = measure(name, uniform_weights(mask), mask, known)

    alike = measure(name, np.repeat(uniform_weights(mask), 3, axis=0), mask, known)

    np.testing.assert_array_equal(alike, np.broadcast_to(baseline, (3, n)))
    right = [uniform_by_hand(name, row.tolist(), place) for place, row in enumerate(mask[0])]
    np.testing.assert_allclose(baseline[0], right, rtol=0, atol=1e-12)


@every_metric
@pytest.mark.parametrize("kind", MASKED)
def test_a_layer_of_sharpness_0_scores_the_baseline(name: str, kind: str) -> None:
    trace = attend(AttentionConfig(tuple("ababcaba"), masks=(MASKED[kind],), sharpness=0.0))
    in_image = replace(trace, origin=replace(trace.origin, grid_width=GRID_WIDTH))

    found = measured(in_image, METRICS[name].spec())

    np.testing.assert_allclose(found.values, np.broadcast_to(found.uniform, found.values.shape), atol=1e-6)
    assert not np.isnan(mean_over_queries(found.values)).any()


@every_metric
@given(specs=mask_specs(), n=lengths, seed=seeds)
def test_permuting_the_heads_permutes_the_values(name: str, specs: tuple[Spec, ...], n: int, seed: int) -> None:
    mask = build_mask(specs, n, n)[None]
    weights = random_heads(5, mask, seed)
    order = np.random.default_rng(seed).permutation(5)

    permuted = measure(name, weights[order], mask, facts(5, n, order))

    if name in OF_ALL_HEADS:
        np.testing.assert_allclose(permuted, measure(name, weights, mask)[order], rtol=1e-12)
    else:
        np.testing.assert_array_equal(permuted, measure(name, weights, mask)[order])


@every_metric_of_one_head
@given(n=lengths, seed=seeds)
def test_a_mask_for_each_head_counts_for_its_head_only(name: str, n: int, seed: int) -> None:
    masks = np.random.default_rng(seed).random((3, n, n)) < 0.5
    weights = random_heads(3, masks, seed)

    together = measure(name, weights, masks)

    for head in range(3):
        alone = measure(name, weights[head : head + 1], masks[head : head + 1])
        np.testing.assert_array_equal(together[head : head + 1], alone)


@every_metric
@given(specs=mask_specs(), n=lengths, seed=seeds)
def test_a_query_without_keys_has_no_value_and_does_not_enter_the_mean(
    name: str, specs: tuple[Spec, ...], n: int, seed: int
) -> None:
    mask = build_mask(specs, n, n)[None]
    weights = random_heads(2, mask, seed)
    with_keys = mask[0].any(axis=1)

    values = measure(name, weights, mask)

    assert values.shape == (2, n)
    assert np.isnan(values[:, ~with_keys]).all()
    defined = [is_defined(name, row.tolist(), place) for place, row in enumerate(mask[0])]
    np.testing.assert_array_equal(~np.isnan(values), np.broadcast_to(defined, values.shape))
    kept = [[value for value in row if not math.isnan(value)] for row in values.tolist()]
    right = [math.fsum(row) / len(row) if row else math.nan for row in kept]
    np.testing.assert_allclose(mean_over_queries(values), right, rtol=1e-12)


@given(specs=mask_specs(), n=lengths, seed=seeds)
def test_every_measure_stays_within_its_bounds(specs: tuple[Spec, ...], n: int, seed: int) -> None:
    mask = build_mask(specs, n, n)[None]
    weights = random_heads(4, mask, seed)
    allowed = np.broadcast_to(mask.sum(axis=-1), (4, n))
    slack = 1e-12

    entropy, share, largest, distance, five, first = (
        measure(name, weights, mask)
        for name in ("entropy", "normalised_entropy", "largest_weight", "mean_distance", "top_mass", "first_key")
    )
    effective, many, uneven, sparse, back = (
        measure(name, weights, mask) for name in ("effective_keys", "keys_for_most", "gini", "hoyer", "distance_back")
    )

    defined = allowed > 0
    assert ((entropy >= 0) & (entropy <= np.log2(np.maximum(allowed, 1)) + slack))[defined].all()
    assert ((share >= 0) & (share <= 1 + slack))[allowed > 1].all()
    assert ((largest <= 1 + slack) & (largest * allowed >= 1 - slack))[defined].all()
    assert ((distance >= 0) & (distance <= n - 1 + slack))[defined].all()
    assert ((five <= 1 + slack) & (five >= largest) & (five * allowed >= np.minimum(allowed, 5) - slack))[defined].all()
    assert ((first >= 0) & (first <= largest))[defined].all()
    assert ((effective >= 1 - slack) & (effective <= allowed + 1e-9))[defined].all()
    assert ((many >= 1) & (many <= np.maximum(allowed, 1)) & (many % 1 == 0))[defined].all()
    assert ((uneven >= -slack) & (uneven <= 1 - 1 / np.maximum(allowed, 1) + slack))[defined].all()
    assert ((sparse >= -1e-9) & (sparse <= 1 + 1e-9))[allowed > 1].all()
    assert (np.abs(back) <= distance + 1e-9)[defined].all()


@pytest.mark.parametrize("name", ["sink_mass", "same_token", "induction", "output_share", "sum_of_squares"])
@given(specs=mask_specs(), n=lengths, seed=seeds)
def test_a_share_is_from_0_to_1(name: str, specs: tuple[Spec, ...], n: int, seed: int) -> None:
    mask = build_mask(specs, n, n)[None]

    values = measure(name, random_heads(4, mask, seed), mask)

    there = values[~np.isnan(values)]
    assert ((there >= 0) & (there <= 1 + 1e-12)).all()


def test_no_measure_gives_the_same_number_to_every_head_as_the_mean_of_a_map_would() -> None:
    mask = np.ones((1, 8, 8), dtype=bool)
    heads = np.concatenate([uniform_weights(mask), np.eye(8)[None], masked_softmax(np.arange(64.0).reshape(1, 8, 8))])
    np.testing.assert_allclose(heads.mean(axis=(1, 2)), 0.125, err_msg="1 / n whatever the head does")

    for entry in METRICS:
        values = mean_over_queries(measure(entry.name, heads, mask))
        assert len({round(value, 9) for value in values.tolist()}) > 1, entry.name
