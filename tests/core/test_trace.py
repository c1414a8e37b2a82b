"""A trace holds every intermediate array, and nobody can change it."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from hypothesis import given

from attnviz import AttentionConfig, AttentionTrace, attend
from tests.strategies import configs

ARRAYS = [item.name for item in fields(AttentionTrace) if item.name not in ("query_tokens", "key_tokens")]


@given(configs())
def test_every_array_of_a_trace_has_the_shape_its_name_says(config: AttentionConfig) -> None:
    trace = attend(config)
    n, heads, d_model, d_head = config.n_tokens, config.n_heads, config.d_model, config.d_head

    assert trace.query_tokens == trace.key_tokens == config.tokens
    assert trace.x.shape == trace.output.shape == (n, d_model)
    assert trace.query.shape == trace.key.shape == trace.value.shape == trace.context.shape == (heads, n, d_head)
    assert trace.scores.shape == trace.weights.shape == (heads, n, n)
    assert trace.mask.shape == (1, n, n)
    assert (trace.n_heads, trace.n_q, trace.n_k, trace.d_head) == (heads, n, n, d_head)
    assert np.broadcast_shapes(trace.bias.shape, trace.scores.shape) == trace.scores.shape


@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_of_a_trace_is_read_only(name: str) -> None:
    array = getattr(attend(AttentionConfig(("to", "be", "or"))), name)

    with pytest.raises(ValueError, match="read-only"):
        array[...] = 0


def test_a_trace_cannot_be_given_another_array() -> None:
    trace = attend(AttentionConfig(("to", "be")))

    with pytest.raises(FrozenInstanceError):
        trace.weights = trace.scores


def test_the_fields_of_a_trace_are_in_the_order_of_computation() -> None:
    assert ARRAYS == ["x", "query", "key", "value", "scores", "bias", "mask", "weights", "context", "output"]
