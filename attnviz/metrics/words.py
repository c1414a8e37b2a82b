"""Whether a query looks at its own word, or at what followed it; each measure a value for each query.

NaN where there is no such key that the query may look at. Words are compared without upper case.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from attnviz.core.rows import Rows
from attnviz.registries import METRICS
from attnviz.shapes import PerQuery


def same_word(rows: Rows) -> Bool[np.ndarray, "q k"]:
    """Where the key is the query's word, its own place included."""
    queries, keys = rows.words
    return queries[:, None] == keys[rows.keys][None, :]


def same_word_elsewhere(rows: Rows) -> Bool[np.ndarray, "q k"]:
    """Where the key is the query's word at another place."""
    return same_word(rows) & (rows.keys[None, :] != rows.places[:, None])


def after_same_word(rows: Rows) -> Bool[np.ndarray, "q k"]:
    """Where the key stands right after an earlier place of the query's word."""
    queries, keys = rows.words
    before = np.where(rows.keys > 0, keys[rows.keys - 1], -1)
    return (queries[:, None] == before[None, :]) & (rows.keys[None, :] <= rows.places[:, None])


def share_on(places: Bool[np.ndarray, "q k"], rows: Rows, needed: Bool[np.ndarray, "q k"] | None = None) -> PerQuery:
    """Share of each query's attention on these places; NaN where it may look at none of those that are needed."""
    share = rows.weighted_sum(places.astype(rows.weights.dtype))
    defined = (rows.mask & (places if needed is None else needed)).any(axis=-1)
    return np.where(np.broadcast_to(defined, share.shape), share, np.nan)


@METRICS.register(
    label="On the same word",
    group="Words",
    source="duplicate-token heads: Wang et al. 2023, section 3",
    formula="Σ w over other places with the query's word",
)
def same_token(rows: Rows) -> PerQuery:
    """How much of its attention a query gives to other places where its own word stands, from 0 to 1.

    Notes
    -----
    Not defined for a query whose word stands nowhere else, or only where the mask forbids it to look.
    """
    return share_on(same_word_elsewhere(rows), rows)


@METRICS.register(
    label="Induction",
    group="Words",
    source="Olsson et al. 2022, section 2 (prefix matching)",
    formula="Σ w over keys right after an earlier place of the query's word",
)
def induction(rows: Rows) -> PerQuery:
    """How much of its attention a query gives to what followed its word before, as if to go on in the same way.

    Notes
    -----
    In T words that are said twice, the key T - 1 places before the query. Not defined for a query whose word has not
    been said before: counted as 0 these would keep a perfect induction head below 1.
    """
    return share_on(after_same_word(rows), rows)
