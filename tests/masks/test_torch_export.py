"""The programs for PyTorch run there and give what the core gives: `pytest -m torch`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.attention.flex_attention import create_mask

from attnviz import scaled_dot_product_attention
from attnviz.masks import build_mask, flex_attention_code, sdpa_code
from attnviz.registries import MASKS
from attnviz.registry import Spec

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
SHAPES = [(11, 11, 2), (3, 7, 4), (6, 2, 1)]
FURTHER = (
    MASKS["strided"].spec(heads="alternating"),
    MASKS["fixed"].spec(heads="alternating"),
    MASKS["rule"].spec(rule="(q - k) % (h + 1) == 0"),
    MASKS["random_keys"].spec(keep=2, among="earlier keys"),
)
CHOICES = [(entry.spec(),) for entry in MASKS] + [(spec,) for spec in FURTHER]
TOGETHER = (MASKS["causal"].spec(), FURTHER[0], MASKS["padding_left"].spec(padded=1))


def run(code: str) -> dict[str, Any]:
    """What is left after running a program in an empty namespace."""
    left: dict[str, Any] = {}
    exec(compile(code, "exported", "exec"), left)
    return left


def inputs(n_q: int, n_k: int, n_heads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((n_heads, n_q, 16)),
        rng.standard_normal((n_heads, n_k, 16)),
        rng.standard_normal((n_heads, n_k, 16)),
    )


def attended(code: str, arrays: tuple[np.ndarray, ...], dtype: Any) -> np.ndarray:
    tensors = [torch.from_numpy(array).to(dtype)[None] for array in arrays]
    return run(code)["attention"](*tensors)[0].double().numpy()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("masks", [*CHOICES, TOGETHER], ids=lambda masks: " ".join(spec.name for spec in masks))
def test_the_program_for_pytorchs_attention_gives_what_the_core_gives(
    masks: tuple[Spec, ...], shape: tuple[int, int, int]
) -> None:
    n_q, n_k, n_heads = shape
    arrays = inputs(*shape)

    output = attended(sdpa_code(masks, n_q, n_k, n_heads=n_heads), arrays, torch.float64)

    right = scaled_dot_product_attention(*arrays, mask=build_mask(masks, n_q, n_k, n_heads=n_heads)).context
    np.testing.assert_allclose(output, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("masks", [*CHOICES, TOGETHER], ids=lambda masks: " ".join(spec.name for spec in masks))
def test_the_mask_mod_for_flex_attention_is_the_mask(masks: tuple[Spec, ...], shape: tuple[int, int, int]) -> None:
    n_q, n_k, n_heads = shape
    mask_mod = run(flex_attention_code(masks, n_q, n_k, n_heads=n_heads))["mask_mod"]

    mask = create_mask(mask_mod, 1, n_heads, n_q, n_k, device="cpu")[0].numpy()

    right = build_mask(masks, n_q, n_k, n_heads=n_heads)
    np.testing.assert_array_equal(mask, np.broadcast_to(right, mask.shape))


@pytest.mark.parametrize("masks", [(MASKS["causal"].spec(),), (MASKS["nothing"].spec(),), TOGETHER], ids=str)
def test_the_program_for_flex_attention_gives_what_the_core_gives(masks: tuple[Spec, ...]) -> None:
    arrays = inputs(11, 11, 2)

    output = attended(flex_attention_code(masks, 11, 11, n_heads=2), arrays, torch.float32)

    right = scaled_dot_product_attention(*arrays, mask=build_mask(masks, 11, 11, n_heads=2)).context
    np.testing.assert_allclose(output, right, rtol=0, atol=2e-6)
