"""The head that knows nothing, and how values per query become one number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from attnviz.core.rows import Rows
from attnviz.shapes import HeadMask, PerHead, PerQuery, Weights


def uniform_weights(mask: HeadMask) -> Weights:
    """Weights of a head that spreads each query evenly over its allowed keys: the baseline of every measure.

    >>> uniform_weights(np.tril(np.ones((1, 3, 3), bool)))[0].round(2)
    array([[1.  , 0.  , 0.  ],
           [0.5 , 0.5 , 0.  ],
           [0.33, 0.33, 0.33]])
    """
    allowed = mask.sum(axis=-1, keepdims=True)
    return mask / np.maximum(allowed, 1)


def uniform_rows(rows: Rows) -> Rows:
    """The same rows of a head that is uniform over the allowed keys, in the same layer."""
    nats = np.log(np.maximum(rows.n_allowed, 1))
    return replace(rows, weights=uniform_weights(rows.mask), nats=nats, real=rows)


def most_beyond_uniform(rows: Rows) -> Int[np.ndarray, " head"]:
    """For each head the key that gets most from these queries beyond what the uniform head gives it."""
    beyond = rows.weights.sum(axis=1, dtype=np.float64) - uniform_weights(rows.mask).sum(axis=1)
    return rows.keys[beyond.argmax(axis=1)]


def where_defined(values: PerQuery, rows: Rows, least_keys: int = 1) -> PerQuery:
    """Values of a measure, NaN for queries with fewer allowed keys than it needs."""
    return np.where(np.broadcast_to(rows.n_allowed >= least_keys, values.shape), values, np.nan)


def mean_over_queries(values: PerQuery) -> PerHead:
    """Mean of a measure over the queries for which it is defined; NaN where it is for none.

    >>> mean_over_queries(np.array([[np.nan, 1.0, 3.0], [np.nan, np.nan, np.nan]]))
    array([ 2., nan])
    """
    defined = ~np.isnan(values)
    count = defined.sum(axis=1)
    total = np.where(defined, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def mean_of_defined(values: PerHead) -> float:
    """Mean over the heads for which something is defined; NaN where it is for none."""
    return float(mean_over_queries(values[None])[0])
