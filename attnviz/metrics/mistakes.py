"""What two classic mistakes with a mask make of the weights: True read as "ignore", and a mask after the softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core import AttentionTrace, scaled_dot_product_attention
from attnviz.shapes import Counts, Mask, MaskRow, PerKey

Sums = Float[np.ndarray, " q"]


@dataclass(frozen=True)
class Misreading:
    """What changes where a mask is read the wrong way round.

    Attributes
    ----------
    n_allowed, n_forbidden
        Pairs that are allowed, and so forbidden by mistake, and the other way round.
    n_future, n_future_misread
        Allowed pairs whose key stands after the query, as meant and as misread.
    rows_without_keys
        Queries that are left without a key by mistake.
    """

    n_allowed: int
    n_forbidden: int
    n_future: int
    n_future_misread: int
    rows_without_keys: Counts


def misread(mask: Mask) -> Misreading:
    """Count what a mask does where True is read as "ignore".

    Notes
    -----
    Queries stand at the end of the keys where there are fewer of them.

    Examples
    --------
    >>> misread(np.tri(3, dtype=bool))
    Misreading(n_allowed=6, n_forbidden=3, n_future=0, n_future_misread=3, rows_without_keys=array([2]))
    """
    n_q, n_k = mask.shape
    is_future = np.arange(n_k) > np.arange(n_k - n_q, n_k)[:, None]
    allowed, future = int(mask.sum()), int((mask & is_future).sum())
    return Misreading(
        n_allowed=allowed,
        n_forbidden=mask.size - allowed,
        n_future=future,
        n_future_misread=int(is_future.sum()) - future,
        rows_without_keys=np.flatnonzero(mask.all(axis=1)),
    )


def row_under(trace: AttentionTrace, head: int, query: int, mask: MaskRow) -> PerKey:
    """Weights of one query over other keys than its mask allows; everything else is as in the layer.

    Parameters
    ----------
    trace
        The layer.
    head, query
        Whose row it is.
    mask
        True = may attend.
    """
    kv_head = trace.kv_head(head)
    found = scaled_dot_product_attention(
        trace.query[head, query][None, None],
        trace.key[kv_head][None],
        trace.value[kv_head][None],
        mask=mask[None],
        bias=trace.row_of_bias(head, query)[None, None] if trace.has_bias else None,
        scale=trace.scale,
        softcap=trace.softcap or None,
        sinks=None if trace.sinks is None else trace.sinks[head : head + 1],
    )
    return found.weights[0, 0]


def row_masked_after(trace: AttentionTrace, head: int, query: int, mask: MaskRow) -> PerKey:
    """Weights of one query where the softmax is over all keys and the forbidden ones are set to 0 only then."""
    return row_under(trace, head, query, np.ones_like(mask)) * mask


def sums_masked_after(trace: AttentionTrace, head: int, mask: Mask) -> Sums:
    """What each row of a head sums to where the mask comes after the softmax.

    Notes
    -----
    Sum over the allowed keys of exp(score), over the sum over all keys. With sinks the row sums to less than 1 anyway.
    """
    kv_head = trace.kv_head(head)
    bias = trace.bias[head if len(trace.bias) > 1 else 0][None] if trace.has_bias else None
    found = scaled_dot_product_attention(
        trace.query[head][None],
        trace.key[kv_head][None],
        trace.value[kv_head][None],
        bias=bias,
        scale=trace.scale,
        softcap=trace.softcap or None,
        sinks=None if trace.sinks is None else trace.sinks[head : head + 1],
    )
    return (found.weights[0] * mask).sum(axis=1, dtype=np.float64)
