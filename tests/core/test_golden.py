"""The core against PyTorch, transformers, 60-digit arithmetic and the classroom labs."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz import build_mask, masked_softmax, merge_heads, scaled_dot_product_attention, sinusoidal_table, split_heads
from attnviz.registries import MASKS
from tests.reference import golden, labs

HARD_ROWS = sorted(name.removeprefix("logits_") for name in golden("softmax_hard") if name.startswith("logits_"))


def multi_head_attention(
    stored: dict[str, np.ndarray],
    weights: tuple[np.ndarray, np.ndarray, np.ndarray],
    inputs: tuple[np.ndarray, np.ndarray, np.ndarray],
    n_heads: int,
    *,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and output of a whole layer with the projections and offsets of PyTorch's."""
    query, key, value = (
        split_heads(x @ weight.T + offset, n_heads)
        for x, weight, offset in zip(inputs, weights, np.split(stored["in_proj_bias"], 3), strict=True)
    )
    attention = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias)
    output = merge_heads(attention.context) @ stored["out_proj__weight"].T + stored["out_proj__bias"]
    return attention.weights, output


@pytest.mark.parametrize("sentence", [0, 1])
@pytest.mark.parametrize("case", ["plain", "causal", "padding", "causal_padding", "floatbias", "floatbias2d"])
def test_self_attention_equals_pytorch_multi_head_attention(case: str, sentence: int) -> None:
    stored = golden("mha_self")
    x = stored["x"][sentence]
    blocked = np.zeros((7, 7), dtype=bool)
    if "causal" in case:
        blocked = blocked | stored["mask_causal"]
    if "padding" in case:
        blocked = blocked | stored["mask_padding"][sentence]
    bias = {"floatbias": stored["bias"][4 * sentence : 4 * sentence + 4], "floatbias2d": stored["bias"][:1]}.get(case)

    matrices = tuple(np.split(stored["in_proj_weight"], 3))
    weights, output = multi_head_attention(stored, matrices, (x, x, x), 4, mask=~blocked, bias=bias)

    np.testing.assert_allclose(weights, stored[f"w_{case}"][sentence], atol=1e-12)
    np.testing.assert_allclose(output, stored[f"y_{case}"][sentence], atol=1e-12)


@pytest.mark.parametrize("sentence", [0, 1])
@pytest.mark.parametrize("case", ["", "_padding"])
def test_cross_attention_of_unequal_lengths_equals_pytorch(case: str, sentence: int) -> None:
    stored = golden("mha_cross")
    matrices = (stored["q_proj_weight"], stored["k_proj_weight"], stored["v_proj_weight"])
    inputs = (stored["q"][sentence], stored["k"][sentence], stored["v"][sentence])
    blocked = np.broadcast_to(stored["mask_padding"][sentence] if case else np.False_, (5, 9))

    weights, output = multi_head_attention(stored, matrices, inputs, 3, mask=~blocked)

    np.testing.assert_allclose(weights, stored[f"w{case}"][sentence], atol=1e-12)
    np.testing.assert_allclose(output, stored[f"y{case}"][sentence], atol=1e-12)


@pytest.mark.parametrize("n_kv_heads", [8, 4, 2, 1])
def test_grouped_heads_equal_pytorch_for_every_number_of_key_value_heads(n_kv_heads: int) -> None:
    stored = golden("sdpa_gqa")
    query, key, value = stored["q"][0], stored[f"k_{n_kv_heads}"][0], stored[f"v_{n_kv_heads}"][0]

    free = scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(free.weights, stored[f"w_{n_kv_heads}"][0], atol=1e-12)
    np.testing.assert_allclose(free.context, stored[f"y_{n_kv_heads}"][0], atol=1e-12)

    for align, name in (("top-left", "topleft"), ("bottom-right", "bottomright")):
        mask = build_mask([MASKS["causal"].spec(align=align)], 6, 10)
        context = scaled_dot_product_attention(query, key, value, mask=mask).context
        np.testing.assert_allclose(context, stored[f"y_causal_{name}_{n_kv_heads}"][0], atol=1e-12, err_msg=align)


