"""Whole small models, run with our functions: weights of every layer, hidden states and logits as in transformers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from attnviz import build_mask, merge_heads, scaled_dot_product_attention, split_heads
from attnviz.masks import padded_position_ids, rows_without_keys
from attnviz.models.encoder import gelu
from attnviz.positions import rotate
from attnviz.registries import MASKS
from attnviz.registry import Spec
from tests.core.checkpoints import Checkpoint, published, stored_beside
from tests.reference import golden

GPT2 = published("gpt2_tiny", epsilon=1e-5, columns_are_outputs=True)
VIT = published("vit_tiny", epsilon=1e-12)
CAUSAL = MASKS["causal"].spec()


class Run(NamedTuple):
    """Weights `(head, q, k)` of each layer, and what enters each layer and leaves the last."""

    weights: list[np.ndarray]
    hidden: list[np.ndarray]


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """The approximation that GPT-2 was trained with."""
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def run_gpt2(ids: np.ndarray, masks: list[Spec], positions: np.ndarray) -> Run:
    """The last hidden state is after the final norm."""
    x = GPT2["transformer.wte.weight"][ids] + GPT2["transformer.wpe.weight"][positions]
    mask = build_mask(masks, len(ids), len(ids))
    weights, hidden = [], [x]
    for layer in ("transformer.h.0", "transformer.h.1"):
        together = np.split(GPT2.affine(f"{layer}.attn.c_attn")(GPT2.norm(f"{layer}.ln_1")(x)), 3, axis=1)
        query, key, value = (split_heads(part, 3) for part in together)
        attention = scaled_dot_product_attention(query, key, value, mask=mask)
        x = x + GPT2.affine(f"{layer}.attn.c_proj")(merge_heads(attention.context))
        wide = gelu_tanh(GPT2.affine(f"{layer}.mlp.c_fc")(GPT2.norm(f"{layer}.ln_2")(x)))
        x = x + GPT2.affine(f"{layer}.mlp.c_proj")(wide)
        weights.append(attention.weights)
        hidden.append(x)
    hidden[-1] = GPT2.norm("transformer.ln_f")(x)
    return Run(weights, hidden)


def logits_of(run: Run) -> np.ndarray:
    return run.hidden[-1] @ GPT2["lm_head.weight"].T


@pytest.mark.parametrize("sentence", [0, 1])
def test_gpt2_gives_the_same_weights_hidden_states_and_logits(sentence: int) -> None:
    stored = golden("gpt2_tiny")
    run = run_gpt2(stored["ids"][sentence], [CAUSAL], np.arange(14))

    for layer, weights in enumerate(run.weights):
        np.testing.assert_allclose(weights, stored[f"att{layer}"][sentence], rtol=0, atol=1e-9)
    for layer, hidden in enumerate(run.hidden):
        np.testing.assert_allclose(hidden, stored[f"hidden{layer}"][sentence], rtol=0, atol=1e-9)
    np.testing.assert_allclose(logits_of(run), stored["logits"][sentence], rtol=0, atol=1e-9)


@pytest.mark.parametrize("sentence", [0, 1])
def test_gpt2_in_a_left_padded_batch_gives_the_same_weights_and_logits_of_every_real_token(sentence: int) -> None:
    stored = golden("gpt2_tiny")
    n_padded = int((stored["mask_left"][sentence] == 0).sum())
    masks = [CAUSAL, *([MASKS["padding_left"].spec(padded=n_padded)] if n_padded else [])]

    run = run_gpt2(stored["ids"][sentence], masks, padded_position_ids(masks, 14))

    for layer, weights in enumerate(run.weights):
        right = stored[f"att_left{layer}"][sentence]
        np.testing.assert_allclose(weights[:, n_padded:], right[:, n_padded:], rtol=0, atol=1e-9)
        assert not weights[:, :n_padded].any()
    np.testing.assert_allclose(logits_of(run)[n_padded:], stored["logits_left"][sentence][n_padded:], rtol=0, atol=1e-9)
    assert rows_without_keys(build_mask(masks, 14, 14)[None]) == list(range(n_padded))


def patches_of(image: np.ndarray, size: int) -> np.ndarray:
    """Square pieces of an image `(channel, row, column)`, in reading order, each as one row."""
    n_channels, height, width = image.shape
    grid = image.reshape(n_channels, height // size, size, width // size, size)
    return grid.transpose(1, 3, 0, 2, 4).reshape(height // size * (width // size), -1)


def embedded_image(image: np.ndarray) -> np.ndarray:
    """One row for the whole image, then one for each patch."""
    kernel = VIT["embeddings.patch_embeddings.projection.weight"]
    patches = patches_of(image, 4) @ kernel.reshape(24, -1).T + VIT["embeddings.patch_embeddings.projection.bias"]
    return np.concatenate([VIT["embeddings.cls_token"][0], patches]) + VIT["embeddings.position_embeddings"][0]


def vit_attention(x: np.ndarray, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and values of one layer."""
    normed = VIT.norm(f"layers.{layer}.layernorm_before")(x)
    query, key, value = (split_heads(VIT.affine(f"layers.{layer}.attention.{name}_proj")(normed), 3) for name in "qkv")
    return scaled_dot_product_attention(query, key, value).weights, value


