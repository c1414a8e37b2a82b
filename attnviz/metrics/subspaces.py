"""Whether heads read and write the same directions of the tokens' vectors, from their matrices alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from attnviz.core.affine import Affine
from attnviz.core.tiles import for_each
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.alike import Alike, symmetric
from attnviz.registries import SIMILARITIES
from attnviz.shapes import HeadPairs, PerHead

Matrices = Float[np.ndarray, "head d_model column"]
Spaces = Float[np.ndarray, "head d_model rank"]
HEADS_AT_ONCE = 4
FORMULA = "mean of Σ cos² θ / min(r₁, r₂) over both matrices, θ the principal angles between spaces of r dimensions"


@SIMILARITIES.register(
    label="Query-key overlap",
    group="Weights",
    source="Björck & Golub 1973 (principal angles)",
    formula=FORMULA,
)
def query_key_subspaces(layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None) -> Alike:
    """Whether two heads read the same directions to decide where to look (W_Q and W_K): 1 the same, 0 none in common.

    Notes
    -----
    Of the matrices alone, whatever the text; before a rotation of query and key. Beside each head: what random spaces
    of its dimensions would have in common, r / d_model.
    """
    queries = [_by_head(trace.origin.to_query, trace.n_heads) for trace in layers]
    keys = [_repeated(_by_head(trace.origin.to_key, len(trace.key)), trace.n_heads) for trace in layers]
    return _mean(np.concatenate(queries), np.concatenate(keys), on_progress)


@SIMILARITIES.register(
    label="Value-output overlap",
    group="Weights",
    source="Björck & Golub 1973 (principal angles)",
    formula=FORMULA,
)
def value_output_subspaces(
    layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None
) -> Alike:
    """Whether two heads carry the same directions from where they look (W_V) to where they write (W_O): 1 the same.

    Notes
    -----
    As for query and key: columns of W_V, and the rows of W_O that a head's values meet.
    """
    values = [_repeated(_by_head(trace.origin.to_value, len(trace.value)), trace.n_heads) for trace in layers]
    outputs = [_by_head(Affine(trace.origin.to_output.W.T), trace.n_heads) for trace in layers]
    return _mean(np.concatenate(values), np.concatenate(outputs), on_progress)


def _by_head(to: Affine, n_heads: int) -> Matrices:
    """The columns of each head."""
    return to.W.reshape(len(to.W), n_heads, -1).transpose(1, 0, 2)


def _repeated(matrices: Float[np.ndarray, "kv_head d_model column"], n_heads: int) -> Matrices:
    """The matrix of the key/value head that serves each head."""
    return np.repeat(matrices, n_heads // len(matrices), axis=0)


def _mean(first: Matrices, second: Matrices, on_progress: Callable[[float], None] | None) -> Alike:
    (one, uniform_one), (other, uniform_other) = overlaps(first), overlaps(second)
    if on_progress is not None:
        on_progress(1.0)
    return Alike((one + other) / 2, (uniform_one + uniform_other) / 2)


def overlaps(matrices: Matrices) -> tuple[HeadPairs, PerHead]:
    """Mean squared cosine of the principal angles between the column spaces of each two heads.

    Returns
    -------
    overlap
        tr(P₁ P₂) / min(r₁, r₂), P the projections on spaces of r dimensions; heads without any are like each other.
    uniform
        What two random spaces of a head's dimensions have in common on average, r / d_model.

    References
    ----------
    Björck & Golub 1973, theorem 1.

    Examples
    --------
    >>> overlaps(np.array([[[1.0], [0.0]], [[1.0], [1.0]]]))[0].round(3)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    bases, ranks = _bases(matrices)
    n_heads, d_model, width = bases.shape
    side = np.ascontiguousarray(bases.transpose(1, 0, 2)).reshape(d_model, n_heads * width)

    def with_later(head: int) -> PerHead:
        angles = bases[head].T @ side[:, head * width :]
        return np.square(angles, out=angles).reshape(width, n_heads - head, width).sum(axis=(0, 2))

    upper = np.zeros((n_heads, n_heads))
    for head, common in enumerate(for_each(with_later, range(n_heads), n_heads * bases.size)):
        upper[head, head:] = common
    least = np.minimum.outer(ranks, ranks)
    overlap = np.minimum(symmetric(upper) / np.maximum(least, 1), 1.0)
    overlap[np.logical_and.outer(ranks == 0, ranks == 0)] = 1.0
    np.fill_diagonal(overlap, 1.0)
    return overlap, ranks / d_model


def _bases(matrices: Matrices) -> tuple[Spaces, PerHead]:
    """An orthonormal basis of each column space, filled up with zeros, and its dimensions."""

    def of_some(start: int) -> tuple[Spaces, Float[np.ndarray, "head rank"]]:
        some = matrices[start : start + HEADS_AT_ONCE].astype(np.float64)
        bases, sizes, _ = np.linalg.svd(some, full_matrices=False)
        return bases, sizes

    parts = list(for_each(of_some, range(0, len(matrices), HEADS_AT_ONCE), len(matrices) * matrices.size))
    bases, sizes = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    rounding = max(matrices.shape[1:]) * np.finfo(matrices.dtype).eps
    is_there = sizes > rounding * sizes.max(axis=1, keepdims=True, initial=0.0)
    ranks = is_there.sum(axis=1)
    return (bases * is_there[:, None])[:, :, : max(int(ranks.max()), 1)], ranks.astype(np.float64)
