"""The same tokens in another order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.core.shuffling import put_back, relative_change, shuffled, shuffled_order
from attnviz.registries import MASKS, POSITIONS
from tests.strategies import seeds

WORDS = ("the", "cat", "sat", "on", "the", "mat")
CAUSAL = (MASKS["causal"].spec(),)


@given(n=st.integers(0, 40), seed=seeds, keep_ends=st.booleans())
def test_an_order_holds_every_token_once_and_is_another_one_where_there_is_one(
    n: int, seed: int, keep_ends: bool
) -> None:
    order = shuffled_order(n, seed, keep_ends=keep_ends)

    assert sorted(order.tolist()) == list(range(n))
    movable = max(n - 2, 0) if keep_ends else n
    assert (order.tolist() != list(range(n))) == (movable > 1)
    if keep_ends and n > 1:
        assert (order[0], order[-1]) == (0, n - 1)


def test_rows_of_shuffled_tokens_are_put_back_in_order() -> None:
    rows = np.arange(8.0).reshape(4, 2)
    order = [2, 0, 3, 1]

    np.testing.assert_array_equal(put_back(rows[order], order), rows)


def test_the_relative_change_is_over_the_longer_row() -> None:
    before = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    after = np.array([[6.0, 8.0], [0.0, 0.0], [-1.0, 0.0]])

    assert relative_change(before, after).tolist() == [0.5, 0, 2]


@pytest.mark.parametrize("projections", ["designed", "random"])
def test_without_positions_and_mask_the_outputs_go_along_with_their_tokens(projections: str) -> None:
    found = shuffled(AttentionConfig(WORDS, masks=CAUSAL, projections=projections))

    assert found.without_either.max() < 1e-5
    assert found.without_positions.max() > 0.01, "a causal mask gives the order away"
    assert found.with_positions.max() > 0.01


@pytest.mark.parametrize("name", [name for name in POSITIONS.names() if name != "none"])
def test_with_any_positions_outputs_change_where_no_mask_helps(name: str) -> None:
    config = AttentionConfig(WORDS, masks=(), position=POSITIONS[name].spec(), projections="random")

    found = shuffled(config)

    assert found.with_positions.max() > 1e-3
    assert found.without_positions.max() < 1e-5


def test_the_change_is_that_of_the_two_runs() -> None:
    config = AttentionConfig(WORDS, masks=CAUSAL, seed=5)

    found = shuffled(config)

    assert found.moved == tuple(WORDS[place] for place in found.order)
    other = attend(config, order=found.order.tolist()).output
    for place, token in enumerate(found.order):
        before, after = attend(config).output[token], other[place]
        size = max(np.linalg.norm(before), np.linalg.norm(after))
        assert found.with_positions[token] == pytest.approx(np.linalg.norm(before - after) / size, rel=1e-4)


def test_in_cross_attention_the_keys_are_moved_and_the_queries_stay() -> None:
    config = AttentionConfig(("a", "b"), key_tokens=WORDS, masks=())

    found = shuffled(config)

    assert (found.tokens, found.outputs_of) == (WORDS, ("a", "b"))
    assert sorted(found.moved) == sorted(WORDS)
    assert found.without_either.shape == (2,)
    assert found.without_either.max() < 1e-5
