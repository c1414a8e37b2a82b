"""Where attention lies, seen from the query: what a mean distance cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.core import layer
from attnviz.metrics import uniform_weights
from attnviz.metrics.offsets import Offsets, offsets_of
from attnviz.registries import MASKS
from tests.figures.traces import trace_of
from tests.strategies import in_small_blocks, masked, seeds

CAUSAL_4 = np.tril(np.ones((4, 4), dtype=bool))
PREVIOUS = np.eye(4)[[0, 0, 1, 2]]


def mean_distance(found: Offsets) -> float:
    return float((np.abs(found.offsets) * found.share).sum())


def test_a_previous_token_head_and_a_uniform_causal_head_have_one_mean_but_not_one_distribution() -> None:
    heads = np.stack([PREVIOUS, uniform_weights(CAUSAL_4[None])[0]])

    previous, uniform = (offsets_of(trace_of(heads, CAUSAL_4), head) for head in (0, 1))

    assert mean_distance(previous) == mean_distance(uniform) == pytest.approx(0.75)
    assert previous.offsets.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert previous.share.tolist() == [0, 0, 0.75, 0.25, 0, 0, 0]
    by_hand = [1 / 4, 1 / 3 + 1 / 4, 1 / 2 + 1 / 3 + 1 / 4, 1 + 1 / 2 + 1 / 3 + 1 / 4]
    np.testing.assert_allclose(uniform.share[:4], np.array(by_hand) / 4)
    np.testing.assert_allclose(uniform.share, previous.uniform)


@given(seed=seeds, n_q=st.integers(1, 9), more=st.integers(0, 4), share=st.sampled_from([0.2, 0.7, 1.0]))
def test_the_shares_are_the_sums_of_the_weights_pair_by_pair(seed: int, n_q: int, more: int, share: float) -> None:
    n_k = n_q + more
    weights, mask = masked(seed, (2, n_q, n_k), share)
    trace = trace_of(weights, mask)
    sums: dict[int, float] = {}
    for query in range(n_q):
        for key in range(n_k):
            offset = key - (query + more)
            sums[offset] = sums.get(offset, 0.0) + float(weights[1, query, key])

    found = offsets_of(trace, 1)

    n_rows = max(int(mask[0].any(axis=1).sum()), 1)
    right = [sums.get(int(offset), 0.0) / n_rows for offset in found.offsets]
    np.testing.assert_allclose(found.share, right, atol=1e-12)
    assert found.share.sum() == pytest.approx(1.0 if mask.any() else 0.0)


def test_the_shares_of_a_long_map_are_those_of_the_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AttentionConfig(tuple("abcdefghijkl"), masks=(MASKS["sliding_window"].spec(window=4),), n_heads=4)
    whole = offsets_of(attend(config), 3)
    monkeypatch.setattr(layer, "MOST_KEPT", 0)

    with in_small_blocks(30):
        streamed = offsets_of(attend(config), 3)

    np.testing.assert_allclose(streamed.share, whole.share, atol=1e-6)
    np.testing.assert_allclose(streamed.uniform, whole.uniform, atol=1e-12)
