"""Singular values of each head's scores, weights and matrices: how many directions it really uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.projections import split_heads
from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_rows
from attnviz.shapes import Keys, PerHead, Queries, Weights

UniformPerHead = Float[np.ndarray, " #head"]

MOST_ROWS = 512
MOST_CELLS = 1 << 22
MOST_WORK = 1 << 31


@dataclass(frozen=True, eq=False)
class Spectra:
    """Singular values of one matrix of each head.

    Attributes
    ----------
    values
        From the largest to the smallest; NaN where the matrix holds a number that is not finite.
    shape
        Rows and columns of the matrix.
    eps
        Relative spacing of the numbers that it was made of.
    """

    values: Float[np.ndarray, "head value"]
    shape: tuple[int, int]
    eps: float

    @property
    def largest(self) -> PerHead:
        """The largest singular value."""
        return self.values[:, 0] if self.values.shape[1] else np.zeros(len(self.values))

    @property
    def tolerance(self) -> PerHead:
        """Size up to which a singular value is no more than rounding.

        Notes
        -----
        The largest times the longer side of the matrix times eps, as in NumPy and MATLAB.

        References
        ----------
        Golub & Van Loan 1996, section 5.5.8.
        """
        return self.largest * max(self.shape) * self.eps

    def shares(self) -> Float[np.ndarray, "head value"]:
        """Each singular value as a share of the head's largest; NaN where it is no more than rounding."""
        is_real = self.values > self.tolerance[:, None]
        return np.where(is_real, self.values, np.nan) / np.where(self.largest > 0, self.largest, 1.0)[:, None]


@dataclass(frozen=True, eq=False)
class LayerSpectra:
    """Singular values of all heads of a layer, before and after the softmax.

    Attributes
    ----------
    scores
        Of query times key times the scale: before soft cap, bias and mask, over all queries and keys.
    weights
        Of the weights.
    uniform
        Of a head that is uniform over the allowed keys; one, or one for each head where their masks differ.
    n_rows
        How many queries, from the first on, the last two are taken over.
    """

    scores: Spectra
    weights: Spectra
    uniform: Spectra
    n_rows: int


def layer_spectra(trace: AttentionTrace, among: int | None = None) -> LayerSpectra:
    """Singular values before and after the softmax.

    Parameters
    ----------
    trace
        A layer.
    among
        How many heads are looked at together, those of other layers too, so that fewer queries are taken of each;
        those of this layer where it is left out.

    Notes
    -----
    Before the softmax a head has no more directions than columns: the rank of a product is at most that of its thinner
    factor. The softmax is taken number by number and keeps no such bound.

    References
    ----------
    Bhojanapalli et al. 2020, section 3; Dong et al. 2021, section 2.
    """
    weights, uniform = weight_spectra(trace, among)
    return LayerSpectra(score_spectra(trace), weights, uniform, weights.shape[0])


def score_spectra(trace: AttentionTrace) -> Spectra:
    """Singular values of query times key times the scale, from the thin factors: the product is never made."""
    values = abs(trace.scale) * product_values(trace.query, trace.key)
    return Spectra(values, (trace.n_q, trace.n_k), float(np.finfo(trace.query.dtype).eps))


def matrix_spectra(trace: AttentionTrace) -> tuple[Spectra, Spectra]:
    """Singular values of W_Q W_Kᵀ, which says what a head looks for, and of W_V W_O, which says what it writes.

    Notes
    -----
    Neither depends on the input; biases and a rotation between W_Q and W_K are left out.

    References
    ----------
    Elhage et al. 2021, section “Splitting attention head terms into circuits”.
    """
    origin, n_heads, n_kv_heads = trace.origin, trace.n_heads, len(trace.key)
    W_Q, W_K, W_V, W_O = (to.W for to in (origin.to_query, origin.to_key, origin.to_value, origin.to_output))
    looks = product_values(split_heads(W_Q, n_heads), split_heads(W_K, n_kv_heads))
    writes = product_values(split_heads(W_O.T, n_heads), split_heads(W_V, n_kv_heads))
    eps = float(np.finfo(W_Q.dtype).eps)
    return Spectra(looks, (len(W_Q), len(W_K)), eps), Spectra(writes, (len(W_V), W_O.shape[1]), eps)


