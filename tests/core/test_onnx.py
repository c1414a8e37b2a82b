"""The core against the conformance cases of the `onnx` package."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.onnx_cases import Case, attention, cases, rotary_embedding, widened

ATTENTION = cases("Attention")
ROTARY = cases("RotaryEmbedding")
NOT_RUN: dict[str, str] = {}
"""Cases that are left out, each with its reason."""


def named(found: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in found])


RUN = [case for case in ATTENTION if case.name not in NOT_RUN]
EXACT = [case for case in RUN if not case.is_bfloat16]
ROUNDED = [case for case in RUN if case.is_bfloat16]


@named(EXACT)
def test_every_output_of_an_attention_case_is_that_of_onnx_at_its_own_tolerance(case: Case) -> None:
    outputs = attention(case.inputs, case.attributes)

    for name, right in case.outputs.items():
        assert (outputs[name].dtype, outputs[name].shape) == (right.dtype, right.shape), name
        np.testing.assert_allclose(outputs[name], right, rtol=case.rtol, atol=case.atol, err_msg=name)


@named(ROUNDED)
def test_a_bfloat16_case_that_onnx_rounds_after_every_step_is_met_to_one_such_step(case: Case) -> None:
    outputs = attention(case.inputs, case.attributes)

    for name, right in case.outputs.items():
        assert (outputs[name].dtype, outputs[name].shape) == (right.dtype, right.shape), name
        np.testing.assert_allclose(widened(outputs[name]), widened(right), rtol=0, atol=2**-7, err_msg=name)


@named(ROTARY)
def test_a_rotary_case_is_that_of_onnx_at_its_own_tolerance(case: Case) -> None:
    output, right = rotary_embedding(case.inputs, case.attributes)["output"], case.outputs["output"]

    assert (output.dtype, output.shape) == (right.dtype, right.shape)
    np.testing.assert_allclose(output, right, rtol=case.rtol, atol=case.atol)


def test_every_case_that_the_package_generates_is_run_or_named_with_a_reason() -> None:
    found = [case.name for case in (*ATTENTION, *ROTARY)]

    assert (len(ATTENTION), len(ROTARY)) == (93, 8)
    assert (len(EXACT), len(ROUNDED)) == (88, 5)
    assert sorted(found) == sorted([case.name for case in (*EXACT, *ROUNDED, *ROTARY)] + list(NOT_RUN))
    assert len(set(found)) == 101
    assert all(reason.endswith(".") for reason in NOT_RUN.values())


def test_the_cases_cover_every_feature_of_the_operator() -> None:
    attributes = {name for case in RUN for name in case.attributes}
    inputs = {name for case in RUN for name in case.inputs}
    outputs = {name for case in RUN for name in case.outputs}

    assert attributes == {
        "is_causal",
        "kv_num_heads",
        "left_window_size",
        "q_num_heads",
        "qk_matmul_output_mode",
        "right_window_size",
        "scale",
        "softcap",
        "softmax_precision",
    }
    assert inputs == {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"}
    assert outputs == {"Y", "present_key", "present_value", "qk_matmul_output"}
    assert {case.inputs["Q"].ndim for case in RUN} == {3, 4}
    assert {case.attributes.get("qk_matmul_output_mode", 0) for case in RUN} == {0, 1, 2, 3}
