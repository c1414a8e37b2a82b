"""Long maps made as small as a screen can show: the largest of each block is kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

from attnviz.shapes import HeadMask, Weights

LEVELS = 254


def pool_factor(n: int, most: int) -> int:
    """How many rows share one cell so that n of them take at most `most` cells.

    >>> pool_factor(128, 128), pool_factor(129, 128)
    (1, 2)
    """
    return max(1, -(-n // most))


def max_pooled(weights: Weights, mask: HeadMask, most: int) -> Float[np.ndarray, "head row column"]:
    """Largest weight of each block in float32; NaN where a whole block is forbidden.

    Notes
    -----
    Weights are rounded to 254 levels between 0 and their head's largest before they are compared, so a value is
    exact to 0.2 % of its head's largest. At most `most` rows and columns are left.
    """
    n_heads, n_q, n_k = weights.shape
    step_q, step_k = pool_factor(n_q, most), pool_factor(n_k, most)
    allowed = np.broadcast_to(mask, (mask.shape[0], n_q, n_k))
    everything = bool(allowed.all())
    pooled = np.empty((n_heads, -(-n_q // step_q), -(-n_k // step_k)), dtype=np.float32)
    for head in range(n_heads):
        top = float(weights[head].max(initial=0.0)) or 1.0
        levels = (weights[head] * np.float32(LEVELS / top) + np.float32(1.5)).astype(np.uint8)
        if not everything:
            levels *= allowed[head % allowed.shape[0]]
        small = _pool_rows(_pool_rows(levels, step_q).T, step_k).T
        pooled[head] = np.where(small > 0, (small.astype(np.float32) - 1) * np.float32(top / LEVELS), np.nan)
    return pooled


def _pool_rows(levels: UInt8[np.ndarray, "row column"], step: int) -> UInt8[np.ndarray, "block column"]:
    return np.maximum.reduceat(levels, np.arange(0, levels.shape[0], step), axis=0)
