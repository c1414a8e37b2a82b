"""Where a query looks, seen from its own place; each measure a value for each query, NaN where it is not defined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from attnviz.core.rows import Rows
from attnviz.metrics.baseline import most_beyond_uniform, where_defined
from attnviz.registries import METRICS
from attnviz.shapes import PerQuery


def weight_beside(rows: Rows, offset: int) -> PerQuery:
    """Weight that each query gives to the key at some place beside it; NaN where there is no such key."""
    keys = rows.places + offset
    inside = (keys >= rows.keys[0]) & (keys <= rows.keys[-1])
    column = np.clip(keys - rows.keys[0], 0, len(rows.keys) - 1)
    weights = np.where(inside, rows.weights[:, np.arange(len(keys)), column], 0.0)
    exists = (keys >= 0) & (keys < rows.n_k) & (rows.n_allowed > 0)
    return np.where(exists, weights, np.nan)


def mean_of_offset(rows: Rows, values_of: Callable[[np.ndarray], np.ndarray]) -> PerQuery:
    """Mean, under each query's attention, of a function of how many places after the query a key stands."""
    offsets = np.arange(rows.keys[0] - rows.places[-1], rows.keys[-1] - rows.places[0] + 1)
    values = sliding_window_view(values_of(offsets).astype(rows.weights.dtype), len(rows.keys))[::-1]
    return where_defined(rows.weighted_sum(values), rows)


@METRICS.register(
    label="On the previous token",
    group="Place",
    source="Clark et al. 2019, section 3.1",
    formula="w of key q − 1",
)
def previous_token(rows: Rows) -> PerQuery:
    """How much of its attention a query gives to the token before it, from 0 to 1."""
    return weight_beside(rows, -1)


@METRICS.register(
    label="On the token itself",
    group="Place",
    source="Clark et al. 2019, section 3.1",
    formula="w of key q",
)
def own_token(rows: Rows) -> PerQuery:
    """How much of its attention a query gives to its own place, from 0 to 1."""
    return weight_beside(rows, 0)


@METRICS.register(
    label="On the next token",
    group="Place",
    source="Clark et al. 2019, section 3.1",
    formula="w of key q + 1",
)
def next_token(rows: Rows) -> PerQuery:
    """How much of its attention a query gives to the token after it, from 0 to 1."""
    return weight_beside(rows, 1)


@METRICS.register(
    label="On the sink",
    group="Place",
    source="Xiao et al. 2024, section 3.1",
    formula="w of the key with the largest Σ (w − uniform w) over the queries",
)
def sink_mass(rows: Rows) -> PerQuery:
    """How much of its attention a query parks on its head's favourite key, whichever that is, from 0 to 1.

    Notes
    -----
    The sink of a head is the key that receives most beyond what a head uniform over the allowed keys gives it: under a
    causal mask the first keys receive much from any head. For one head the baseline is the uniform weight on that key.
    """
    sinks = rows.facts.sink_keys
    if sinks is None:
        sinks = most_beyond_uniform(rows.real or rows)
    weights = np.broadcast_to(rows.weights, (len(sinks), *rows.weights.shape[1:]))
    inside = (sinks >= rows.keys[0]) & (sinks <= rows.keys[-1])
    columns = np.clip(sinks - rows.keys[0], 0, len(rows.keys) - 1)
    on_sink = np.take_along_axis(weights, columns[:, None, None], axis=2)[..., 0].astype(np.float64)
    return where_defined(np.where(inside[:, None], on_sink, 0.0), rows)


@METRICS.register(
    label="Diagonality",
    group="Place",
    source="Zhang et al. 2021 (diagonality); in this form Shim et al. 2022 (cumulative attention diagonality)",
    formula="Σ w · (1 − |q − k| / n), over n keys",
)
def diagonality(rows: Rows) -> PerQuery:
    """How close a query's attention stays to its own place: 1 on itself, near 0 at the other end of a long text.

    Notes
    -----
    The share of the attention that is at most r places away, as a mean over r = 0, 1, … n − 1.
    """
    return mean_of_offset(rows, lambda offsets: 1 - np.abs(offsets) / rows.n_k)
