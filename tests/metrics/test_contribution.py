"""What each head writes: every number equals that of the layer run again without the head."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.core.affine import Affine
from attnviz.core.gating import STAND_INS, gates_without
from attnviz.errors import SettingError
from attnviz.metrics.contribution import (
    change_without,
    leave_one_out,
    pruning,
    shares,
    written,
)
from attnviz.metrics.takeover import takeover, without_two
from attnviz.registries import MASKS
from tests.strategies import configs

FOUR = attend(AttentionConfig(tuple("abcdefg"), d_model=16, n_heads=4, projections="random"))
every_stand_in = pytest.mark.parametrize("stand_in", STAND_INS)


def output_without(trace: AttentionTrace, removed: tuple[int, ...], stand_in: str) -> np.ndarray:
    return replace(trace, gates=gates_without(removed, trace.n_heads, stand_in)).output.astype(np.float64)


def relative(trace: AttentionTrace, removed: tuple[int, ...], stand_in: str) -> float:
    before = output_without(trace, (), stand_in)
    return float(np.linalg.norm(output_without(trace, removed, stand_in) - before) / np.linalg.norm(before))


def with_bias(trace: AttentionTrace) -> AttentionTrace:
    """The same layer with a bias of W_O, as trained models have it."""
    W = trace.origin.to_output.W
    bias = np.random.default_rng(1).normal(0, 0.5, W.shape[1]).astype(W.dtype)
    return replace(trace, origin=replace(trace.origin, to_output=Affine(W, bias)))


@settings(max_examples=60)
@given(configs(), st.sampled_from(STAND_INS), st.booleans())
def test_removing_a_head_is_what_a_run_without_it_gives(config: AttentionConfig, stand_in: str, has_bias: bool) -> None:
    trace = attend(replace(config, removed=()))
    trace = with_bias(trace) if has_bias else trace
    before = output_without(trace, (), stand_in)
    if np.linalg.norm(before) < 1e-3:
        return

    for head, change in enumerate(leave_one_out(written(trace, stand_in))):
        after = output_without(trace, (head,), stand_in)
        assert change.relative == pytest.approx(relative(trace, (head,), stand_in), abs=1e-5)
        lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        if lengths.min() > 1e-4:
            assert change.cosine == pytest.approx(float(((before * after).sum(axis=1) / lengths).mean()), abs=1e-4)


@every_stand_in
@pytest.mark.parametrize("removed", [(), (0, 2), (1, 2, 3), (0, 1, 2, 3)])
def test_any_set_of_heads_may_go(stand_in: str, removed: tuple[int, ...]) -> None:
    gates = gates_without(removed, 4, stand_in)
    keeps = np.ones((4, 1), dtype=bool) if gates is None else gates.keeps

    change = change_without(written(FOUR, stand_in), keeps)

    assert change.relative == pytest.approx(relative(FOUR, removed, stand_in), abs=1e-6)
    before, after = output_without(FOUR, (), stand_in), output_without(FOUR, removed, stand_in)
    at = np.linalg.norm(before - after, axis=1) / np.linalg.norm(before, axis=1)
    np.testing.assert_allclose(change.at, at, rtol=0, atol=1e-6)


@every_stand_in
def test_the_greedy_order_removes_the_least_at_each_step_and_its_curve_is_that_of_runs(stand_in: str) -> None:
    found = pruning(written(FOUR, stand_in))

    gone: tuple[int, ...] = ()
    for step, head in enumerate(found.order):
        left = [other for other in range(4) if other not in gone]
        changes = [relative(FOUR, (*gone, other), stand_in) for other in left]
        assert left[int(np.argmin(changes))] == head
        gone = (*gone, int(head))
        assert found.greedy[step + 1] == pytest.approx(relative(FOUR, gone, stand_in), abs=1e-6)
    assert found.greedy[0] == 0
    assert found.greedy[-1] == pytest.approx(found.smallest[-1])


@every_stand_in
def test_the_random_order_is_the_root_mean_square_over_all_sets(stand_in: str) -> None:
    found = pruning(written(FOUR, stand_in))

    for count in range(5):
        squares = [relative(FOUR, removed, stand_in) ** 2 for removed in combinations(range(4), count)]
        assert found.random[count] == pytest.approx(np.sqrt(np.mean(squares)), abs=1e-6)


@every_stand_in
def test_pairs_are_both_heads_removed(stand_in: str) -> None:
    both = without_two(written(FOUR, stand_in))

    np.testing.assert_array_equal(both, both.T)
    assert both[1, 3] == pytest.approx(relative(FOUR, (1, 3), stand_in), abs=1e-6)
    assert both[2, 2] == pytest.approx(relative(FOUR, (2,), stand_in), abs=1e-6)


def duplicated(scale: float) -> AttentionTrace:
    """A layer whose second head writes what the first does, times a factor."""
    context = FOUR.context.copy()
    context[1] = context[0]
    W = FOUR.origin.to_output.W.copy()
    W[4:8] = scale * W[:4]
    assert FOUR.kept is not None
    origin = replace(FOUR.origin, to_output=Affine(W))
    return replace(FOUR, origin=origin, kept=replace(FOUR.kept, context=context))


def test_an_equal_head_takes_over_with_factor_2_and_without_loss() -> None:
    made = written(duplicated(1.0))
    found = takeover(made, 0)

    assert found is not None
    assert found.head == 1
    assert found.factor == pytest.approx(2)
    assert found.left == pytest.approx(0, abs=1e-6)
    assert leave_one_out(made)[0].relative > 0.1
    half = takeover(written(duplicated(0.5)), 0)
    assert half is not None
    assert half.factor == pytest.approx(3)


def test_what_is_left_after_a_takeover_is_that_of_the_other_head_multiplied() -> None:
    found = takeover(written(FOUR), 2)
    assert found is not None
    context = FOUR.context.copy()
    context[2] = 0
    context[found.head] *= found.factor
    assert FOUR.kept is not None
    scaled = replace(FOUR, kept=replace(FOUR.kept, context=context)).output
    lost = np.linalg.norm(scaled - FOUR.output) / np.linalg.norm(FOUR.output)

    assert found.left == pytest.approx(lost, abs=1e-6)
    assert found.left < leave_one_out(written(FOUR))[2].relative


def test_an_only_head_has_no_other_to_take_over() -> None:
    trace = attend(AttentionConfig(tuple("abc"), d_model=8, n_heads=1))

    assert takeover(written(trace), 0) is None
    assert leave_one_out(written(trace))[0].relative == pytest.approx(1)
    assert pruning(written(trace)).random.tolist() == pytest.approx([0, 1])


def test_permuting_heads_permutes_what_they_change() -> None:
    assert FOUR.kept is not None
    order = [2, 0, 3, 1]
    W = FOUR.origin.to_output.W.reshape(4, 4, 16)[order].reshape(16, 16)
    other = replace(
        FOUR,
        origin=replace(FOUR.origin, to_output=Affine(W)),
        kept=replace(FOUR.kept, context=FOUR.context[order]),
    )

    changes, permuted = ([one.relative for one in leave_one_out(written(trace))] for trace in (FOUR, other))

    np.testing.assert_allclose(permuted, np.array(changes)[order], rtol=1e-12)
    np.testing.assert_allclose(shares(written(other)), shares(written(FOUR))[order], rtol=1e-12)


def test_a_long_trace_is_streamed_to_the_same_numbers() -> None:
    long = replace(FOUR, kept=None)

    np.testing.assert_allclose(written(long).gram, written(FOUR).gram, rtol=0, atol=1e-5)


def test_without_any_output_nothing_is_defined() -> None:
    masks = (MASKS["padding_left"].spec(padded=8),)
    made = written(attend(AttentionConfig(tuple("abc"), n_heads=4, masks=masks)))

    assert np.isnan(leave_one_out(made)[0].relative)
    assert np.isnan(leave_one_out(made)[0].cosine)
    assert np.isnan(pruning(made).greedy).all()
    assert shares(made).tolist() == [0, 0, 0, 0]


def test_too_many_heads_and_too_many_queries_are_refused_with_what_may_be() -> None:
    many = attend(AttentionConfig(("a",), d_model=256, n_heads=256))
    with pytest.raises(SettingError, match=r"^`n_heads` must be at most 128 to be removed one by one; got n_heads=256"):
        written(many)
    long = attend(AttentionConfig(("a",) * 1100, d_model=128, n_heads=128))
    with pytest.raises(SettingError, match=r"Try at most 1,008 tokens, or fewer heads\.$"):
        written(long)
