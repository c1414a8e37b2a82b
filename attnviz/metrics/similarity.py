"""How alike the maps of heads are, as a head-by-head matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.alike import Alike, Pair, head_count, joint_blocks
from attnviz.metrics.baseline import uniform_weights
from attnviz.metrics.divergence import divergences
from attnviz.registries import SIMILARITIES
from attnviz.shapes import HeadPairs, PerHead, Weights

BLOCK_CELLS = 1 << 20
ROUNDING = 1e-12
"""Share of a sum of squares that is nothing but rounding."""


@SIMILARITIES.register(
    label="Cosine of maps",
    group="Maps",
    source="Bian et al. 2021, section 3 (distances of heads); cosine of the flattened maps",
    formula="⟨A, B⟩ / (‖A‖ ‖B‖)",
)
def cosine(layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None) -> Alike:
    """How much two heads' maps overlap: 1 for the same map, 0 when they never look at the same key.

    Notes
    -----
    Cosine of the flattened maps, summed in float64 over blocks of rows. A head without any weight has cosine 0
    with every other.

    Examples
    --------
    >>> from attnviz import AttentionConfig, attend
    >>> cosine([attend(AttentionConfig(tokens=("to", "be"), n_heads=2))]).pairs.shape
    (2, 2)
    """
    n_heads = head_count(layers)
    gram, crossed, even = np.zeros((n_heads, n_heads)), np.zeros(n_heads), np.zeros(n_heads)
    for of_pairs, with_even, of_even in joint_blocks(layers, _products, on_progress):
        gram += of_pairs
        crossed += with_even
        even += of_even
    return Alike(cosine_of(gram), ratio(crossed, np.diagonal(gram), even))


def _products(rows: Rows) -> tuple[HeadPairs, PerHead, PerHead]:
    """Sums of products of each two maps, of each map with that of the uniform head, and of that one's squares."""
    even = uniform_weights(rows.mask)
    crossed = np.einsum("hqk,hqk->h", rows.weights, np.broadcast_to(even, rows.weights.shape), dtype=np.float64)
    squares = np.broadcast_to(np.square(even).sum(axis=(1, 2)), crossed.shape)
    return products(rows.weights), crossed, squares


@SIMILARITIES.register(
    label="Jensen-Shannon divergence",
    group="Maps",
    source="Lin 1991, section 4; between heads: Clark et al. 2019, section 6",
    unit="bits",
    formula="mean over queries of (Σ a log₂(a / m) + Σ b log₂(b / m)) / 2, with m = (a + b) / 2",
)
def js_divergence(layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None) -> Alike:
    """How well one could tell from a key that was looked at which of two heads it was: 0 not at all, 1 for certain.

    Notes
    -----
    In bits, so that 1 is the most; a mean over the queries for which both heads have a key, so that it does not grow
    with the text. Clark et al. sum over the tokens instead. See `divergences`.
    """
    pairs, uniform = divergences(layers, on_progress)
    return Alike(np.minimum(pairs / np.log(2), 1.0), np.minimum(uniform / np.log(2), 1.0), is_distance=True)


@SIMILARITIES.register(
    label="Correlation of maps",
    group="Maps",
    source="Pearson 1895; as the cosine of centred vectors: Rodgers & Nicewander 1988",
    formula="⟨A − Ā, B − B̄⟩ / (‖A − Ā‖ ‖B − B̄‖), with the mean of its allowed weights taken from each row",
)
def correlation(layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None) -> Alike:
    """Whether two heads favour the same keys beyond what the mask alone makes of every head: 1 the same, −1 opposite.

    Notes
    -----
    Every row is centred on the mean of its allowed weights, so what is compared is how a head differs from one that is
    uniform; with all pairs allowed it is NumPy's `corrcoef` of the flattened maps. For that reason the uniform head
    itself has no value. Two heads that are both uniform count as the same, one of them as unlike every other.
    """
    n_heads = head_count(layers)
    gram, squares = np.zeros((n_heads, n_heads)), np.zeros(n_heads)
    for of_pairs, of_maps in joint_blocks(layers, _centred_products, on_progress):
        gram += of_pairs
        squares += of_maps
    return Alike(without_nothing(gram, ROUNDING * squares), np.full(n_heads, np.nan), is_signed=True)


def _centred_products(rows: Rows) -> tuple[HeadPairs, PerHead]:
    weights = rows.weights.astype(np.float64)
    squares = np.square(weights).sum(axis=(1, 2))
    mean = weights.sum(axis=-1) / np.maximum(rows.n_allowed, 1)
    weights -= np.where(rows.mask, mean[..., None], 0.0)
    return products(weights), squares


def without_nothing(gram: HeadPairs, rounding: PerHead) -> HeadPairs:
    """Cosines from sums of products, where what is left of a head may be nothing but rounding.

    Parameters
    ----------
    gram
        Sums of products of what is left of the heads.
    rounding
        The sum of squares of each head up to which it is nothing but rounding.

    Returns
    -------
    ndarray
        `(head, head)`; two heads of which nothing is left are 1, one of them with another 0.
    """
    is_nothing = np.diagonal(gram) <= rounding
    both, one = np.logical_and.outer(is_nothing, is_nothing), np.logical_or.outer(is_nothing, is_nothing)
    return np.where(both, 1.0, np.where(one, 0.0, np.maximum(cosine_of(gram), -1.0)))


def cosine_of_maps(weights: Weights) -> HeadPairs:
    """Cosine of flattened maps that are there as a whole.

    >>> cosine_of_maps(np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]])).round(3)
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


def ratio(crossed: PerHead, own: PerHead, other: PerHead) -> PerHead:
    """Cosines from sums of products and of squares; 0 where there is nothing to compare."""
    norms = np.sqrt(own * other)
    return np.minimum(np.where(norms > 0, crossed / np.where(norms > 0, norms, 1.0), 0.0), 1.0)


def cosine_of(gram: HeadPairs) -> HeadPairs:
    """Cosines of flattened maps from the sums of their products."""
    norm = np.sqrt(np.diagonal(gram))
    similarity = gram / np.maximum(np.outer(norm, norm), np.finfo(np.float64).tiny)
    np.fill_diagonal(similarity, 1.0)
    return np.minimum(similarity, 1.0)


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
