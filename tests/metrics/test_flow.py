"""Flow through layers: small networks by hand, and what must hold for any maps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.metrics import uniform_weights
from attnviz.metrics.flow import flow, flow_of_classes, largest_error
from attnviz.metrics.rollout import rollout, with_residual
from tests.strategies import masked, seeds

TO_NEXT = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 1]])


def test_a_chain_of_tokens_lets_half_through() -> None:
    found = flow([TO_NEXT, TO_NEXT], query=0)

    np.testing.assert_allclose(found, [0.5, 1.0, 0.5], atol=1e-9)


def test_a_bottleneck_bounds_the_flow() -> None:
    wide = np.full((3, 3), 1 / 3)
    narrow = np.array([[0.9, 0.1, 0], [0, 1, 0], [0, 0, 1]])

    found = flow([narrow, wide], query=2)

    into_first = min(1 / 6, 0.95)
    into_second = min(1 / 6, 0.05) + min(1 / 6, 1)
    into_third = min(1 / 6 + 0.5, 1)
    np.testing.assert_allclose(found, [into_first, into_second, into_third], atol=1e-8)


def test_paths_that_share_an_edge_share_its_capacity() -> None:
    """Through three layers without a residual all paths from 0 to 2 go through the one edge from 1 to 2."""
    last = np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    between = np.array([[0, 1, 0], [0, 1.0, 0], [0, 0, 1]])
    first = np.array([[1, 0, 0], [0.75, 0, 0.25], [0, 0, 1.0]])

    found = flow([first, between, last], query=0, residual=0.0)

    np.testing.assert_allclose(found, [0.75, 0, 0.25], atol=1e-8)


@given(seeds)
def test_one_layer_is_the_row_of_attention_and_residual(seed: int) -> None:
    weights, _ = masked(seed, (1, 6, 6), 0.6)

    np.testing.assert_allclose(flow(list(weights), 3), with_residual(weights[0])[3], atol=largest_error(6, 1))


@given(seeds)
def test_two_layers_are_a_sum_of_the_narrower_edges(seed: int) -> None:
    weights, _ = masked(seed, (2, 5, 5), 0.6)
    first, second = map(with_residual, weights)

    expected = np.minimum(second[1][:, None], first).sum(axis=0)

    np.testing.assert_allclose(flow(list(weights), 1), expected, atol=largest_error(5, 2))


@settings(max_examples=40)
@given(seeds)
def test_flow_is_at_least_the_rollout_and_at_most_1_and_what_gets_into_the_token(seed: int) -> None:
    weights, _ = masked(seed, (4, 6, 6), 0.6)
    slack = largest_error(6, 4)

    found = flow(list(weights), 2)

    assert (found >= rollout(list(weights))[-1][2] - slack).all()
    assert (found <= 1).all()
    assert (found <= with_residual(weights[0]).sum(axis=0) + slack).all()


@settings(max_examples=40)
@given(seeds)
def test_renaming_the_tokens_renames_the_flow(seed: int) -> None:
    weights, _ = masked(seed, (3, 6, 6), 0.6)
    order = np.random.default_rng(seed).permutation(6)

    shuffled = flow([one[np.ix_(order, order)] for one in weights], int(np.flatnonzero(order == 2)[0]))

    np.testing.assert_allclose(shuffled, flow(list(weights), 2)[order], atol=2 * largest_error(6, 3))


def test_some_inputs_alone_have_the_flows_of_all() -> None:
    weights, _ = masked(5, (3, 6, 6), 0.6)

    assert flow(list(weights), 2, [4, 0]).tolist() == flow(list(weights), 2)[[4, 0]].tolist()


@pytest.mark.parametrize("layers", [1, 3])
def test_a_token_that_looks_at_itself_alone_lets_nothing_else_in(layers: int) -> None:
    np.testing.assert_allclose(flow([np.eye(4)] * layers, 1), [0, 1, 0, 0], atol=1e-9)


@settings(max_examples=40)
@given(seeds, st.integers(0, 5), st.booleans())
def test_flow_of_tokens_that_can_be_exchanged_is_that_of_each_alone(seed: int, query: int, causal: bool) -> None:
    _, mask = masked(seed, (2, 6, 6), 0.8)
    mask = mask & np.tril(np.ones((6, 6), dtype=bool)) if causal else mask
    mask[..., 3] = mask[..., 2] = mask[..., 1]
    maps = list(uniform_weights(np.broadcast_to(mask, (2, 6, 6))))

    np.testing.assert_allclose(flow_of_classes(maps, query), flow(maps, query), atol=1e-9)


def test_uniform_attention_over_all_keys_is_asked_for_two_tokens_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def counted(maps: list[np.ndarray], query: int, inputs: list[int], residual: float) -> np.ndarray:
        asked.append(inputs)
        return flow(maps, query, inputs, residual)

    monkeypatch.setattr("attnviz.metrics.flow.flow", counted)

    found = flow_of_classes([np.full((9, 9), 1 / 9)] * 3, 4)

    assert asked == [[0, 4]]
    np.testing.assert_allclose(np.delete(found, 4), found[0], rtol=0)
