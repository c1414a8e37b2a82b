"""How alike two places are, against slow loops and what each method is known for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.positions import Positional, PositionShape, Rotation, alibi_slopes, rotary_frequencies
from attnviz.positions.similarity import Method, are_different, by_distance, same_word_scores
from attnviz.registries import POSITIONS
from tests.strategies import head_shapes, lengths, seeds, specs

PLACES = np.arange(24)
SHAPE = PositionShape(d_model=16, n_heads=4, seed=3, n_positions=24)


def method_of(name: str, shape: PositionShape = SHAPE, **params: object) -> Method:
    spec = POSITIONS[name].spec(**params)
    return Method(name, shape, POSITIONS[name].function(shape, **dict(spec.params)))


def slow_scores(method: Method, places: np.ndarray, head: int) -> np.ndarray:
    """The mean over words taken term by term: each column of x alone, then what is added."""
    shape, effects = method.shape, method.effects
    d_head = shape.d_head

    def turned(vector: np.ndarray, place: int) -> np.ndarray:
        if effects.rotate is None:
            return vector
        return effects.rotate(vector[None, None], np.array([place]))[0, 0]

    def score(i: int, j: int) -> float:
        total = sum(float(turned(column, i) @ turned(column, j)) for column in np.eye(d_head))
        if effects.add is not None:
            p, r = (effects.add(np.array([place]))[0].reshape(shape.n_heads, d_head) for place in (i, j))
            total += np.mean([float(turned(p[h], i) @ turned(r[h], j)) for h in range(shape.n_heads)])
        bias = 0.0
        if effects.bias is not None:
            bias = float(effects.bias(np.array([i]), np.array([j]))[head, 0, 0])
        return total / np.sqrt(d_head) + bias

    return np.array([[score(i, j) - score(i, i) for j in places] for i in places])


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data(), seed=seeds)
def test_every_method_scores_as_the_loop_over_its_columns_says(name: str, data: st.DataObject, seed: int) -> None:
    d_model, n_heads = data.draw(head_shapes(name, most=16))
    shape = PositionShape(d_model, n_heads, seed, n_positions=7)
    spec = data.draw(specs(POSITIONS[name]))
    method = Method(name, shape, POSITIONS[name].function(shape, **dict(spec.params)))
    head = data.draw(st.integers(0, n_heads - 1))
    places = np.array([0, 1, 2, 6])

    np.testing.assert_allclose(
        same_word_scores(method, places, places.copy(), head=head), slow_scores(method, places, head), atol=1e-9
    )


def test_the_formula_is_the_mean_over_random_words_of_a_method_that_does_all_three() -> None:
    everything = Positional(
        add=lambda positions: np.cos(positions[:, None] * np.arange(1.0, 17)),
        rotate=Rotation(rotary_frequencies(4), attention_factor=1.5),
        bias=lambda q, k: -np.arange(1.0, 5)[:, None, None] * np.abs(k[None, :] - q[:, None]),
    )
    method = Method("all", SHAPE, everything)

    np.testing.assert_allclose(
        same_word_scores(method, np.arange(5), np.arange(5), head=2),
        slow_scores(method, np.arange(5), head=2),
        atol=1e-12,
    )


@pytest.mark.parametrize("name", POSITIONS.names())
def test_the_own_position_scores_zero(name: str) -> None:
    scores = same_word_scores(method_of(name), PLACES, PLACES, head=1)

    np.testing.assert_allclose(scores.diagonal(), 0, atol=1e-12)


@pytest.mark.parametrize("name", POSITIONS.names("Rotary"))
def test_rotary_scores_depend_on_the_distance_alone_and_are_even(name: str) -> None:
    found = by_distance(same_word_scores(method_of(name), PLACES, PLACES, head=0))

    assert found.spread.max() < 1e-9
    np.testing.assert_allclose(found.mean, found.mean[::-1], atol=1e-9)
    assert (found.mean < 1e-9).all()


def test_rotary_is_the_sum_of_the_cosines_of_its_angles() -> None:
    scores = same_word_scores(method_of("rotary"), np.array([9]), PLACES, head=0)[0]

    theta = np.array([1.0, 0.01])
    expected = [(2 * np.cos((place - 9) * theta).sum() - 4) / 2 for place in PLACES]
    np.testing.assert_allclose(scores, expected, atol=1e-12)


def test_partial_rotary_leaves_what_does_not_turn_out_of_the_difference() -> None:
    scores = same_word_scores(method_of("rotary_partial", share=0.5), np.array([0]), PLACES, head=0)[0]

    np.testing.assert_allclose(scores, (2 * np.cos(PLACES) - 2) / 2, atol=1e-12)


def test_a_scaled_attention_multiplies_its_scores() -> None:
    plain, sharp = (
        Method("", SHAPE, Positional(rotate=Rotation(np.array([1.0, 0.1]), attention_factor=factor)))
        for factor in (1.0, 1.2)
    )

    one, other = (same_word_scores(method, PLACES, PLACES, head=0) for method in (plain, sharp))

    np.testing.assert_allclose(other, 1.44 * one, atol=1e-12)


@pytest.mark.parametrize("head", range(4))
def test_alibi_is_minus_the_slope_of_the_head_times_the_distance(head: int) -> None:
    scores = same_word_scores(method_of("alibi"), PLACES, PLACES, head=head)

    distance = np.abs(PLACES[None, :] - PLACES[:, None])
    np.testing.assert_allclose(scores, -alibi_slopes(4)[head] * distance, atol=1e-12)


def test_sinusoidal_is_a_sum_of_cosines_of_the_distance() -> None:
    scores = same_word_scores(method_of("sinusoidal"), PLACES, PLACES, head=0)

    theta = 10_000.0 ** (-np.arange(0, 16, 2) / 16)
    distance = PLACES[None, :] - PLACES[:, None]
    cosines = np.cos(distance[..., None] * theta).sum(axis=-1)
    np.testing.assert_allclose(scores, (cosines - 8) / (4 * np.sqrt(4)), atol=1e-12)


def test_without_positions_every_place_is_like_every_other() -> None:
    np.testing.assert_allclose(same_word_scores(method_of("none"), PLACES, PLACES, head=0), 0, atol=1e-12)


@given(n=lengths, seed=seeds)
def test_scores_by_distance_are_the_means_and_spreads_of_the_diagonals(n: int, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=(n, n))

    found = by_distance(scores)

    assert found.distance_tokens.tolist() == list(range(1 - n, n))
    for place, step in enumerate(found.distance_tokens):
        line = [scores[i, i + step] for i in range(n) if 0 <= i + step < n]
        assert found.mean[place] == pytest.approx(np.mean(line))
        assert found.spread[place] == pytest.approx(max(line) - min(line))


def test_only_untrained_numbers_are_drawn_from_the_seed() -> None:
    other = PositionShape(SHAPE.d_model, SHAPE.n_heads, seed=SHAPE.seed + 1, n_positions=24)

    drawn = {
        name for name in POSITIONS.names() if are_different(method_of(name).effects, method_of(name, other).effects)
    }

    assert drawn == {"learned", "t5_bias", "learned_bias", "grid_bias"}


def test_methods_with_different_effects_are_different() -> None:
    assert are_different(method_of("rotary").effects, method_of("none").effects)
    assert are_different(method_of("rotary").effects, method_of("rotary", base=100.0).effects)
    assert not are_different(method_of("rotary").effects, method_of("rotary").effects)
