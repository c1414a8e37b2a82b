"""How many keys a query's attention is spread over; each measure a value for each query, NaN where it has no key."""

from __future__ import annotations

import numpy as np

from attnviz.core.rows import Rows
from attnviz.metrics.baseline import where_defined
from attnviz.registries import METRICS
from attnviz.registry import Annotated, Range
from attnviz.shapes import PerQuery

ROUNDING = 1e-6
NOTHING = 1e-12


def _rounded(values: PerQuery) -> PerQuery:
    """Values with 0 for what is 0 but for rounding."""
    return np.where(np.abs(values) < NOTHING, 0.0, values)


@METRICS.register(
    label="Effective keys",
    group="Focus",
    source="Hill 1973 (number of order 1); entropy of attention: Clark et al. 2019, section 3.3",
    unit="keys",
    formula="exp(−Σ w ln w)",
)
def effective_keys(rows: Rows) -> PerQuery:
    """How many keys a query looks at, counted by their weight: 1 on one key, n evenly over n keys."""
    return where_defined(np.exp(rows.entropy_nats()), rows)


@METRICS.register(
    label="Keys needed",
    group="Focus",
    source="Lorenz 1905 (read from the curve of cumulated shares)",
    unit="keys",
    formula="least m with (m largest w) ≥ share · Σ w",
)
def keys_for_most(rows: Rows, *, share: Annotated[float, Range(0.5, 0.99, step=0.01)] = 0.9) -> PerQuery:
    """How few keys hold most of a query's attention.

    Parameters
    ----------
    share
        Share of the attention that they hold together.

    Notes
    -----
    The sum is compared with the share less a millionth, so that rounding does not add a key.
    """
    cumulated = np.cumsum(rows.ascending[..., ::-1], axis=-1)
    enough = cumulated < (share - ROUNDING) * cumulated[..., -1:]
    return where_defined(1.0 + enough.sum(axis=-1), rows)


@METRICS.register(
    label="Sum of squares",
    group="Focus",
    source="Simpson 1949",
    formula="Σ w²",
)
def sum_of_squares(rows: Rows) -> PerQuery:
    """How concentrated a query's attention is: 1 on one key, 1/n evenly over n keys.

    Notes
    -----
    The chance that two keys drawn by their weights are the same one.
    """
    return where_defined(np.vecdot(rows.ascending, rows.ascending), rows)


@METRICS.register(
    label="Gini coefficient",
    group="Focus",
    source="Hurley & Rickard 2009, table I",
    formula="2 Σ i w₍ᵢ₎ / (n Σ w) − (n + 1) / n, over the n allowed keys in ascending order",
)
def gini(rows: Rows) -> PerQuery:
    """How unevenly a query's attention is shared out: 0 evenly over the allowed keys, near 1 on one of many."""
    ordered, total = rows.ascending, rows.ascending.sum(axis=-1)
    n_columns, n_allowed = ordered.shape[-1], rows.n_allowed
    rank = np.arange(1, n_columns + 1) - (n_columns - n_allowed)[..., None]
    weighted = (rank * ordered).sum(axis=-1)
    count = np.maximum(n_allowed, 1)
    share = 2.0 * weighted / np.where(total > 0, count * total, 1.0) - (count + 1.0) / count
    return where_defined(_rounded(np.where(total > 0, share, 0.0)), rows)


@METRICS.register(
    label="Hoyer sparsity",
    group="Focus",
    source="Hoyer 2004; Hurley & Rickard 2009, table I",
    formula="(√n − Σ w / √(Σ w²)) / (√n − 1), over the n allowed keys",
)
def hoyer(rows: Rows) -> PerQuery:
    """How sparse a query's attention is: 0 evenly over the allowed keys, 1 on a single one.

    Notes
    -----
    Not defined for a query that may attend to one key only.
    """
    wide = rows.weights.astype(np.float64)
    norm = np.sqrt((wide * wide).sum(axis=-1))
    ratio = wide.sum(axis=-1) / np.where(norm > 0, norm, 1.0)
    root = np.sqrt(np.maximum(rows.n_allowed, 2))
    return where_defined(_rounded(np.where(norm > 0, (root - ratio) / (root - 1.0), 0.0)), rows, least_keys=2)
