"""Everything one attention layer computed, in order, read-only."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from attnviz.core.attention import scores_of
from attnviz.core.dropout import dropped
from attnviz.shapes import (
    Bias,
    Context,
    HeadMask,
    KeyInput,
    Keys,
    Output,
    PerHead,
    PerKey,
    Queries,
    QueryInput,
    Scores,
    Tokens,
    Values,
    Weights,
)


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """Every intermediate array of one layer, in the order of computation.

    Attributes
    ----------
    query_tokens, key_tokens
        The tokens of the rows and of the columns.
    x, key_x
        What queries, and what keys and values are made from: content plus position, `(token, d_model)`; the same
        array but in cross-attention.
    query, key, value
        x times W_Q, W_K, W_V, split into heads, query and key after rotation where there is one; fewer key/value
        heads than query heads each serve as many consecutive query heads.
    bias
        What the position method adds to the scores; zero where it adds nothing.
    mask
        True = may attend.
    weights
        Softmax of scores plus bias over the allowed keys, before dropout; a row with no allowed key is 0.
    context
        Weights times value, `(head, q, d_value)`.
    output
        The heads side by side times W_O, `(q, d_model)`.
    scale, softcap, sinks
        What the scores are multiplied by; the size they are kept within (0: none); the sink's logit of each head.
    dropout, seed
        Share of the weights that training would drop, and where its random numbers start.
    """

    query_tokens: Tokens
    key_tokens: Tokens
    x: QueryInput
    key_x: KeyInput
    query: Queries
    key: Keys
    value: Values
    bias: Bias
    mask: HeadMask
    weights: Weights
    context: Context
    output: Output
    scale: float
    softcap: float = 0.0
    sinks: PerHead | None = None
    dropout: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for item in fields(self):
            array = getattr(self, item.name)
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @cached_property
    def scores(self) -> Scores:
        """Query times key times the scale, before soft cap, bias and mask; computed when first asked for."""
        scores = scores_of(self.query, self.key, self.scale)
        scores.flags.writeable = False
        return scores

    @cached_property
    def weights_after_dropout(self) -> Weights:
        """The weights that training would use: some 0, the others larger; the weights themselves without dropout."""
        return dropped(self.weights, self.dropout, self.seed) if self.dropout else self.weights

    def row_of_scores(self, head: int, query: int) -> PerKey:
        """One row of the scores, without the others."""
        return scores_of(self.query[head, query][None, None], self.key[self.kv_head(head)][None], self.scale)[0, 0]

    def kv_head(self, head: int) -> int:
        """The key/value head that serves a query head."""
        return head // (self.n_heads // self.key.shape[0])

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
        """Columns of each head's query."""
        return self.query.shape[2]
