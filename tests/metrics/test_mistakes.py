"""A mask read the wrong way round, and a mask after the softmax, against the softmax written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnviz import AttentionConfig, attend
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.mistakes import misread, row_masked_after, row_under, sums_masked_after
from attnviz.registries import MASKS, POSITIONS
from tests.figures.traces import trace_of

BASE = AttentionConfig(tuple("abcdefg"), d_model=16, n_heads=4, masks=(MASKS["causal"].spec(),))
SETTINGS = {
    "plain": BASE,
    "bias": replace(BASE, position=POSITIONS["alibi"].spec()),
    "soft cap": replace(BASE, softcap=2.0),
    "sinks": replace(BASE, sinks=True),
    "grouped": replace(BASE, n_kv_heads=2),
    "cross": replace(BASE, key_tokens=("x", "y", "z")),
}


def written_out(trace: AttentionTrace, head: int, query: int) -> np.ndarray:
    """Exponentials of a row of scores with everything that comes before the softmax, and the sink's."""
    scores = trace.row_of_scores(head, query).astype(np.float64)
    if trace.softcap:
        scores = trace.softcap * np.tanh(scores / trace.softcap)
    scores = scores + trace.row_of_bias(head, query)
    sink = [] if trace.sinks is None else [trace.sinks[head]]
    return np.exp(np.concatenate([scores, sink]))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_row_under_other_keys_is_the_softmax_over_those(name: str) -> None:
    trace = attend(SETTINGS[name])
    for head, query in ((0, 2), (3, 5)):
        allowed = trace.row(head, query)[1]
        parts = written_out(trace, head, query)
        exps, sink = parts[: trace.n_k], parts[trace.n_k :].sum()

        np.testing.assert_allclose(row_under(trace, head, query, allowed), trace.weights[head, query], atol=1e-6)
        for keys in (~allowed, np.ones_like(allowed)):
            total = (exps * keys).sum() + sink
            expected = exps * keys / total if keys.any() else np.zeros(trace.n_k)
            np.testing.assert_allclose(row_under(trace, head, query, keys), expected, atol=1e-6)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_mask_after_the_softmax_leaves_the_allowed_keys_their_part_of_all(name: str) -> None:
    trace = attend(SETTINGS[name])
    mask = trace.mask[0]

    sums = sums_masked_after(trace, 1, mask)

    for query in range(trace.n_q):
        exps = written_out(trace, 1, query)
        expected = exps[: trace.n_k] * mask[query] / exps.sum()
        np.testing.assert_allclose(row_masked_after(trace, 1, query, mask[query]), expected, atol=1e-6)
        assert sums[query] == pytest.approx(expected.sum(), abs=1e-6)


def test_three_equal_logits_give_two_halves_or_the_last_key_alone() -> None:
    mask = np.array([True, True, False])
    trace = trace_of(np.zeros((1, 1, 3)), mask[None, None], scores=np.zeros((1, 1, 3)))

    np.testing.assert_allclose(row_under(trace, 0, 0, mask), [0.5, 0.5, 0])
    np.testing.assert_allclose(row_under(trace, 0, 0, ~mask), [0, 0, 1])


def test_four_equal_logits_masked_after_the_softmax_sum_to_a_half_in_row_1() -> None:
    mask = np.tri(4, dtype=bool)
    trace = trace_of(np.zeros((1, 4, 4)), mask, scores=np.zeros((1, 4, 4)))

    np.testing.assert_allclose(row_under(trace, 0, 1, mask[1]), [0.5, 0.5, 0, 0])
    np.testing.assert_allclose(row_masked_after(trace, 0, 1, mask[1]), [0.25, 0.25, 0, 0])
    np.testing.assert_allclose(sums_masked_after(trace, 0, mask), [0.25, 0.5, 0.75, 1])


def test_a_causal_mask_read_the_wrong_way_round_shows_all_the_future_and_leaves_the_last_query_nothing() -> None:
    found = misread(np.tri(11, dtype=bool))

    assert (found.n_allowed, found.n_forbidden) == (66, 55)
    assert (found.n_future, found.n_future_misread) == (0, 55)
    assert found.rows_without_keys.tolist() == [10]


def test_the_future_of_queries_after_a_cache_is_counted_from_their_place() -> None:
    found = misread(np.array([[True, True, True, False, False], [True] * 5]))

    assert (found.n_future, found.n_future_misread) == (0, 1)
    assert found.rows_without_keys.tolist() == [1]
