"""What measures know of the whole layer: the sink of each head, and what the heads write."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from attnviz import AttentionConfig, attend
from attnviz.core import layer
from attnviz.metrics import mean_over_queries, measured, measured_all, survey
from attnviz.metrics.facts import sinks_of
from attnviz.registries import MASKS, METRICS
from tests.figures.traces import trace_of
from tests.strategies import configs, in_small_blocks

CAUSAL_4 = np.tril(np.ones((4, 4), dtype=bool))
SINK, SHARE = METRICS["sink_mass"].spec(), METRICS["output_share"].spec()


def test_the_sink_of_a_head_is_its_own_key_not_the_first() -> None:
    heads = np.stack([np.eye(4)[[0, 1, 1, 1]], np.eye(4)[[0, 0, 0, 0]], np.eye(4)[[0, 1, 2, 2]]])

    found = measured(trace_of(heads, CAUSAL_4), SINK)

    assert found.values.tolist() == [[0, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_allclose(
        found.uniform, [[0, 1 / 2, 1 / 3, 1 / 4], [1, 1 / 2, 1 / 3, 1 / 4], [0, 0, 1 / 3, 1 / 4]]
    )


def test_the_sink_is_that_of_the_survey_whether_maps_are_kept_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AttentionConfig(tuple("abcdefghijkl"), masks=(MASKS["causal"].spec(),), n_heads=4, projections="random")
    found = survey(attend(config))
    monkeypatch.setattr(layer, "MOST_KEPT", 0)

    with in_small_blocks(96):
        sinks = sinks_of(attend(config))

    assert sinks.tolist() == (found.received - found.uniform_received).argmax(axis=1).tolist()


@given(configs())
def test_the_shares_of_the_output_are_those_of_the_context_times_w_o(config: AttentionConfig) -> None:
    trace = attend(config)
    parts = np.split(trace.origin.to_output.W, trace.n_heads)
    written = [context.astype(float) @ part.astype(float) for context, part in zip(trace.context, parts, strict=True)]
    norms = np.linalg.norm(written, axis=-1)
    norms[list(config.removed)] = 0
    total = norms.sum(axis=0)

    share = measured(trace, SHARE).values

    there = total > 1e-6
    np.testing.assert_allclose(share[:, there], norms[:, there] / total[there], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(share[:, there].sum(axis=0), 1, rtol=1e-5)


def test_a_head_whose_keys_have_tiny_values_writes_little_however_much_it_looks_at_them() -> None:
    trace = attend(AttentionConfig(tuple("abcdef"), n_heads=2, d_model=8, projections="random"))
    value = trace.value.copy()
    value[0] *= 0.01

    before, after = (mean_over_queries(measured(one, SHARE).values)[0] for one in (trace, replace(trace, value=value)))

    assert after < 0.05 < before


def test_a_masked_value_that_is_not_a_number_has_no_part_in_the_output() -> None:
    config = AttentionConfig(tuple("abcd"), n_heads=2, d_model=8, masks=(MASKS["causal"].spec(),))
    trace = attend(config)
    value = trace.value.copy()
    value[:, 3] = np.nan

    share = measured(replace(trace, value=value), SHARE)

    np.testing.assert_allclose(share.values[:, :3], measured(trace, SHARE).values[:, :3])


def test_the_baseline_of_a_share_lets_this_head_be_uniform_and_the_others_as_they_are() -> None:
    trace = attend(AttentionConfig(tuple("abcdef"), n_heads=4, d_model=16))
    uniform = attend(AttentionConfig(tuple("abcdef"), n_heads=4, d_model=16, sharpness=0.0))

    found = measured(trace, SHARE)

    for head in range(4):
        context = trace.context.copy()
        context[head] = uniform.context[head]
        mixed = [split @ part for split, part in zip(context, np.split(trace.origin.to_output.W, 4), strict=True)]
        norms = np.linalg.norm(mixed, axis=-1)
        np.testing.assert_allclose(found.uniform[head], (norms / norms.sum(axis=0))[head], rtol=1e-5)


def test_several_measures_in_one_pass_are_each_what_it_is_alone() -> None:
    trace = attend(AttentionConfig(tuple("abcabcab"), n_heads=4, masks=(MASKS["causal"].spec(),)))
    specs = [entry.spec() for entry in METRICS]

    together = measured_all(trace, specs)

    for spec, found in zip(specs, together, strict=True):
        alone = measured(trace, spec)
        np.testing.assert_array_equal(found.values, alone.values, err_msg=spec.name)
        np.testing.assert_array_equal(found.uniform, alone.uniform, err_msg=spec.name)


def test_of_no_measure_nothing_is_computed() -> None:
    assert measured_all(trace_of(np.eye(3)[None]), ()) == ()
