"""Measures of one head's map, a value for each query; NaN where a query has no allowed key.

A measure gets some rows of some heads at a time, and so works on maps of any length.
"""

from __future__ import annotations

import numpy as np

from attnviz.core.rows import Rows
from attnviz.metrics.baseline import where_defined
from attnviz.metrics.places import mean_of_offset
from attnviz.registries import METRICS
from attnviz.registry import Annotated, Range
from attnviz.shapes import PerQuery

LONG_ROW = 4096
N_CHUNKS = 512


@METRICS.register(
    label="Entropy",
    group="Focus",
    source="Clark et al. 2019, section 3.3",
    unit="bits",
    formula="−Σ w log₂ w",
)
def entropy(rows: Rows) -> PerQuery:
    """How spread out a query's attention is: 0 bits on one key, log2(n) bits evenly over n keys.

    Notes
    -----
    -sum_k w log2 w with 0 log 0 = 0, in bits.
    """
    return where_defined(rows.entropy_nats() / np.log(2.0), rows)


@METRICS.register(
    label="Entropy in nats",
    group="Focus",
    source="Clark et al. 2019, section 3.3",
    unit="nats",
    formula="−Σ w ln w",
)
def entropy_nats(rows: Rows) -> PerQuery:
    """How spread out a query's attention is: 0 nats on one key, ln(n) nats evenly over n keys.

    Notes
    -----
    -sum_k w ln w with 0 ln 0 = 0; entropy in bits times ln 2.
    """
    return where_defined(rows.entropy_nats(), rows)


@METRICS.register(
    label="Normalised entropy",
    group="Focus",
    source="Clark et al. 2019, section 3.3",
    formula="entropy / log₂(number of allowed keys)",
)
def normalised_entropy(rows: Rows) -> PerQuery:
    """Entropy as a share of the most that the mask allows: 0 on one key, 1 evenly over all allowed keys.

    Notes
    -----
    Divided by log2 of the number of allowed keys; not defined for a query that may attend to one key only.
    """
    share = rows.entropy_nats() / np.log(np.maximum(rows.n_allowed, 2))
    return where_defined(share, rows, least_keys=2)


@METRICS.register(
    label="Largest weight",
    group="Focus",
    source="Voita et al. 2019, section 4",
    formula="max w",
)
def largest_weight(rows: Rows) -> PerQuery:
    """How much of its attention a query gives to its favourite key, from 0 to 1."""
    return where_defined(rows.weights.max(axis=-1).astype(np.float64), rows)


@METRICS.register(
    label="Top mass",
    group="Focus",
    source="Zhang et al. 2023 (H2O), section 3.1",
    formula="sum of the m largest w, with m = top",
)
def top_mass(rows: Rows, *, top: Annotated[int, Range(1, 64, unit="keys")] = 5) -> PerQuery:
    """How much of its attention a query gives to its few favourite keys together, from 0 to 1.

    Parameters
    ----------
    top
        How many favourite keys are counted.

    Notes
    -----
    Exact. In a long row each of them stands in one of as many chunks with the largest maxima, so that only these are
    sorted.
    """
    n_heads, n_q, n_k = rows.weights.shape
    weights = rows.weights.reshape(n_heads * n_q, n_k)
    if n_k >= LONG_ROW:
        whole = n_k // N_CHUNKS * N_CHUNKS
        peaks = weights[:, :whole].reshape(len(weights), -1, N_CHUNKS).max(axis=1)
        best = np.argpartition(peaks, N_CHUNKS - top, axis=1)[:, N_CHUNKS - top :]
        members = best[:, :, None] + np.arange(0, whole, N_CHUNKS)
        taken = weights[np.arange(len(weights))[:, None], members.reshape(len(weights), -1)]
        weights = np.concatenate([taken, weights[:, whole:]], axis=1)
    if weights.shape[1] > top:
        weights = np.partition(weights, weights.shape[1] - top, axis=1)[:, -top:]
    return where_defined(weights.sum(axis=1, dtype=np.float64).reshape(n_heads, n_q), rows)


@METRICS.register(
    label="On the first key",
    group="Focus",
    source="Xiao et al. 2024, section 3.1",
    formula="w of key 0",
)
def first_key(rows: Rows) -> PerQuery:
    """How much of its attention a query parks on the first key, from 0 to 1: large in a head that has a sink there."""
    on_first = rows.weights[..., 0] if rows.keys[0] == 0 else np.zeros(rows.weights.shape[:2])
    return where_defined(on_first.astype(np.float64), rows)


@METRICS.register(
    label="Mean distance",
    group="Distance",
    source="Vig & Belinkov 2019, section 4.3",
    unit="tokens",
    formula="Σ w · |q − k|",
)
def mean_distance(rows: Rows) -> PerQuery:
    """How far away a query looks on average, counted in tokens.

    Notes
    -----
    sum_k w |q - k|, the query's place aligned to the end of the keys.
    """
    return mean_of_offset(rows, np.abs)


@METRICS.register(
    label="Mean distance back",
    group="Distance",
    source="Vig & Belinkov 2019, section 4.3",
    unit="tokens",
    formula="Σ w · (q − k)",
)
def distance_back(rows: Rows) -> PerQuery:
    """How far back a query looks on average, counted in tokens; below 0 it looks ahead."""
    return mean_of_offset(rows, np.negative)


@METRICS.register(
    label="Mean distance in the image",
    group="Distance",
    source="Dosovitskiy et al. 2021, section 4.5",
    unit="patches",
    formula="Σ w · ‖p(q) − p(k)‖, p the line and column of a patch",
)
def distance_in_image(rows: Rows) -> PerQuery:
    """How far away in the image a query looks on average, where the tokens are patches, line by line.

    Notes
    -----
    Not defined where the tokens are not read as patches of an image; the position method says that they are.
    """
    width = rows.facts.grid_width
    if width is None:
        return np.full(rows.weights.shape[:2], np.nan)
    lines, columns = (of(rows.places, width)[:, None] - of(rows.keys, width) for of in (np.floor_divide, np.remainder))
    return where_defined(rows.weighted_sum(np.hypot(lines, columns).astype(rows.weights.dtype)), rows)