def test_a_given_scale_equals_pytorch() -> None:
    stored = golden("sdpa_gqa")
    context = scaled_dot_product_attention(stored["q"][0], stored["k_8"][0], stored["v_8"][0], scale=0.3).context

    np.testing.assert_allclose(context, stored["y_scale_0p3"][0], atol=1e-12)


def test_a_boolean_mask_with_a_fully_masked_row_equals_pytorch_which_gives_zeros_too() -> None:
    stored = golden("sdpa_gqa")
    mask = stored["boolmask"]
    assert not mask[2].any()

    attention = scaled_dot_product_attention(stored["q"][0], stored["k_8"][0], stored["v_8"][0], mask=mask)

    np.testing.assert_allclose(attention.context, stored["y_boolmask"][0], atol=1e-12)
    assert not attention.context[:, 2].any()


@pytest.mark.parametrize("row", HARD_ROWS)
def test_a_hard_row_of_the_softmax_equals_60_digit_arithmetic(row: str) -> None:
    stored = golden("softmax_hard")
    scores, right = stored[f"logits_{row}"], stored[f"softmax_{row}"]

    single, double = masked_softmax(scores), masked_softmax(scores.astype(np.float64))

    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(single, right, rtol=0, atol=2e-7)
    np.testing.assert_allclose(double, right, rtol=0, atol=1e-15)


def test_the_single_head_lab_prints_the_same_numbers() -> None:
    lab = labs("single_head")
    random = np.random.RandomState(42)
    query, key, value = (random.randn(1, 5, 64) for _ in range(3))

    attention = scaled_dot_product_attention(query, key, value)

    np.testing.assert_allclose(attention.weights[0, 0], lab["weights_row0"], atol=1e-9)
    assert np.trace(attention.weights[0]) == pytest.approx(lab["weights_trace"], abs=1e-9)
    assert attention.context.sum() == pytest.approx(lab["output_sum"], abs=1e-9)
    np.testing.assert_allclose(attention.context[0, 0, :5], lab["output_first5"], atol=1e-9)


@pytest.mark.parametrize("n", [10, 5])
def test_the_multi_head_labs_print_the_same_numbers(n: int) -> None:
    lab = labs(f"multi_head_{n}")
    random = np.random.RandomState(42)
    query, key, value = (random.randn(2, n, 512) for _ in range(3))

    runs = [
        scaled_dot_product_attention(*(split_heads(array[sentence], 8) for array in (query, key, value)))
        for sentence in range(2)
    ]
    output = np.stack([merge_heads(attention.context) for attention in runs])

    np.testing.assert_allclose(runs[0].weights[0, 0], lab["weights_0_0_0"], atol=1e-9)
    np.testing.assert_allclose(output[0, 0, :5], lab["output_0_0_first5"], atol=1e-9)
    assert output.sum() == pytest.approx(lab["output_sum"], abs=1e-9)
    assert np.abs(output).sum() == pytest.approx(lab["output_abs_sum"], abs=1e-9)


def test_the_sinusoidal_lab_prints_the_same_numbers() -> None:
    lab = labs("sinusoidal_100x512")
    table = sinusoidal_table(np.arange(100), 512)

    assert table.sum() == pytest.approx(lab["sum"], abs=1e-9)
    np.testing.assert_allclose(table[1, :6], lab["row1_first6"], atol=1e-9)
    np.testing.assert_allclose(table[99, -4:], lab["row99_last4"], atol=1e-9)


def test_the_masking_lab_prints_the_same_numbers_with_zeros_in_its_blocked_row() -> None:
    scores = np.random.RandomState(42).randn(5, 5)
    weights = masked_softmax(scores, np.triu(np.ones((5, 5), dtype=bool), k=1))

    np.testing.assert_allclose(weights, labs("masking")["weights"], atol=1e-9)
    assert weights[4].tolist() == [0.0] * 5
