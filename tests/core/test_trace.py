"""A trace holds every intermediate array, and nobody can change it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, AttentionTrace, attend
from tests.strategies import configs

HELD = ("x", "key_x", "query", "key", "value")
COMPUTED = ("scores", "bias", "mask", "weights", "context", "output")
ARRAYS = (*HELD, *COMPUTED)


@given(configs())
def test_every_array_of_a_trace_has_the_shape_its_name_says(config: AttentionConfig) -> None:
    trace = attend(config)
    n_q, n_k, heads, kv_heads = config.n_q, config.n_k, config.n_heads, config.kv_heads

    assert trace.query_tokens == config.tokens
    assert trace.key_tokens == (config.key_tokens or config.tokens)
    assert trace.x.shape == trace.output.shape == (n_q, config.d_model)
    assert trace.key_x.shape == (n_k, config.d_model)
    assert trace.query.shape == (heads, n_q, config.d_head)
    assert trace.key.shape == (kv_heads, n_k, config.d_head)
    assert trace.value.shape == (kv_heads, n_k, config.value_columns)
    assert trace.context.shape == (heads, n_q, config.value_columns)
    assert trace.scores.shape == trace.weights.shape == trace.in_training().weights.shape == (heads, n_q, n_k)
    assert np.broadcast_shapes(trace.mask.shape, trace.scores.shape) == trace.scores.shape
    assert (trace.n_heads, trace.n_q, trace.n_k, trace.d_head) == (heads, n_q, n_k, config.d_head)
    assert np.broadcast_shapes(trace.bias.shape, trace.scores.shape) == trace.scores.shape


@given(configs(), st.data())
def test_one_row_of_scores_is_that_of_all_scores(config: AttentionConfig, data: st.DataObject) -> None:
    trace = attend(config)
    head, query = (data.draw(st.integers(0, count - 1)) for count in (trace.n_heads, trace.n_q))

    np.testing.assert_allclose(trace.row_of_scores(head, query), trace.scores[head, query], rtol=1e-5, atol=1e-5)


WAYS: dict[str, Callable[[AttentionTrace], AttentionTrace]] = {
    "kept": lambda trace: trace,
    "not kept": lambda trace: replace(trace, kept=None),
    "in training": lambda trace: trace.in_training(),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_of_a_trace_is_read_only(name: str, way: str) -> None:
    array = getattr(WAYS[way](attend(AttentionConfig(("to", "be", "or"), dropout=0.5))), name)

    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_a_trace_cannot_be_given_another_array() -> None:
    trace = attend(AttentionConfig(("to", "be")))

    with pytest.raises(FrozenInstanceError):
        trace.weights = trace.scores


def test_the_fields_of_a_trace_are_in_the_order_of_computation() -> None:
    assert [item.name for item in fields(AttentionTrace)] == [
        *("query_tokens", "key_tokens", *HELD),
        *("scorer", "origin", "kept", "dropout", "seed", "is_training", "gates"),
    ]


@given(configs())
def test_what_is_computed_when_it_is_asked_for_is_computed_once_and_is_what_would_have_been_kept(
    config: AttentionConfig,
) -> None:
    kept = attend(config)
    trace = replace(kept, kept=None)

    for name in ("weights", "context", "output"):
        np.testing.assert_array_equal(getattr(trace, name), getattr(kept, name))
        assert getattr(trace, name) is getattr(trace, name)


@pytest.mark.parametrize(("n", "is_kept"), [(512, True), (513, False)])
def test_maps_of_8_heads_are_kept_up_to_512_tokens(n: int, is_kept: bool) -> None:
    trace = attend(AttentionConfig(("a",) * n, d_model=8, n_heads=8))

    assert (trace.kept is not None) is is_kept
