"""Everything one attention layer computed, in order, read-only."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from attnviz.shapes import Bias, Context, Embedded, HeadMask, Keys, Output, Queries, Scores, Tokens, Values, Weights


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """Every intermediate array of one layer, in the order of computation.

    Attributes
    ----------
    query_tokens, key_tokens
        The tokens of the rows and of the columns.
    x
        What enters the layer: content plus position, `(token, d_model)`.
    query, key, value
        x times W_Q, W_K, W_V, split into heads, query and key after rotation where there is one.
    scores
        Query times key times the scale, before bias and mask.
    bias
        What the position method adds to the scores; zero where it adds nothing.
    mask
        True = may attend.
    weights
        Softmax of scores plus bias over the allowed keys; a row with no allowed key is 0.
    context
        Weights times value, `(head, q, d_head)`.
    output
        The heads side by side times W_O, `(q, d_model)`.
    """

    query_tokens: Tokens
    key_tokens: Tokens
    x: Embedded
    query: Queries
    key: Keys
    value: Values
    scores: Scores
    bias: Bias
    mask: HeadMask
    weights: Weights
    context: Context
    output: Output

    def __post_init__(self) -> None:
        for item in fields(self):
            array = getattr(self, item.name)
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @property
    def n_heads(self) -> int:
        """Number of query heads."""
        return self.weights.shape[0]

    @property
    def n_q(self) -> int:
        """Number of queries (rows)."""
        return self.weights.shape[1]

    @property
    def n_k(self) -> int:
        """Number of keys (columns)."""
        return self.weights.shape[2]

    @property
    def d_head(self) -> int:
        """Columns of each head."""
        return self.query.shape[2]
