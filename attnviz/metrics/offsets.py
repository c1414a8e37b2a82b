"""How far from a query its attention lies, as a distribution: means alone cannot tell heads apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_weights
from attnviz.shapes import MapPart


@dataclass(frozen=True, eq=False)
class Offsets:
    """Share of a head's attention at each offset of the key from the query.

    Attributes
    ----------
    offsets
        Place of the key less that of the query, in tokens, from the first key seen from the last query on.
    share, uniform
        Sum of the weights of all pairs with this offset, over the number of queries that have a key; of the head, and
        of a head uniform over the allowed keys.
    """

    offsets: Int[np.ndarray, " offset"]
    share: Float[np.ndarray, " offset"]
    uniform: Float[np.ndarray, " offset"]


def offsets_of(trace: AttentionTrace, head: int) -> Offsets:
    """Where a head's attention lies, seen from the query, in one pass over the rows of that head.

    Parameters
    ----------
    trace
        A layer; of a long one the rows are computed on the way.
    head
        Which of its heads.

    Notes
    -----
    The queries stand at the end of the keys where there are fewer of them. The mean of |offset| under the share is
    the head's mean distance where each row of weights sums to 1.

    References
    ----------
    Vig & Belinkov 2019, section 4.3.

    Examples
    --------
    >>> from attnviz import AttentionConfig, attend
    >>> found = offsets_of(attend(AttentionConfig(("to", "be", "or"), sharpness=0.0)), 0)
    >>> found.offsets, found.share.round(3)
    (array([-2, -1,  0,  1,  2]), array([0.111, 0.278, 0.611, 0.   , 0.   ]))
    """
    first = 1 - trace.n_k
    share = np.zeros(trace.n_q + trace.n_k - 1)
    uniform = np.zeros_like(share)
    n_rows = 0

    def work(rows: Rows, which: range) -> tuple[int, MapPart, int]:
        del which
        sums = np.stack([by_offset(rows.weights[0]), by_offset(uniform_weights(rows.mask)[0])])
        return int(rows.keys[0] - rows.places[-1]), sums, int((rows.n_allowed > 0).sum())

    for start, sums, count in trace.each_block(work, heads=range(head, head + 1)):
        part = slice(start - first, start - first + sums.shape[1])
        share[part] += sums[0]
        uniform[part] += sums[1]
        n_rows += count
    offsets = np.arange(first, first + len(share))
    return Offsets(offsets, share / max(n_rows, 1), uniform / max(n_rows, 1))


def by_offset(weights: MapPart) -> Float[np.ndarray, " offset"]:
    """Sum along each diagonal, from the one of the last row and first column on.

    >>> by_offset(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 5., 2.])
    """
    n_q, n_k = weights.shape
    width = n_q + n_k - 1
    sheared = np.zeros(n_q * (width + 1))
    sheared.reshape(n_q, width + 1)[:, :n_k] = weights[::-1]
    return sheared[: n_q * width].reshape(n_q, width).sum(axis=0)
