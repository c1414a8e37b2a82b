"""How alike heads are, as a head-by-head matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnviz.registries import SIMILARITIES
from attnviz.shapes import HeadPairs, Weights

BLOCK_CELLS = 1 << 20


@SIMILARITIES.register(
    label="Cosine of maps",
    group="Maps",
    source="Michel et al. 2019, section 6 (redundancy); cosine of the flattened maps",
    formula="⟨A, B⟩ / (‖A‖ ‖B‖)",
)
def cosine(weights: Weights) -> HeadPairs:
    """How much two heads' maps overlap: 1 for the same map, 0 when they never look at the same key.

    Notes
    -----
    Cosine of the flattened maps, summed in float64 over blocks of rows. A head without any weight has cosine 0
    with every other.

    Examples
    --------
    >>> cosine(np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]])).round(3)
    array([[1.   , 0.   , 0.707],
           [0.   , 1.   , 0.707],
           [0.707, 0.707, 1.   ]])
    """
    n_heads, n_q, n_k = weights.shape
    step = max(1, BLOCK_CELLS // max(n_heads * n_k, 1))
    parts = (products(weights[:, start : start + step]) for start in range(0, n_q, step))
    return cosine_of(sum(parts, start=np.zeros((n_heads, n_heads))))


def products(weights: Weights) -> HeadPairs:
    """For each pair of heads the sum of the products of their weights."""
    flat = weights.reshape(len(weights), -1)
    return (flat @ flat.T).astype(np.float64)


def cosine_of(gram: HeadPairs) -> HeadPairs:
    """Cosines of flattened maps from the sums of their products."""
    norm = np.sqrt(np.diagonal(gram))
    similarity = gram / np.maximum(np.outer(norm, norm), np.finfo(np.float64).tiny)
    np.fill_diagonal(similarity, 1.0)
    return np.minimum(similarity, 1.0)


class Pair(NamedTuple):
    """Two heads and their similarity."""

    first: int
    second: int
    similarity: float


def most_alike(similarity: HeadPairs) -> Pair | None:
    """The two different heads that are most alike; None if there is only one.

    >>> most_alike(np.array([[1.0, 0.2], [0.2, 1.0]]))
    Pair(first=0, second=1, similarity=0.2)
    """
    n_heads = similarity.shape[0]
    if n_heads < 2:
        return None
    others = np.where(np.triu(np.ones((n_heads, n_heads), dtype=bool), k=1), similarity, -np.inf)
    first, second = np.unravel_index(int(others.argmax()), others.shape)
    return Pair(int(first), int(second), float(similarity[first, second]))
