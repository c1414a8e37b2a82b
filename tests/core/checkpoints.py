"""Stored models of other libraries, in the parts that a forward run names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load_file

from attnviz import merge_heads, scaled_dot_product_attention, split_heads
from attnviz.core.affine import Affine, LayerNorm
from attnviz.core.attention import Attention
from tests.reference import GOLDEN, golden

Layer = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by the names that their library gives them.

    Attributes
    ----------
    epsilon
        Added to the variance in every norm.
    columns_are_outputs
        How matrices are stored: x W (GPT-2) or x W^T (all others).
    """

    tensors: dict[str, np.ndarray]
    epsilon: float
    columns_are_outputs: bool = False

    def __getitem__(self, name: str) -> np.ndarray:
        return self.tensors[name]

    def affine(self, name: str) -> Affine:
        matrix = self[f"{name}.weight"] if self.columns_are_outputs else self[f"{name}.weight"].T
        return Affine(matrix, self.tensors.get(f"{name}.bias", np.zeros(matrix.shape[1])))

    def norm(self, name: str) -> LayerNorm:
        return LayerNorm(self[f"{name}.weight"], self[f"{name}.bias"], self.epsilon)

    def rms_norm(self, name: str) -> Layer:
        return lambda x: x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + self.epsilon) * self[f"{name}.weight"]


def published(name: str, *, epsilon: float, columns_are_outputs: bool = False) -> Checkpoint:
    """A model that has its own file of weights."""
    return Checkpoint(load_file(GOLDEN / f"{name}.safetensors"), epsilon, columns_are_outputs)


def stored_beside(name: str, *, epsilon: float) -> Checkpoint:
    """A model whose weights are stored with its results."""
    tensors = {
        key.removeprefix("p_").replace("__", "."): array for key, array in golden(name).items() if key.startswith("p_")
    }
    return Checkpoint(tensors, epsilon)


def attended(
    x: np.ndarray, projections: tuple[Layer, Layer, Layer], n_heads: int, mask: np.ndarray | None = None
) -> tuple[Attention, np.ndarray]:
    """Self-attention of x with these projections, and its heads side by side."""
    query, key, value = (split_heads(project(x), n_heads) for project in projections)
    attention = scaled_dot_product_attention(query, key, value, mask=mask)
    return attention, merge_heads(attention.context)
