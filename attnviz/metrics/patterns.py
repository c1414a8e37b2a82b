"""Measures of one head's map, a value for each query; NaN where a query has no allowed key."""

from __future__ import annotations

import numpy as np

from attnviz.metrics.blocks import row_blocks
from attnviz.registries import METRICS
from attnviz.shapes import HeadMask, PerQuery, Weights


def _where_defined(values: PerQuery, mask: HeadMask, least_keys: int = 1) -> PerQuery:
    defined = np.broadcast_to(mask.sum(axis=-1) >= least_keys, values.shape)
    return np.where(defined, values, np.nan)


@METRICS.register(
    label="Entropy",
    group="Focus",
    source="Clark et al. 2019, section 3.2",
    unit="bits",
    formula="−Σ w log₂ w",
)
def entropy(weights: Weights, mask: HeadMask) -> PerQuery:
    """How spread out a query's attention is: 0 bits on one key, log2(n) bits evenly over n keys.

    Notes
    -----
    -sum_k w log2 w with 0 log 0 = 0, in bits.
    """
    values = np.empty(weights.shape[:2])
    for head, rows in row_blocks(weights):
        w = weights[head, rows].astype(np.float64)
        logs = np.log2(w, out=np.zeros_like(w), where=w > 0)
        values[head, rows] = np.abs(np.vecdot(w, logs))
    return _where_defined(values, mask)


@METRICS.register(
    label="Normalised entropy",
    group="Focus",
    source="Clark et al. 2019, section 3.2",
    formula="entropy / log₂(number of allowed keys)",
)
def normalised_entropy(weights: Weights, mask: HeadMask) -> PerQuery:
    """Entropy as a share of the most that the mask allows: 0 on one key, 1 evenly over all allowed keys.

    Notes
    -----
    Divided by log2 of the number of allowed keys; not defined for a query that may attend to one key only.
    """
    allowed = np.broadcast_to(mask.sum(axis=-1), weights.shape[:2])
    share = entropy(weights, mask) / np.log2(np.maximum(allowed, 2))
    return _where_defined(share, mask, least_keys=2)


@METRICS.register(
    label="Largest weight",
    group="Focus",
    source="Voita et al. 2019, section 4",
    formula="max w",
)
def largest_weight(weights: Weights, mask: HeadMask) -> PerQuery:
    """How much of its attention a query gives to its favourite key, from 0 to 1."""
    return _where_defined(weights.max(axis=-1).astype(np.float64), mask)


@METRICS.register(
    label="Mean distance",
    group="Distance",
    source="Vig & Belinkov 2019, section 4.3",
    unit="tokens",
    formula="Σ w · |q − k|",
)
def mean_distance(weights: Weights, mask: HeadMask) -> PerQuery:
    """How far away a query looks on average, counted in tokens.

    Notes
    -----
    sum_k w |q - k|, the query's place aligned to the end of the keys.
    """
    _, n_q, n_k = weights.shape
    q = np.arange(n_q)[:, None] + (n_k - n_q)
    distance = np.abs(q - np.arange(n_k)[None, :]).astype(np.float64)
    values = np.empty(weights.shape[:2])
    for head, rows in row_blocks(weights):
        values[head, rows] = np.vecdot(weights[head, rows].astype(np.float64), distance[rows])
    return _where_defined(values, mask)
