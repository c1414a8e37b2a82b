"""Vectors for each place that are added to x."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import sinusoidal_table
from attnviz.positions import PositionShape
from attnviz.registries import POSITIONS
from tests.reference import golden


def test_the_paper_formula_for_an_even_width() -> None:
    right = [[0, 1, 0, 1], [0.8414710, 0.5403023, 0.0099998, 0.9999500], [0.9092974, -0.4161468, 0.0199987, 0.9998000]]

    np.testing.assert_allclose(sinusoidal_table(np.arange(3), 4), right, atol=1e-6)


def test_an_odd_width_has_one_more_sine_than_cosines() -> None:
    right = [[0.8414710, 0.5403023, 0.0251162, 0.9996845, 0.0006310]]

    np.testing.assert_allclose(sinusoidal_table(np.array([1]), 5), right, atol=1e-6)
    at_the_start = sinusoidal_table(np.array([0]), 29)[0].tolist()
    assert (at_the_start.count(0.0), at_the_start.count(1.0)) == (15, 14)
    assert sinusoidal_table(np.arange(7), 5).shape == (7, 5)


@pytest.mark.parametrize("d_model", [1, 7, 8, 16])
def test_the_table_equals_40_digit_arithmetic(d_model: int) -> None:
    right = golden("sinusoidal_pe")[f"interleaved_{d_model}"]

    np.testing.assert_allclose(sinusoidal_table(np.arange(24), d_model), right, rtol=0, atol=1e-15)


@pytest.mark.parametrize("d_model", [7, 8, 16])
def test_marian_has_the_same_columns_with_all_sines_first(d_model: int) -> None:
    table = sinusoidal_table(np.arange(24), d_model)
    reordered = np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)

    half_split = sinusoidal_table(np.arange(24), d_model, layout="half-split")
    np.testing.assert_array_equal(half_split, reordered)
    np.testing.assert_allclose(half_split, golden("sinusoidal_pe")[f"halfsplit_{d_model}"], rtol=0, atol=1e-7)


@pytest.mark.parametrize("layout", ["interleaved", "half-split"])
@given(d_model=st.integers(1, 40), n=st.integers(1, 70))
def test_either_layout_works_for_every_width_and_starts_with_sines_of_0(layout: str, d_model: int, n: int) -> None:
    effects = POSITIONS["sinusoidal"].function(PositionShape(d_model, 1), layout=layout)
    assert effects.add is not None
    table = effects.add(np.arange(n))

    assert table.shape == (n, d_model)
    assert sorted(table[0].tolist()) == [0.0] * ((d_model + 1) // 2) + [1.0] * (d_model // 2)
    np.testing.assert_array_equal(table, sinusoidal_table(np.arange(n), d_model, layout=layout))


def test_half_split_positions_compare_places_as_interleaved_ones_do() -> None:
    one, other = (sinusoidal_table(np.arange(30), 12, layout=layout) for layout in ("interleaved", "half-split"))

    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-12)
    assert not np.allclose(one, other)


@given(st.integers(0, 500), st.integers(1, 40), st.floats(10, 1e6))
def test_the_table_equals_the_formula_written_as_loops(position: int, d_model: int, base: float) -> None:
    row = sinusoidal_table(np.array([position]), d_model, base=base)[0]

    for i in range(d_model):
        angle = position / base ** (2 * (i // 2) / d_model)
        assert row[i] == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle), abs=1e-10)


@given(st.integers(0, 100), st.integers(1, 20))
def test_the_product_of_two_places_depends_on_their_distance_only(place: int, distance: int) -> None:
    first, second, third, fourth = sinusoidal_table(np.array([0, distance, place, place + distance]), 64)

    assert first @ second == pytest.approx(third @ fourth, abs=1e-9)
    assert first @ first == pytest.approx(32)


def test_learned_vectors_have_the_mean_square_of_a_sinusoidal_encoding_and_depend_on_the_seed() -> None:
    add = POSITIONS["learned"].function(PositionShape(64, 4, seed=1)).add
    other = POSITIONS["learned"].function(PositionShape(64, 4, seed=2)).add
    assert add is not None
    assert other is not None
    places = np.arange(300)

    assert np.square(add(places)).mean() == pytest.approx(0.5, abs=0.01)
    assert np.square(sinusoidal_table(places, 64)).mean() == pytest.approx(0.5, abs=1e-12)
    np.testing.assert_array_equal(add(places), add(places))
    assert not np.array_equal(add(places), other(places))


@given(st.integers(1, 40), st.integers(1, 40))
def test_a_longer_text_keeps_the_learned_vectors_it_had(n: int, more: int) -> None:
    add = POSITIONS["learned"].function(PositionShape(12, 3, seed=5)).add
    assert add is not None

    np.testing.assert_array_equal(add(np.arange(n + more))[:n], add(np.arange(n)))


def test_padding_that_shares_a_position_shares_the_learned_vector() -> None:
    add = POSITIONS["learned"].function(PositionShape(12, 3)).add
    assert add is not None
    x = add(np.array([0, 0, 1]))

    np.testing.assert_array_equal(x[0], x[1])
    assert not np.array_equal(x[0], x[2])
