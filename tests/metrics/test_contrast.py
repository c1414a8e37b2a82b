"""Whether heads that look alike write the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from attnviz.metrics.alike import Alike
from attnviz.metrics.contrast import Contrast, by_pair
from tests.strategies import seeds

MAPS = np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.1], [0.5, 0.1, 1.0]])
OUTPUTS = np.array([[1.0, 0.1, 0.5], [0.1, 1.0, 0.9], [0.5, 0.9, 1.0]])
NO_BASELINE = np.full(3, np.nan)


def alike(pairs: np.ndarray, uniform: np.ndarray | None = None) -> Alike:
    return Alike(pairs, np.full(len(pairs), 0.5) if uniform is None else uniform)


def random_alike(n: int, rng: np.random.Generator) -> Alike:
    upper = np.triu(rng.random((n, n)).round(1), k=1)
    return alike(upper + upper.T + np.eye(n))


def test_every_pair_is_there_once_with_both_numbers_and_both_baselines() -> None:
    found = by_pair(alike(MAPS, np.array([0.2, np.nan, 0.4])), alike(OUTPUTS, NO_BASELINE))

    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2)]
    assert found.maps.tolist() == [0.9, 0.5, 0.1]
    assert found.outputs.tolist() == [0.1, 0.5, 0.9]
    assert found.even_maps == pytest.approx(0.3)
    assert np.isnan(found.even_outputs)


def test_a_head_without_a_value_is_in_no_pair_no_rank_and_no_baseline() -> None:
    with_nan = OUTPUTS.copy()
    with_nan[0] = with_nan[:, 0] = np.nan
    outputs = Alike(with_nan, np.array([np.nan, 0.2, 0.4]), reason="writes the same for every query")

    found = by_pair(alike(MAPS, np.array([1.0, 0.1, 0.3])), outputs)

    assert (found.first.tolist(), found.second.tolist()) == ([1], [2])
    assert (found.maps.tolist(), found.outputs.tolist()) == ([0.1], [0.9])
    assert (found.even_maps, found.even_outputs) == (pytest.approx(0.2), pytest.approx(0.3))
    assert (found.left_out, found.reason) == ((0,), "writes the same for every query")
    assert by_pair(alike(MAPS), alike(OUTPUTS)).left_out == ()


def test_ranks_are_those_of_the_pairs_that_have_both_numbers() -> None:
    rng = np.random.default_rng(4)
    maps, outputs = random_alike(6, rng), random_alike(6, rng)
    with_nan = outputs.pairs.copy()
    with_nan[2] = with_nan[:, 2] = np.nan

    found = by_pair(maps, Alike(with_nan, outputs.uniform))

    rest = [0, 1, 3, 4, 5]
    right = by_pair(*(alike(one.pairs[np.ix_(rest, rest)]) for one in (maps, outputs)))
    assert found.correlation == pytest.approx(right.correlation, abs=1e-12)
    assert found.contrast == right.contrast


def test_a_pair_knows_how_many_others_it_is_beyond() -> None:
    pair = by_pair(alike(MAPS), alike(OUTPUTS)).of(0)

    assert (pair.first, pair.second, pair.maps, pair.outputs) == (0, 1, 0.9, 0.1)
    assert (pair.maps_above, pair.maps_below, pair.outputs_above, pair.outputs_below) == (1, 0, 0, 1)
    middle = by_pair(alike(MAPS), alike(OUTPUTS)).of(1)
    assert (middle.maps_above, middle.outputs_below) == (0.5, 0.5)


def test_pairs_that_look_alike_but_write_differently_are_those_whose_ranks_differ_most() -> None:
    assert by_pair(alike(MAPS), alike(OUTPUTS)).contrast == Contrast(0, 2)
    assert by_pair(alike(OUTPUTS), alike(MAPS)).contrast == Contrast(2, 0)


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_heads_have_no_such_pair(n: int) -> None:
    found = by_pair(alike(np.eye(n)), alike(np.eye(n)))

    assert len(found) == n - 1
    assert found.contrast is None
    assert np.isnan(found.correlation)


def test_where_outputs_follow_the_maps_there_is_no_such_pair() -> None:
    follows = by_pair(alike(MAPS), alike(MAPS / 2 + np.eye(3) / 2))

    assert follows.contrast is None
    assert follows.correlation == pytest.approx(1)
    assert by_pair(alike(MAPS), alike(OUTPUTS)).correlation == pytest.approx(-1)
    assert np.isnan(by_pair(alike(MAPS), alike(np.ones((3, 3)))).correlation)


@given(n=st.integers(3, 8), seed=seeds)
def test_the_correlation_is_that_of_scipy_ties_included(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = by_pair(random_alike(n, rng), random_alike(n, rng))
    if np.ptp(found.maps) == 0 or np.ptp(found.outputs) == 0:
        assert np.isnan(found.correlation)
        return

    right = spearmanr(found.maps, found.outputs)

    assert found.correlation == pytest.approx(right.statistic, abs=1e-12)
