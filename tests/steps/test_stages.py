"""The stages of one weight: each leads to the next as it is shown, and the last is the output of the layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec
from attnviz.steps import STAGES, Equation, Focus, Number, Stage, stages_of
from attnviz.steps.row import row_of
from tests.strategies import configs

USUAL_MASKS = (MASKS["full"].spec(), MASKS["dense"].spec(), MASKS["no_padding"].spec())


def focus_of(trace: AttentionTrace, masks: tuple[Spec, ...], head: int = 0, query: int = 0, key: int = 0) -> Focus:
    return Focus(trace, head, query, key, masks)


def staged(focus: Focus) -> dict[str, Stage]:
    return {stage.name: stage for stage in stages_of(focus)}


def slack(equation: Equation) -> float:
    """How far the result may be from what the shown numbers give, each being rounded."""
    shown = [term.shown for term in equation.inputs]
    base = equation.operation.compute(shown)
    moved = 0.0
    for place, term in enumerate(equation.inputs):
        ends = ([*shown[:place], shown[place] + side * term.unit / 2, *shown[place + 1 :]] for side in (-1, 1))
        moved += max(abs(equation.operation.compute(end) - base) for end in ends)
    return 1.05 * moved + equation.result.unit


def agrees(a: Number, b: Number) -> bool:
    return abs(a.shown - b.shown) <= (a.unit + b.unit) / 2 * (1 + 1e-9)


@st.composite
def focuses(draw: st.DrawFn) -> Focus:
    """Any weight of any setting, with three masks as a scenario has them."""
    config = draw(configs())
    trace = attend(config)
    if draw(st.booleans()):
        trace = replace(trace, kept=None)
    head, query, key = (draw(st.integers(0, count - 1)) for count in (trace.n_heads, trace.n_q, trace.n_k))
    return Focus(trace, head, query, key, config.masks)


@settings(max_examples=60)
@given(focuses())
def test_shown_numbers_give_shown_results_each_stage_starts_from_an_earlier_one_and_the_last_is_the_output(
    focus: Focus,
) -> None:
    stages = stages_of(focus)
    known: list[Number] = []
    for stage in stages:
        for equation in stage.equations:
            from_shown = equation.operation.compute([term.shown for term in equation.inputs])
            is_same = from_shown == equation.result.value
            assert is_same or abs(from_shown - equation.result.value) <= slack(equation), (stage.name, equation.latex)
        inputs = [term for equation in stage.equations for term in equation.inputs]
        if known and inputs:
            assert any(agrees(term, result) for term in inputs for result in known), stage.name
        known += [equation.result for equation in stage.equations]

    trace, last = focus.trace, stages[-1].equations[-1].result
    output = trace.output[focus.query]
    size = 1e-5 * (1 + float(np.abs(focus.additions).sum(axis=0).max()))
    assert last.value == pytest.approx(float(output[focus.output_column]), abs=size)
    np.testing.assert_allclose(focus.output, output, rtol=0, atol=size)
    np.testing.assert_allclose(focus.contexts, trace.context[:, focus.query], rtol=0, atol=size)


@given(focuses())
def test_the_row_holds_what_the_trace_has(focus: Focus) -> None:
    row, trace = row_of(focus), focus.trace

    np.testing.assert_array_equal(row.weights, trace.weights[focus.head, focus.query])
    np.testing.assert_array_equal(np.isnan(row.masked), ~row.allowed)
    assert row.exponentials[~row.allowed].sum() == 0
    if focus.total:
        np.testing.assert_allclose(row.exponentials / focus.total, row.weights, rtol=0, atol=2e-6)


@given(focuses())
def test_a_weight_has_the_stages_that_its_setting_has_in_the_order_of_computation(focus: Focus) -> None:
    trace = focus.trace
    names = list(staged(focus))

    assert names == [name for name in STAGES if name in names]
    assert ("rotation" in names) == (trace.origin.rotation is not None)
    assert ("bias" in names) == trace.has_bias
    assert ("cap" in names) == (trace.softcap > 0)
    assert ("dropout" in names) == (trace.dropout > 0)


@given(focuses())
def test_every_picture_marks_a_cell_that_it_has(focus: Focus) -> None:
    for stage in stages_of(focus):
        assert stage.shots, stage.name
        for shot in stage.shots:
            rows, columns = shot.values.shape
            assert 0 <= shot.row < rows <= 64
            assert shot.column is None or 0 <= shot.column < columns
            assert columns <= 128


def test_the_stages_of_the_tiny_case_are_what_a_reader_gets_by_hand() -> None:
    config = AttentionConfig(
        ("to", "be", "or"), d_model=2, n_heads=1, masks=USUAL_MASKS, position=POSITIONS["none"].spec()
    )
    trace = attend(config)
    key = np.array([[[1.0, 0], [0, 1], [1, 1]]])
    focus = Focus(trace, 0, 2, 1, USUAL_MASKS)
    vars(focus).update(q=key[0, 2], k=key[0, 1], dots=key[0] @ key[0, 2])

    stages = staged(focus)

    assert stages["dot"].equations[1].result.shown == 1.0
    assert stages["scale"].equations[0].result.shown == pytest.approx(0.7071)


def test_a_padded_text_counts_its_positions_from_its_first_token() -> None:
    masks = (MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["padding_left"].spec(padded=3))
    config = AttentionConfig(
        tuple("abcde"), d_model=8, n_heads=1, masks=masks, position=POSITIONS["rotary"].spec(), projections="random"
    )
    focus = focus_of(attend(config), masks, query=4, key=3)

    turned = staged(focus)["rotation"]

    assert [equation.inputs[0].latex for equation in turned.equations[::2]] == ["1", "0"]
    assert "padding" not in staged(focus)["mask"].answer.split("Allowed")[0]
    assert staged(focus_of(attend(config), masks, query=4, key=1))["mask"].answer == (
        "Forbidden by padding (Padding on the left): the weight will be exactly 0. Query 4 may attend to 2 of 5 keys."
    )


def test_grouped_heads_take_key_and_value_from_the_head_that_serves_them() -> None:
    config = AttentionConfig(
        tuple("abcd"), d_model=16, n_heads=8, n_kv_heads=2, masks=USUAL_MASKS, projections="random"
    )
    trace = attend(config)

    assert [Focus(trace, head, 0, 0, USUAL_MASKS).kv_head for head in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]
    focus = Focus(trace, 5, 2, 1, USUAL_MASKS)
    np.testing.assert_array_equal(focus.k, trace.key[1, 1])
    np.testing.assert_allclose(focus.key_before, trace.key[1, 1], atol=1e-6)


def test_the_rank_of_all_products_is_at_most_the_columns_of_a_head() -> None:
    config = AttentionConfig(
        tuple("abcdefgh"), d_model=4, n_heads=2, masks=USUAL_MASKS, projections="random", content="vectors"
    )
    stage = staged(focus_of(attend(config), USUAL_MASKS))["dot"]

    assert "The matrix q kᵀ has rank 2; 2 is the most (d_head, or the tokens)." in stage.answer


def test_the_rank_is_at_most_the_tokens_where_there_are_fewer_of_them_than_columns() -> None:
    config = AttentionConfig(tuple("abc"), d_model=16, n_heads=2, masks=USUAL_MASKS, projections="random")

    assert "has rank 3; 3 is the most" in staged(focus_of(attend(config), USUAL_MASKS))["dot"].answer


@pytest.mark.parametrize(
    ("changes", "answer", "formula"),
    [
        ({}, "Times 1 / √8 = 0.354: ", r"\frac{1}{\sqrt{d_\text{head}}}"),
        ({"sharpness": 2.0}, "Times 2.00 / √8 = 0.707: ", r"\frac{\text{sharpness}}{\sqrt{d_\text{head}}}"),
        (
            {"is_scaled": False},
            "It is not divided here, only multiplied by the sharpness 1.00: ",
            r"\text{sharpness}\;",
        ),
    ],
)
def test_the_scale_is_said_as_it_is_set(changes: dict, answer: str, formula: str) -> None:
    config = AttentionConfig(tuple("abc"), d_model=16, n_heads=2, masks=USUAL_MASKS, **changes)
    focus = Focus(attend(config), 0, 0, 1, USUAL_MASKS, config.is_scaled)

    stage = staged(focus)["scale"]

    assert stage.answer.startswith(answer)
    assert formula in stage.equations[0].latex


def test_a_forbidden_score_is_minus_infinity() -> None:
    masks = (MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["no_padding"].spec())
    trace = attend(AttentionConfig(tuple("abc"), masks=masks))

    (forbidden,) = staged(focus_of(trace, masks, query=0, key=2))["mask"].equations
    (allowed,) = staged(focus_of(trace, masks, query=2, key=0))["mask"].equations

    assert forbidden.latex.endswith(r"&= -\infty \end{aligned}")
    assert allowed.result == allowed.inputs[0]


def test_in_self_attention_x_is_marked_at_both_rows_and_in_cross_attention_each_side_has_its_own() -> None:
    config = AttentionConfig(tuple("abc"), d_model=16, n_heads=2, masks=USUAL_MASKS)
    alone = staged(focus_of(attend(config), USUAL_MASKS, query=0, key=2))["input"].shots
    cross = staged(focus_of(attend(replace(config, key_tokens=tuple("de"))), USUAL_MASKS, query=0, key=1))[
        "input"
    ].shots

    assert [(shot.title, shot.row, shot.other_row) for shot in alone] == [
        ("word", 0, 2),
        ("position", 0, 2),
        ("x", 0, 2),
    ]
    assert [(shot.title, shot.row, shot.other_row) for shot in cross] == [
        *((f"{name} of the query", 0, None) for name in ("word", "position", "x")),
        *((f"{name} of the key", 1, None) for name in ("word", "position", "x")),
    ]


def test_a_forbidden_key_has_no_softmax_equations_and_adds_nothing() -> None:
    masks = (MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["no_padding"].spec())
    focus = focus_of(attend(AttentionConfig(tuple("abc"), masks=masks)), masks, query=0, key=2)

    stages = staged(focus)

    assert stages["softmax"].answer == "The key is forbidden: its weight is exactly 0."
    assert [equation.result.latex for equation in stages["softmax"].equations] == ["0"]
    assert stages["context"].equations[0].result.shown == 0


def test_a_query_without_any_key_has_a_row_of_zeros_and_says_so() -> None:
    masks = (MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["padding_left"].spec(padded=2))
    focus = focus_of(attend(AttentionConfig(tuple("abcd"), masks=masks)), masks, query=0, key=0)

    stages = staged(focus)

    assert stages["softmax"].answer.startswith("No key is allowed: the whole row is 0")
    assert stages["context"].equations[-1].result.shown == 0


def test_a_dropped_weight_becomes_0_and_a_kept_one_is_divided() -> None:
    config = AttentionConfig(tuple("abcd"), masks=USUAL_MASKS, dropout=0.2, n_heads=1, sharpness=0.0)
    trace = attend(config)
    results = {
        staged(Focus(trace, 0, query, key, USUAL_MASKS))["dropout"].equations[0].result.shown
        for query in range(4)
        for key in range(4)
    }

    assert results == {0.0, 0.3125}
