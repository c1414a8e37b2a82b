"""Every key of one query, from the product to the weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from attnviz.shapes import PerKey, Tokens
from attnviz.steps.focus import Focus


@dataclass(frozen=True, eq=False)
class QueryRow:
    """One row of a head.

    Attributes
    ----------
    tokens
        The keys.
    products, scores, capped, bias
        Query times key; times the scale; after the soft cap, None without one; what the position method adds.
    allowed, masked
        Which keys the mask allows; scores plus bias of these, NaN for the others.
    exponentials, weights
        e to the score less the largest; divided by their sum.
    after_dropout
        Weights that training would use; None without dropout.
    """

    tokens: Tokens
    products: PerKey
    scores: PerKey
    capped: PerKey | None
    bias: PerKey
    allowed: Bool[np.ndarray, " k"]
    masked: PerKey
    exponentials: PerKey
    weights: PerKey
    after_dropout: PerKey | None

    @property
    def before_bias(self) -> PerKey:
        """What the bias is added to."""
        return self.scores if self.capped is None else self.capped


def row_of(focus: Focus) -> QueryRow:
    """The row of the query that is looked at."""
    return QueryRow(
        focus.trace.key_tokens,
        focus.dots,
        focus.scores,
        focus.capped if focus.trace.softcap else None,
        focus.bias,
        focus.allowed,
        np.where(focus.allowed, focus.biased, np.nan),
        focus.exponentials,
        focus.weights,
        focus.after_dropout if focus.trace.dropout else None,
    )
