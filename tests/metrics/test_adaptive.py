"""Adaptive heads: the fewest that hold a share, and what is lost, as a gated run loses it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.core.gating import Gates
from attnviz.metrics.adaptive import (
    GATED_BY,
    SHARES,
    adaptive,
    adaptive_gates,
    at_random,
    costs,
    fewest,
    written_shares,
)
from attnviz.metrics.contribution import written
from attnviz.registries import MASKS
from tests.strategies import configs

TRACE = attend(AttentionConfig(tuple("abcdefgh"), d_model=24, n_heads=6, projections="random"))
MADE = written(TRACE)
by_each = pytest.mark.parametrize("gate_by", GATED_BY)


def test_shares_are_lengths_of_what_each_head_writes() -> None:
    by_head = TRACE.origin.to_output.W.reshape(6, 4, 24)
    lengths = np.linalg.norm(np.einsum("hqd,hdm->hqm", TRACE.context, by_head), axis=2)

    np.testing.assert_allclose(written_shares(MADE), lengths / lengths.sum(axis=0), rtol=0, atol=1e-6)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=7), st.sampled_from(SHARES))
def test_the_fewest_heads_hold_the_share_and_one_fewer_would_not(lengths: list[float], share: float) -> None:
    shares = (np.array(lengths) / sum(lengths))[:, None]

    keeps = fewest(shares, share)[:, 0]

    kept = np.sort(shares[keeps, 0])[::-1]
    assert kept.sum() >= share - 1e-8
    assert kept[:-1].sum() < share
    assert kept.min() >= shares[~keeps, 0].max(initial=0)


@by_each
@pytest.mark.parametrize("share", [0.05, 0.5, 0.8, 1.0])
def test_what_is_lost_is_what_a_gated_run_loses(gate_by: str, share: float) -> None:
    found = adaptive(MADE, share, gate_by)
    gated = replace(TRACE, gates=Gates(found.keeps.copy())).output.astype(np.float64)
    before = TRACE.output.astype(np.float64)

    lost = np.linalg.norm(gated - before)
    assert found.change.relative == pytest.approx(lost / np.linalg.norm(before), abs=1e-6)
    np.testing.assert_allclose(
        found.change.at, np.linalg.norm(gated - before, axis=1) / np.linalg.norm(before, axis=1), rtol=0, atol=1e-6
    )
    cosines = (gated * before).sum(axis=1) / np.linalg.norm(gated, axis=1) / np.linalg.norm(before, axis=1)
    assert found.change.cosine == pytest.approx(float(cosines.mean()), abs=1e-6)


@by_each
@pytest.mark.parametrize("n_off", [0, 1, 4, 6])
def test_as_many_heads_at_random_are_the_root_mean_square_over_all_sets_of_a_gated_run(
    n_off: int, gate_by: str
) -> None:
    before = TRACE.output.astype(np.float64)
    squares: list[float] = []
    for off in combinations(range(6), n_off):
        keeps = ~np.isin(np.arange(6), off)[:, None]
        squares.append(float(np.square(replace(TRACE, gates=Gates(keeps)).output - before).sum()))

    counts = np.full(8 if gate_by == "query" else 1, n_off)

    right = np.sqrt(np.mean(squares)) / np.linalg.norm(before)
    assert at_random(MADE, counts) == pytest.approx(right, abs=1e-6)


def test_as_many_at_random_follows_the_number_of_each_query() -> None:
    found = adaptive(MADE, 0.5, "query")
    off = 6 - found.n_kept
    squares = [
        np.mean([np.square(_without(off_heads, query)).sum() for off_heads in combinations(range(6), int(off[query]))])
        for query in range(8)
    ]

    assert found.at_random == pytest.approx(np.sqrt(np.sum(squares)) / np.linalg.norm(TRACE.output), abs=1e-6)
    assert found.change.relative < found.at_random


def _without(off: tuple[int, ...], query: int) -> np.ndarray:
    """What some heads write for one query, together."""
    W = TRACE.origin.to_output.W.reshape(6, 4, 24)
    return sum((TRACE.context[head, query] @ W[head] for head in off), np.zeros(24))


@by_each
def test_the_whole_share_keeps_all_heads_and_loses_nothing(gate_by: str) -> None:
    found = adaptive(MADE, 1.0, gate_by)

    assert found.n_kept.tolist() == [6] * 8
    assert found.change.relative == 0


def test_gates_of_the_sentence_are_the_same_for_every_query() -> None:
    found = adaptive(MADE, 0.6, "sentence")

    assert found.keeps.shape == (6, 1)
    assert len(set(found.n_kept.tolist())) == 1
    lengths = MADE.norms.sum(axis=1)
    best = np.argsort(-lengths)[: found.n_kept[0]]
    assert sorted(best) == np.flatnonzero(found.keeps[:, 0]).tolist()


@settings(max_examples=25)
@given(configs(), st.sampled_from(GATED_BY))
def test_the_curve_is_that_of_each_share_by_itself(config: AttentionConfig, gate_by: str) -> None:
    made = written(attend(config))
    curve = costs(made, gate_by)

    for place in (0, 9, 15, 19):
        found = adaptive(made, SHARES[place], gate_by)
        assert curve.n_kept[place] == pytest.approx(found.n_kept.mean())
        if made.size > 1e-3:
            assert curve.relative[place] == pytest.approx(found.change.relative, abs=1e-6)


@by_each
def test_a_larger_share_never_takes_fewer_heads(gate_by: str) -> None:
    assert (np.diff(costs(MADE, gate_by).n_kept) >= 0).all()


def test_a_query_without_any_key_uses_no_head() -> None:
    masks = (MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=2))
    trace = attend(AttentionConfig(tuple("abcde"), n_heads=4, masks=masks))

    found = adaptive(written(trace), 0.8, "query")

    assert found.n_kept[:2].tolist() == [0, 0]
    assert (found.n_kept[2:] > 0).all()
    assert np.isnan(found.change.at[:2]).all()


def test_gates_of_a_trace_are_those_of_what_it_writes() -> None:
    np.testing.assert_array_equal(adaptive_gates(TRACE, 0.5, "query").keeps, adaptive(MADE, 0.5, "query").keeps)
