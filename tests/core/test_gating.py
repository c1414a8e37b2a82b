"""Heads that are switched off: the output is without them, and everything before it stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.core.gating import Gates, gates_without
from attnviz.errors import SettingError
from tests.strategies import configs

PLAIN = AttentionConfig(tuple("abcdef"), d_model=16, n_heads=4, projections="random")


@given(configs(), st.sampled_from(["zero", "mean"]), st.data())
def test_a_removed_head_changes_the_output_alone(config: AttentionConfig, stand_in: str, data: st.DataObject) -> None:
    removed = tuple(data.draw(st.sets(st.integers(0, config.n_heads - 1), min_size=1)))
    intact, trace = attend(replace(config, removed=())), attend(replace(config, removed=removed, stand_in=stand_in))

    np.testing.assert_array_equal(trace.weights, intact.weights)
    np.testing.assert_array_equal(trace.context, intact.context)
    assert trace.removed == tuple(sorted(removed))
    expected = intact.context.copy()
    for head in removed:
        expected[head] = 0 if stand_in == "zero" else intact.context[head].mean(axis=0, dtype=np.float64)
    np.testing.assert_array_equal(trace.gated, expected)
    merged = np.concatenate(list(expected), axis=1)
    size = 1e-5 * (1 + float(np.abs(intact.output).max()))
    np.testing.assert_allclose(trace.output, merged @ trace.origin.to_output.W, rtol=0, atol=size)


def test_without_all_heads_the_output_is_0() -> None:
    assert (attend(replace(PLAIN, removed=(0, 1, 2, 3))).output == 0).all()


def test_with_all_heads_on_the_output_is_as_before() -> None:
    trace = attend(PLAIN)

    assert trace.gates is None
    assert trace.removed == ()
    np.testing.assert_array_equal(trace.gated, trace.context)


def test_the_contexts_of_a_long_trace_are_those_of_a_short_one() -> None:
    trace = attend(replace(PLAIN, removed=(1,), stand_in="mean", dropout=0.5))
    long = replace(trace, kept=None)

    told: list[float] = []
    np.testing.assert_allclose(long.stream_context(told.append), trace.context, rtol=0, atol=1e-6)
    np.testing.assert_allclose(long.in_training().context, trace.context, rtol=0, atol=1e-6)
    np.testing.assert_allclose(long.output, trace.output, rtol=0, atol=1e-6)
    assert told[-1] == 1


def test_gates_may_differ_from_query_to_query() -> None:
    trace = attend(PLAIN)
    keeps = np.ones((4, 6), dtype=bool)
    keeps[2, 3] = False
    gated = replace(trace, gates=Gates(keeps))

    changed = np.flatnonzero((gated.output != trace.output).any(axis=1))

    assert changed.tolist() == [3]
    assert gated.removed == ()
    assert (gated.gated[2, 3] == 0).all()


def test_gates_are_read_only_and_none_where_nothing_is_removed() -> None:
    gates = gates_without((1,), 2)

    assert gates is not None
    assert not gates.keeps.flags.writeable
    assert gates_without((), 2) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"removed": (4,)}, "`removed` must name heads from 0 to 3; got head 4. Try 3."),
        ({"removed": (-1,)}, "`removed` must name heads from 0 to 3; got head -1. Try 3."),
        ({"stand_in": "noise"}, "`stand_in` must be zero or mean; got stand_in=noise. Try zero."),
    ],
)
def test_what_cannot_be_removed_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(SettingError) as refused:
        replace(PLAIN, **changes)

    assert str(refused.value) == message