def after_vit_attention(x: np.ndarray, layer: int, context: np.ndarray) -> np.ndarray:
    x = x + VIT.affine(f"layers.{layer}.attention.o_proj")(merge_heads(context))
    wide = gelu(VIT.affine(f"layers.{layer}.mlp.fc1")(VIT.norm(f"layers.{layer}.layernorm_after")(x)))
    return x + VIT.affine(f"layers.{layer}.mlp.fc2")(wide)


def test_vit_gives_the_same_weights_and_hidden_states_for_an_image_of_16_patches() -> None:
    stored = golden("vit_tiny")
    x = embedded_image(stored["pixels"][0])
    np.testing.assert_allclose(x, stored["hidden0"][0], rtol=0, atol=1e-9)

    for layer in (0, 1):
        theirs = stored[f"att{layer}"][0]
        np.testing.assert_array_equal(theirs, theirs.astype(np.float32), err_msg="softmax in float32 in the library")
        weights, value = vit_attention(stored[f"hidden{layer}"][0], layer)
        np.testing.assert_allclose(weights, theirs, rtol=0, atol=1e-7)
        given_theirs = after_vit_attention(stored[f"hidden{layer}"][0], layer, theirs @ value)
        np.testing.assert_allclose(given_theirs, stored[f"hidden{layer + 1}"][0], rtol=0, atol=1e-9)


def test_vit_run_from_end_to_end_drifts_from_float32_softmax_by_no_more_than_its_rounding() -> None:
    stored = golden("vit_tiny")
    x = embedded_image(stored["pixels"][0])

    for layer in (0, 1):
        weights, value = vit_attention(x, layer)
        np.testing.assert_allclose(weights, stored[f"att{layer}"][0], rtol=0, atol=1e-7)
        x = after_vit_attention(x, layer, weights @ value)
        np.testing.assert_allclose(x, stored[f"hidden{layer + 1}"][0], rtol=0, atol=1e-6)


def run_llama(model: Checkpoint, ids: np.ndarray, masks: list[Spec]) -> Run:
    """Rotary positions, 4 query heads on 2 key/value heads; the last hidden state is after the final norm."""
    x = model["embed_tokens.weight"][ids]
    positions = np.arange(len(ids))
    mask = build_mask(masks, len(ids), len(ids))
    weights, hidden = [], [x]
    for layer in ("layers.0", "layers.1"):
        normed = model.rms_norm(f"{layer}.input_layernorm")(x)
        query, key, value = (
            split_heads(model.affine(f"{layer}.self_attn.{name}_proj")(normed), n_heads)
            for name, n_heads in (("q", 4), ("k", 2), ("v", 2))
        )
        attention = scaled_dot_product_attention(rotate(query, positions), rotate(key, positions), value, mask=mask)
        x = x + model.affine(f"{layer}.self_attn.o_proj")(merge_heads(attention.context))
        normed = model.rms_norm(f"{layer}.post_attention_layernorm")(x)
        gate, up = (model.affine(f"{layer}.mlp.{name}_proj")(normed) for name in ("gate", "up"))
        x = x + model.affine(f"{layer}.mlp.down_proj")(silu(gate) * up)
        weights.append(attention.weights)
        hidden.append(x)
    hidden[-1] = model.rms_norm("norm")(x)
    return Run(weights, hidden)


@pytest.mark.parametrize(
    ("name", "masks"),
    [
        ("llama_gqa", [CAUSAL]),
        ("mistral_sliding", [CAUSAL, MASKS["sliding_window"].spec(window=5)]),
    ],
)
def test_llama_and_mistral_with_its_window_give_the_same_weights_and_hidden_states(
    name: str, masks: list[Spec]
) -> None:
    stored = golden(name)
    run = run_llama(stored_beside(name, epsilon=1e-6), stored["ids"][0], masks)

    for layer, weights in enumerate(run.weights):
        np.testing.assert_allclose(weights, stored[f"att{layer}"][0], rtol=0, atol=5e-6)
        assert not weights[stored[f"att{layer}"][0] == 0].any()
    for layer, hidden in enumerate(run.hidden):
        np.testing.assert_allclose(hidden, stored[f"hidden{layer}"][0], rtol=0, atol=5e-6)