def product_values(left: Queries, right: Keys) -> Float[np.ndarray, "head value"]:
    """Singular values of left times right transposed, for each head, in float64.

    Parameters
    ----------
    left, right
        `(head, row, column)` each, with few columns; where `right` has fewer heads each serves several consecutive
        ones of `left`.

    Notes
    -----
    With left = Q₁ R₁ and right = Q₂ R₂, Q with orthonormal columns, the product has the singular values of the small
    R₁ R₂ᵀ (Golub & Van Loan 1996, section 5.2).

    Examples
    --------
    >>> x = np.array([[[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]])
    >>> product_values(x, x)
    array([[4., 1.]])
    """
    group = len(left) // len(right)
    cells = left.shape[2] * max(group * left.shape[1], right.shape[1])
    step = max(1, MOST_CELLS // max(cells, 1))
    found: list[Float[np.ndarray, "head value"]] = []
    for start in range(0, len(right), step):
        kv = slice(start, min(start + step, len(right)))
        small = _triangle(left[kv.start * group : kv.stop * group])
        other = np.repeat(_triangle(right[kv]), group, axis=0)
        found.append(singular_values(np.matmul(small, other.transpose(0, 2, 1))))
    return np.concatenate(found)


def _triangle(factor: Float[np.ndarray, "head row column"]) -> Float[np.ndarray, "head small column"]:
    """R of factor = Q R, in float64; NaN where a number is not finite."""
    wide = factor.astype(np.float64)
    is_finite = _finite(wide)
    return np.where(is_finite, np.linalg.qr(np.where(is_finite, wide, 0.0), mode="r"), np.nan)


def _finite(matrices: Float[np.ndarray, "head row column"]) -> Bool[np.ndarray, "head 1 1"]:
    """Whether every number of each matrix is finite."""
    return np.all(np.isfinite(matrices), axis=(1, 2), keepdims=True)


def singular_values(matrices: Float[np.ndarray, "head row column"]) -> Float[np.ndarray, "head value"]:
    """Singular values of each matrix, the largest first; NaN where a number is not finite.

    >>> singular_values(np.array([[[0.0, 2.0], [1.0, 0.0]], [[np.nan, 0.0], [0.0, 0.0]]]))
    array([[ 2.,  1.],
           [nan, nan]])
    """
    is_finite = _finite(matrices)
    values = np.linalg.svd(np.where(is_finite, matrices, 0.0), compute_uv=False)
    return np.where(is_finite[:, 0], values, np.nan)


def rows_taken(n_heads: int, n_q: int, n_k: int) -> int:
    """How many queries, from the first on, singular values of the weights are taken over.

    Notes
    -----
    At most 512, and so few that neither a head's part of the map (2²² weights) nor the work for all heads
    (heads · rows² · keys ≤ 2³¹) gets too large.

    >>> rows_taken(8, 11, 11), rows_taken(12, 512, 512), rows_taken(16, 2048, 2048)
    (11, 512, 256)
    """
    return max(1, min(n_q, MOST_ROWS, MOST_CELLS // n_k, isqrt(MOST_WORK // (n_heads * n_k))))


def weight_spectra(trace: AttentionTrace, among: int | None = None) -> tuple[Spectra, Spectra]:
    """Singular values of the weights, and of a head uniform over the allowed keys by the same code on the same mask.

    Notes
    -----
    Over the first queries only where there are many (`rows_taken`), with all of their keys.
    """
    n_rows = rows_taken(among or trace.n_heads, trace.n_q, trace.n_k)
    shape, eps = (n_rows, trace.n_k), float(np.finfo(trace.query.dtype).eps)
    masked = 1 if has_one_mask(trace) else trace.n_heads
    weights = _over_heads(trace, range(trace.n_heads), n_rows, lambda rows: rows.weights)
    uniform = _over_heads(trace, range(masked), n_rows, lambda rows: uniform_rows(rows).weights)
    return Spectra(weights, shape, eps), Spectra(uniform, shape, eps)


def has_one_mask(trace: AttentionTrace) -> bool:
    """Whether all heads share one mask."""
    mask_of = trace.scorer.pairs.mask_of
    return mask_of is None or len(mask_of(slice(0, 1))) == 1


def _over_heads(
    trace: AttentionTrace, heads: range, n_rows: int, taken: Callable[[Rows], Weights]
) -> Float[np.ndarray, "head value"]:
    """Singular values of what is taken of the first rows of these heads, few heads at a time."""
    step = max(1, MOST_CELLS // (n_rows * trace.n_k))
    found: list[Float[np.ndarray, "head value"]] = []
    for start in range(0, len(heads), step):
        some = heads[start : start + step]
        maps = np.zeros((len(some), n_rows, trace.n_k))

        def copied(rows: Rows, which: range, maps: Float[np.ndarray, "head row k"] = maps) -> None:
            columns = slice(int(rows.keys[0]), int(rows.keys[-1]) + 1)
            maps[:, which.start : which.stop, columns] = taken(rows)

        for _ in trace.each_block(copied, heads=some, rows=range(n_rows)):
            pass
        found.append(singular_values(maps))
    return np.concatenate(found)
