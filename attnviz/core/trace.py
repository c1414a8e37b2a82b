"""Everything one attention layer computed, in order, read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from attnviz.core.attention import Attention, scores_of, whole
from attnviz.core.dropout import dropped
from attnviz.core.gating import Gates
from attnviz.core.origin import Origin
from attnviz.core.projections import merge_heads
from attnviz.core.rows import Rows, row_blocks, streamed
from attnviz.core.tiles import Scorer
from attnviz.shapes import (
    Bias,
    Context,
    HeadMask,
    KeyInput,
    Keys,
    MapPart,
    Mask,
    MaskRow,
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

Made = TypeVar("Made")


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
    scorer
        What the weights depend on, from which the rows of a long map are computed when they are asked for.
    origin
        What x is made of, and the maps to query, key, value and output.
    kept
        Weights and context where they have been computed as a whole.
    dropout, seed
        Share of the weights that training would drop, and where its random numbers start.
    is_training
        Whether weights are those after dropout.
    gates
        Heads that are switched off, of which the output is without; None where all are on.
    """

    query_tokens: Tokens
    key_tokens: Tokens
    x: QueryInput
    key_x: KeyInput
    query: Queries
    key: Keys
    value: Values
    scorer: Scorer
    origin: Origin
    kept: Attention | None = None
    dropout: float = 0.0
    seed: int = 0
    is_training: bool = False
    gates: Gates | None = None

    def __post_init__(self) -> None:
        held = [getattr(self, item.name) for item in fields(self)]
        for array in (*held, *((self.kept.weights, self.kept.context) if self.kept else ())):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @cached_property
    def attention(self) -> Attention:
        """Weights and context as a whole; computed when first asked for."""
        if self.kept is not None:
            return self.kept
        made = whole(self.scorer, self.value)
        made.weights.flags.writeable = made.context.flags.writeable = False
        return made

    @cached_property
    def scores(self) -> Scores:
        """Query times key times the scale, before soft cap, bias and mask; computed when first asked for."""
        scores = scores_of(self.query, self.key, self.scale)
        scores.flags.writeable = False
        return scores

    @cached_property
    def bias(self) -> Bias:
        """What the position method adds to the scores; zero where it adds nothing."""
        bias_of = self.scorer.pairs.bias_of
        bias = np.zeros((1, 1, 1), dtype=self.x.dtype) if bias_of is None else bias_of(slice(None)).view()
        bias.flags.writeable = False
        return bias

    @cached_property
    def mask(self) -> HeadMask:
        """True = may attend; `(1, q, k)` where the heads share it."""
        mask_of = self.scorer.pairs.mask_of
        mask = np.broadcast_to(True, (1, self.n_q, self.n_k)) if mask_of is None else mask_of(slice(None)).view()
        mask.flags.writeable = False
        return mask

    @cached_property
    def weights(self) -> Weights:
        """Softmax of scores plus bias over the allowed keys; a row with no allowed key is 0."""
        if not self.is_training:
            return self.attention.weights
        weights = dropped(self.attention.weights, self.dropout, self.seed)
        weights.flags.writeable = False
        return weights

    @cached_property
    def context(self) -> Context:
        """Weights before dropout times value, `(head, q, d_value)`, of switched off heads too."""
        return self.stream_context()

    def stream_context(self, on_progress: Callable[[float], None] | None = None) -> Context:
        """The contexts, of a long trace row by row; `on_progress` is told the share of the rows that is done."""
        if self.kept is not None:
            return self.kept.context

        def of(part: Rows, which: range) -> Context:
            del which
            by_head = (part.weights[i] @ self.value[self.kv_head(i)][part.keys] for i in range(self.n_heads))
            return np.stack(list(by_head))

        context = np.concatenate(list(replace(self, is_training=False).each_block(of, on_progress=on_progress)), axis=1)
        context.flags.writeable = False
        return context

    @cached_property
    def gated(self) -> Context:
        """The contexts that go into the output: those of switched off heads replaced by what stands in for them."""
        if self.gates is None:
            return self.context
        gated = self.gates.of(self.context)
        gated.flags.writeable = False
        return gated

    @property
    def removed(self) -> tuple[int, ...]:
        """Heads that are switched off for every query."""
        return () if self.gates is None else self.gates.removed

    @cached_property
    def output(self) -> Output:
        """The heads that are on side by side times W_O, `(q, d_model)`."""
        output = self.origin.to_output(merge_heads(self.gated))
        output.flags.writeable = False
        return output

    def in_training(self) -> AttentionTrace:
        """The same layer with the weights that training would use: some 0, the others larger."""
        return replace(self, is_training=True) if self.dropout else self

    def each_block(
        self,
        work: Callable[[Rows, range], Made],
        *,
        heads: range | None = None,
        rows: range | None = None,
        on_progress: Callable[[float], None] | None = None,
    ) -> Iterator[Made]:
        """What the work gives for each block of rows, in order; its maps must not be kept, only what is made of them.

        `work` gets some rows, and which queries they are; `on_progress` is told the share of the rows that is done.
        """
        chosen = range(self.n_heads) if heads is None else heads
        wanted = range(self.n_q) if rows is None else rows

        def dropping(part: Rows, block_rows: range) -> Made:
            weights = dropped(
                part.weights, self.dropout, self.seed, heads=chosen, rows=block_rows, keys=part.keys, n_k=self.n_k
            )
            return work(replace(part, weights=weights, nats=None), block_rows)

        do = dropping if self.is_training else work
        if self.kept is None:
            yield from streamed(self.scorer, do, heads=chosen, rows=wanted, on_progress=on_progress)
            return
        for block_rows in row_blocks(len(chosen), wanted, self.n_k):
            yield do(self._kept_rows(self.kept.weights, chosen, block_rows), block_rows)
            if on_progress is not None:
                on_progress((block_rows.stop - wanted.start) / len(wanted))

    def _kept_rows(self, weights: Weights, heads: range, rows: range) -> Rows:
        block = slice(rows.start, rows.stop)
        chosen = slice(heads.start, heads.stop)
        first = self.n_k - self.n_q
        return Rows(
            weights[chosen, block],
            self.mask[chosen if len(self.mask) > 1 else slice(0, 1), block],
            np.arange(first + rows.start, first + rows.stop),
            np.arange(self.n_k),
            self.n_k,
        )

    def window(self, head: int, rows: range, columns: range) -> tuple[MapPart, Mask]:
        """Weights and mask of some rows and columns of a head."""
        weights = np.zeros((len(rows), len(columns)), dtype=self.query.dtype)
        mask = np.zeros(weights.shape, dtype=bool)

        def copied(part: Rows, block_rows: range) -> None:
            first, last = max(part.keys[0], columns.start), min(part.keys[-1] + 1, columns.stop)
            if first < last:
                into = (
                    slice(block_rows.start - rows.start, block_rows.stop - rows.start),
                    slice(first - columns.start, last - columns.start),
                )
                found = slice(first - part.keys[0], last - part.keys[0])
                weights[into], mask[into] = part.weights[0, :, found], part.mask[0, :, found]

        for _ in self.each_block(copied, heads=range(head, head + 1), rows=rows):
            pass
        return weights, mask

    def row(self, head: int, query: int) -> tuple[PerKey, MaskRow]:
        """Weights and mask of one query."""
        weights, mask = self.window(head, range(query, query + 1), range(self.n_k))
        return weights[0], mask[0]

    def row_of_scores(self, head: int, query: int) -> PerKey:
        """One row of the scores, without the others."""
        return scores_of(self.query[head, query][None, None], self.key[self.kv_head(head)][None], self.scale)[0, 0]

    def row_of_bias(self, head: int, query: int) -> PerKey:
        """One row of what the position method adds to the scores."""
        bias_of = self.scorer.pairs.bias_of
        if bias_of is None:
            return np.zeros(self.n_k)
        return np.broadcast_to(bias_of(slice(query, query + 1)), (self.n_heads, 1, self.n_k))[head, 0]

    def kv_head(self, head: int) -> int:
        """The key/value head that serves a query head."""
        return head // (self.n_heads // self.key.shape[0])

    @property
    def has_bias(self) -> bool:
        """Whether the position method adds to the scores."""
        return self.scorer.pairs.bias_of is not None

    @property
    def scale(self) -> float:
        """What query times key is multiplied by."""
        return self.scorer.scale

    @property
    def softcap(self) -> float:
        """Size within which the scores are kept; 0 for none."""
        return self.scorer.softcap or 0.0

    @property
    def sinks(self) -> PerHead | None:
        """Logit of each head's sink."""
        return self.scorer.sinks

    @property
    def n_heads(self) -> int:
        """Number of query heads."""
        return self.query.shape[0]

    @property
    def n_q(self) -> int:
        """Number of queries (rows)."""
        return self.query.shape[1]

    @property
    def n_k(self) -> int:
        """Number of keys (columns)."""
        return self.key.shape[1]

    @property
    def d_head(self) -> int:
        """Columns of each head's query."""
        return self.query.shape[2]
