"""Attention rollout: what the output of a layer is made of in the input, if attention were all that moves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_weights
from attnviz.shapes import KPositions, MapPart, Matrix

RESIDUAL = 0.5


class MeanMaps(NamedTuple):
    """Mean over the heads of a layer's weights, and of those of heads uniform over the allowed keys; `(q, k)`."""

    weights: Matrix
    uniform: Matrix


def mean_maps(trace: AttentionTrace) -> MeanMaps:
    """The mean of all heads of a layer, in float64."""
    maps = MeanMaps(np.zeros((trace.n_q, trace.n_k)), np.zeros((trace.n_q, trace.n_k)))

    def work(rows: Rows, which: range) -> tuple[range, KPositions, MapPart, MapPart]:
        return which, rows.keys, rows.weights.mean(axis=0, dtype=np.float64), uniform_weights(rows.mask).mean(axis=0)

    for which, keys, weights, uniform in trace.each_block(work):
        place = (slice(which.start, which.stop), slice(int(keys[0]), int(keys[-1]) + 1))
        maps.weights[place], maps.uniform[place] = weights, uniform
    return maps


def with_residual(weights: Matrix, residual: float = RESIDUAL) -> Matrix:
    """Attention and the residual connection beside it, as one map whose rows sum to 1.

    Parameters
    ----------
    weights
        Square: each token looks at the same tokens. A row of zeros keeps the token as it is.
    residual
        Share of a layer's output that is its own input, at least 0 and less than 1.

    References
    ----------
    Abnar & Zuidema 2020, section 3: A = 0.5 W + 0.5 I, rows normalised.

    Examples
    --------
    >>> with_residual(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    mixed = (1 - residual) * weights.astype(np.float64) + residual * np.eye(len(weights))
    total = mixed.sum(axis=1, keepdims=True)
    empty = total[:, 0] == 0
    mixed[empty, empty] = total[empty] = 1.0
    return mixed / total


def rollout(maps: Sequence[Matrix], residual: float = RESIDUAL) -> tuple[Matrix, ...]:
    """For each layer, the share of each input token in each token that leaves it; rows sum to 1.

    Parameters
    ----------
    maps
        Weights of each layer from the first to the last, square and of the same size: the mean over its heads, or
        one of them.
    residual
        Share of a layer's output that is its own input.

    Notes
    -----
    R_l = A_l R_(l-1) with A_l from `with_residual` and R_0 = I. Values, W_O and the feed-forward part are left out,
    so it says which way attention leads, not what is carried along it.

    References
    ----------
    Abnar & Zuidema 2020, section 3.

    Examples
    --------
    >>> first, second = rollout([np.array([[0.0, 1.0], [0.0, 1.0]])] * 2)
    >>> second
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    reached: list[Matrix] = []
    for weights in maps:
        mixed = with_residual(weights, residual)
        reached.append(mixed @ reached[-1] if reached else mixed)
    return tuple(reached)
