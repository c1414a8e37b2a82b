"""Variants of attention against PyTorch and transformers: rows added to the keys, soft cap, sinks, global tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnviz import build_mask, masked_softmax, merge_heads, scaled_dot_product_attention, split_heads
from attnviz.core.attention import Attention
from attnviz.core.extra_keys import extended_keys
from attnviz.models.encoder import gelu
from attnviz.registries import MASKS
from tests.core.checkpoints import Checkpoint, attended, stored_beside
from tests.reference import golden

CAUSAL = build_mask([MASKS["causal"].spec()], 6, 6)


@pytest.mark.parametrize("sentence", [0, 1])
def test_a_learned_key_and_a_zero_key_equal_bias_kv_and_zero_attn_of_pytorch(sentence: int) -> None:
    stored = golden("mha_biaskv_zeroattn")
    x = stored["x"][sentence]
    query, key, value = (
        split_heads(x @ matrix.T + offset, 4)
        for matrix, offset in zip(
            np.split(stored["in_proj_weight"], 3), np.split(stored["in_proj_bias"], 3), strict=True
        )
    )

    key, value, mask = extended_keys(
        key,
        value,
        np.ones((7, 7), dtype=bool),
        bias_key=split_heads(stored["bias_k"][0], 4),
        bias_value=split_heads(stored["bias_v"][0], 4),
        zero=True,
    )
    attention = scaled_dot_product_attention(query, key, value, mask=mask)
    output = merge_heads(attention.context) @ stored["out_proj__weight"].T + stored["out_proj__bias"]

    assert attention.weights.shape == (4, 7, 9)
    np.testing.assert_allclose(attention.weights, stored["w"][sentence], rtol=0, atol=1e-12)
    np.testing.assert_allclose(output, stored["y"][sentence], rtol=0, atol=1e-12)


def of_four_heads_on_two(**variant: Any) -> Attention:
    stored = golden("softcap_and_sinks")
    return scaled_dot_product_attention(stored["q"][0], stored["k"][0], stored["v"][0], mask=CAUSAL, **variant)


def test_a_soft_cap_of_5_equals_gemma_2() -> None:
    stored = golden("softcap_and_sinks")
    attention, value = of_four_heads_on_two(softcap=5.0), np.repeat(stored["v"][0], 2, axis=0)

    np.testing.assert_allclose(attention.weights, stored["w_softcap"][0], rtol=0, atol=2e-7)
    np.testing.assert_allclose(attention.context, attention.weights @ value, rtol=0, atol=1e-14)


def test_a_soft_cap_of_5_equals_gemma_2_in_its_context_too_with_a_softmax_in_float32_like_there() -> None:
    stored = golden("softcap_and_sinks")
    capped = 5 * np.tanh(of_four_heads_on_two(softcap=5.0).scores / 5)
    rounded = masked_softmax(capped.astype(np.float32), CAUSAL).astype(np.float64)
    context = rounded @ np.repeat(stored["v"][0], 2, axis=0)

    np.testing.assert_array_equal(stored["w_softcap"], stored["w_softcap"].astype(np.float32))
    np.testing.assert_allclose(context.transpose(1, 0, 2), stored["y_softcap"][0], rtol=0, atol=2e-7)


def test_learned_sinks_equal_gpt_oss_and_leave_rows_that_sum_to_less_than_1() -> None:
    stored = golden("softcap_and_sinks")
    attention = of_four_heads_on_two(sinks=stored["sinks"])

    np.testing.assert_allclose(attention.weights, stored["w_sinks"][0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(attention.context.transpose(1, 0, 2), stored["y_sinks"][0], rtol=0, atol=1e-12)
    assert (attention.weights.sum(axis=-1) < 1).all()


def longformer_mask(is_global: np.ndarray) -> np.ndarray:
    """Four keys to each side, and all that a global token attends to or is attended from."""
    n = len(is_global)
    near = build_mask([MASKS["sliding_window"].spec(window=5)], n, n)
    return near | is_global[:, None] | is_global[None, :]


def as_band(weights: np.ndarray, is_global: np.ndarray) -> np.ndarray:
    """The library's layout: the global keys, then the nine keys around each query without the global ones."""
    n = len(is_global)
    local = np.where(is_global[None, None, :], 0, weights)
    padded = np.pad(local, ((0, 0), (0, 0), (4, 4)))
    band = np.stack([padded[:, row, row : row + 9] for row in range(n)], axis=1)
    rows = np.concatenate([weights[:, :, is_global], band], axis=2)
    rows[:, is_global] = 0
    return rows


def longformer_layer(model: Checkpoint, x: np.ndarray, context: np.ndarray) -> np.ndarray:
    """What follows attention: W_O, the two maps, and both norms."""
    name = "encoder.layer.0"
    x = model.norm(f"{name}.attention.output.LayerNorm")(x + model.affine(f"{name}.attention.output.dense")(context))
    wide = gelu(model.affine(f"{name}.intermediate.dense")(x))
    return model.norm(f"{name}.output.LayerNorm")(x + model.affine(f"{name}.output.dense")(wide))


def test_longformer_equals_its_dense_definition_with_projections_of_their_own_for_global_rows() -> None:
    stored = golden("longformer")
    model = stored_beside("longformer", epsilon=1e-12)
    x, is_global = stored["hidden_in"][0], stored["global_mask"][0].astype(bool)
    mask = longformer_mask(is_global)
    np.testing.assert_array_equal(mask, stored["allowed"])

    def projections(suffix: str) -> tuple[Any, Any, Any]:
        query, key, value = (
            model.affine(f"encoder.layer.0.attention.self.{part}{suffix}") for part in ("query", "key", "value")
        )
        return query, key, value

    (local, local_merged), (broad, broad_merged) = (
        attended(x, projections(suffix), 3, mask) for suffix in ("", "_global")
    )

    np.testing.assert_allclose(as_band(local.weights, is_global), stored["att"][0], rtol=0, atol=1e-6)
    of_global_rows = broad.weights[:, is_global].transpose(0, 2, 1)
    np.testing.assert_allclose(of_global_rows, stored["att_global"][0], rtol=0, atol=1e-6)
    merged = np.where(is_global[:, None], broad_merged, local_merged)
    np.testing.assert_allclose(longformer_layer(model, x, merged), stored["hidden_out"][0], rtol=0, atol=1e-6)
