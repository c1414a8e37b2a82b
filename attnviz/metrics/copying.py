"""Whether a head writes what it reads: the eigenvalues of its way from a word to the words."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from attnviz.core.projections import split_heads
from attnviz.core.trace import AttentionTrace
from attnviz.shapes import PerHead

SOURCE = "Elhage et al. 2021, section “Summarizing OV/QK matrices”"
FORMULA = "Σ Re λ / Σ |λ|, λ the eigenvalues of E W_V W_O Eᵀ"


def copying_scores(trace: AttentionTrace, word_products: Float[np.ndarray, "d_model d_model"]) -> PerHead:
    """How far each head makes the words that it reads more likely: 1 does nothing else, −1 the reverse, 0 at random.

    Parameters
    ----------
    trace
        A layer whose x is made of words.
    word_products
        Eᵀ E of the table of word vectors E `(word, d_model)`, their mean taken off, by which words are read off too.

    Returns
    -------
    PerHead
        Sum of the eigenvalues over the sum of their sizes, no unit; NaN where all are 0.

    Notes
    -----
    E W_V W_O Eᵀ is `(word, word)`; its eigenvalues other than 0 are those of W_O Eᵀ E W_V, `(d_value, d_value)`. It is
    the way through this head alone: LayerNorm, biases, positions and all other layers are left out.

    References
    ----------
    Elhage et al. 2021, section “Summarizing OV/QK matrices”.
    """
    origin, n_heads = trace.origin, trace.n_heads
    reads = split_heads(origin.to_value.W.astype(np.float64), len(trace.value))
    writes = split_heads(origin.to_output.W.T.astype(np.float64), n_heads)
    read_by_each = np.repeat(reads, n_heads // len(reads), axis=0)
    small = np.matmul(writes.transpose(0, 2, 1), np.matmul(word_products.astype(np.float64), read_by_each))
    eigenvalues = np.linalg.eigvals(small)
    size = np.abs(eigenvalues).sum(axis=1)
    return np.where(size > 0, eigenvalues.real.sum(axis=1) / np.where(size > 0, size, 1.0), np.nan)
