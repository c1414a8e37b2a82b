"""Long maps made as small as a screen can show: the largest of each block is kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from attnviz.shapes import HeadMask, Weights


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
    Forbidden weights are 0, so the largest of a block is that of its allowed pairs. At most `most` rows and columns
    are left.
    """
    _, n_q, n_k = weights.shape
    steps = pool_factor(n_q, most), pool_factor(n_k, most)
    allowed = np.broadcast_to(mask, (mask.shape[0], n_q, n_k))
    some = np.stack([_pooled(one, *steps) for one in allowed])
    largest = np.stack([_pooled(one, *steps) for one in weights])
    return np.where(some, largest, np.nan).astype(np.float32)


def _pooled(one_map: np.ndarray, step_q: int, step_k: int) -> np.ndarray:
    return _pooled_rows(_pooled_rows(one_map, step_q).T, step_k).T


def _pooled_rows(one_map: np.ndarray, step: int) -> np.ndarray:
    whole = one_map.shape[0] // step * step
    blocks = one_map[:whole].reshape(whole // step, step, -1).max(axis=1)
    return np.concatenate([blocks, one_map[whole:].max(axis=0, keepdims=True)]) if whole < len(one_map) else blocks
