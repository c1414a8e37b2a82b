"""The softmax over allowed keys."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float

PIECE = 1024
SMALL_SCORE = 64.0


@lru_cache(maxsize=8)
def limits(dtype: np.dtype[np.floating]) -> tuple[float, float]:
    """Below the first an exponential is no normal number; the second stands for minus infinity, and can be added to.

    >>> [f"{limit:.4g}" for limit in limits(np.dtype(np.float32))]
    ['-87.34', '-1.701e+38']
    """
    info = np.finfo(dtype)
    return float(np.log(np.float64(info.tiny))), float(info.min) / 2


def masked_softmax(
    scores: Float[np.ndarray, "*rows k"], mask: Bool[np.ndarray, "..."] | None = None
) -> Float[np.ndarray, "*rows k"]:
    """Weights of each row over its allowed keys; a row with no allowed key is all 0.

    Notes
    -----
    exp(s - max s) / sum, the maximum and the sum over allowed keys only, so that no score overflows and a
    forbidden key may hold NaN or inf without effect.

    Examples
    --------
    >>> masked_softmax(np.array([[1000.0, 999.0, 0.0]])).round(4)
    array([[0.7311, 0.2689, 0.    ]])
    >>> masked_softmax(np.zeros((2, 2)), np.array([[True, False], [False, False]]))
    array([[1., 0.],
           [0., 0.]])
    """
    weights = np.empty_like(scores)
    with np.errstate(over="ignore", invalid="ignore"):
        softmax_into(weights, scores.copy(), None if mask is None else np.broadcast_to(mask, scores.shape))
    return weights


def softmax_into(
    weights: Float[np.ndarray, "*rows k"],
    scores: Float[np.ndarray, "*rows k"],
    mask: Bool[np.ndarray, "..."] | None = None,
    *,
    sink: Float[np.ndarray, "..."] | None = None,
    largest: float = np.inf,
    shifted: Float[np.ndarray, "*rows k"] | None = None,
) -> Float[np.ndarray, "*rows"] | None:
    """Write the softmax of `scores`, which are used up, into `weights`.

    Parameters
    ----------
    weights, scores
        May be the same array, but for the entropy.
    mask
        True = may attend; broadcasts to the scores.
    sink
        Logit of one more key that takes its part of each row and is not shown; broadcasts to the rows.
    largest
        A bound on the size of the scores, of forbidden pairs too: where it is small no score can overflow the
        exponential, and no maximum need be taken off.
    shifted
        Room for the scores less the largest of their row, which may be that of the scores, where the entropy of each
        row (nats) is wanted.

    Notes
    -----
    Entropy from the scores, without a logarithm of each weight: with Z the sum and w = exp(s) / Z, it is
    (sum of w) ln Z - sum of w s.

    Scores more than 87 below the largest of their row count as 87 below (708 in float64): their exponentials would be
    denormal numbers, which are slow, and are less than 10^-37 either way.
    """
    with_entropy = shifted is not None
    room = weights if shifted is None else shifted
    if max(largest, 0.0 if sink is None else float(np.abs(sink).max())) <= SMALL_SCORE:
        np.exp(scores, out=weights, casting="same_kind")
        rest = 0.0 if sink is None else np.exp(sink)
        room = scores
    else:
        lowest, forbidden = limits(weights.dtype)
        if mask is not None and largest < -forbidden / 4:
            scores += np.multiply(~mask, forbidden, dtype=weights.dtype)
        elif mask is not None:
            np.copyto(scores, forbidden, where=~mask)
        highest = scores.max(axis=-1, keepdims=True, initial=forbidden)
        if sink is not None:
            highest = np.maximum(highest, sink)
        highest[highest <= forbidden / 2] = 0
        np.subtract(scores, highest, out=room, casting="same_kind")
        if -lowest < 2 * largest < np.inf:
            np.maximum(room, np.full(room.shape[-1], lowest, dtype=room.dtype), out=room)
        np.exp(room, out=weights)
        rest = 0.0 if sink is None else np.exp(sink - highest)
    if mask is not None:
        weights *= mask
    mass = (weights @ np.ones(weights.shape[-1], dtype=weights.dtype))[..., None]
    total = mass + rest
    total[total == 0] = 1
    weights /= total.astype(weights.dtype)
    if not with_entropy:
        return None
    if not np.isfinite(largest):
        room[weights == 0] = 0
    share, total = (mass / total)[..., 0].astype(np.float64), total[..., 0].astype(np.float64)
    return np.maximum(share * np.log(total) - summed_product(weights, room), 0.0)


def summed_product(left: Float[np.ndarray, "*rows k"], right: Float[np.ndarray, "..."]) -> Float[np.ndarray, "*rows"]:
    """Sum over the last axis of the products, in float64 over pieces of 1024.

    >>> summed_product(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]))
    array([11.])
    """
    pieces = [slice(start, start + PIECE) for start in range(0, left.shape[-1], PIECE)]
    if len(pieces) == 1:
        return np.vecdot(left, right).astype(np.float64)
    total = np.zeros(np.broadcast_shapes(left.shape, right.shape)[:-1])
    for piece in pieces:
        total += np.vecdot(left[..., piece], right[..., piece])
    return total
