"""Attention as the textbook writes it: plain loops over plain numbers, slow and easy to check by eye."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

GOLDEN = Path(__file__).parent / "golden"

TINY_KEYS = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
TINY_VALUES = np.array([[[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]])


class SlowAttention(NamedTuple):
    scores: np.ndarray
    weights: np.ndarray
    context: np.ndarray


def softmax(scores: Sequence[float], allowed: Sequence[bool]) -> list[float]:
    """Weights over the allowed keys; all zero if there is none."""
    kept = [score for score, may in zip(scores, allowed, strict=True) if may]
    if not kept:
        return [0.0 for _ in scores]
    highest = max(kept)
    powers = [math.exp(score - highest) if may else 0.0 for score, may in zip(scores, allowed, strict=True)]
    return [power / math.fsum(powers) for power in powers]


def attention(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: float | None = None,
) -> SlowAttention:
    """softmax(query key^T scale + bias) value, one number at a time, in float64."""
    n_heads, n_q, d_head = query.shape
    n_k, d_value = value.shape[1:]
    shape = (n_heads, n_q, n_k)
    may = np.broadcast_to(True if mask is None else mask, shape)
    added = np.broadcast_to(0.0 if bias is None else bias, shape)
    factor = 1 / math.sqrt(d_head) if scale is None else scale
    queries_of_a_key = n_heads // key.shape[0]

    scores, weights, context = np.zeros(shape), np.zeros(shape), np.zeros((n_heads, n_q, d_value))
    for head in range(n_heads):
        kv_head = head // queries_of_a_key
        for q in range(n_q):
            for k in range(n_k):
                products = [float(query[head, q, d]) * float(key[kv_head, k, d]) for d in range(d_head)]
                scores[head, q, k] = math.fsum(products) * factor
            biased = [float(scores[head, q, k]) + float(added[head, q, k]) for k in range(n_k)]
            weights[head, q] = softmax(biased, may[head, q].tolist())
            for d in range(d_value):
                context[head, q, d] = math.fsum(weights[head, q, k] * float(value[kv_head, k, d]) for k in range(n_k))
    return SlowAttention(scores, weights, context)


def golden(name: str) -> dict[str, np.ndarray]:
    """Arrays of a stored file, by name."""
    with np.load(GOLDEN / f"{name}.npz") as stored:
        return dict(stored)


def labs(name: str) -> dict[str, Any]:
    """Numbers that a classroom lab prints."""
    return json.loads((GOLDEN / "labs.json").read_text(encoding="utf-8"))[name]


def normal(shape: tuple[int, ...], seed: int = 0, dtype: type = np.float64) -> np.ndarray:
    """Standard normal numbers, the same in every run."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
