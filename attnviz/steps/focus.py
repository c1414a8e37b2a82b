"""One weight of one head, and every number on the way to it and from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.masks import build_mask
from attnviz.registry import Spec
from attnviz.shapes import PerKey

Vector = Float[np.ndarray, " column"]
MASK_NAMES = ("structure", "sparsity", "padding")


@dataclass(frozen=True, eq=False)
class Focus:
    """A query, a key and a head of a layer; what is derived from them in float64, each computed when first asked for.

    Attributes
    ----------
    trace
        The layer.
    head, query, key
        Which weight.
    masks
        Structure, sparsity and padding.
    is_scaled
        Whether products are divided by the square root of d_head.
    """

    trace: AttentionTrace
    head: int
    query: int
    key: int
    masks: Sequence[Spec]
    is_scaled: bool = True

    @property
    def sharpness(self) -> float:
        """What products are multiplied by, but for the square root of d_head."""
        return self.trace.scale * (sqrt(self.trace.d_head) if self.is_scaled else 1.0)

    @cached_property
    def kv_head(self) -> int:
        """The key/value head that serves the head."""
        return self.trace.kv_head(self.head)

    def columns(self, which: str) -> slice:
        """The columns of W_Q, W_K or W_V that belong to the head, and the rows of W_O (`output`)."""
        value = self.trace.value.shape[2]
        width = {"query": self.trace.d_head, "key": self.trace.d_head, "value": value, "output": value}[which]
        head = self.head if which in ("query", "output") else self.kv_head
        return slice(head * width, (head + 1) * width)

    @cached_property
    def x(self) -> Vector:
        """What the query is made from."""
        return self.trace.x[self.query].astype(np.float64)

    @cached_property
    def key_x(self) -> Vector:
        """What key and value are made from."""
        return self.trace.key_x[self.key].astype(np.float64)

    def _mapped(self, which: str, x: Vector) -> Float[np.ndarray, " made"]:
        origin, columns = self.trace.origin, self.columns(which)
        affine = {"query": origin.to_query, "key": origin.to_key, "value": origin.to_value}[which]
        made = x @ affine.W[:, columns].astype(np.float64)
        return made if affine.b is None else made + affine.b[columns]

    @cached_property
    def query_before(self) -> Vector:
        """The query before it is turned: x times W_Q."""
        return self._mapped("query", self.x)

    @cached_property
    def key_before(self) -> Vector:
        """The key before it is turned: x times W_K."""
        return self._mapped("key", self.key_x)

    @cached_property
    def q(self) -> Vector:
        """The query that scores are computed from."""
        return self.trace.query[self.head, self.query].astype(np.float64)

    @cached_property
    def k(self) -> Vector:
        """The key that scores are computed from."""
        return self.trace.key[self.kv_head, self.key].astype(np.float64)

    @cached_property
    def v(self) -> Vector:
        """The value of the key."""
        return self.trace.value[self.kv_head, self.key].astype(np.float64)

    @cached_property
    def column(self) -> int:
        """The column that adds most to the dot product, which the stages follow."""
        return int(np.argmax(np.abs(self.q * self.k)))

    @cached_property
    def value_column(self) -> int:
        """The column in which the value of the key is largest, which the stages follow."""
        return int(np.argmax(np.abs(self.v)))

    @cached_property
    def dots(self) -> PerKey:
        """The query times every key."""
        return self.trace.key[self.kv_head].astype(np.float64) @ self.q

    @cached_property
    def scores(self) -> PerKey:
        """The products times the scale."""
        return self.dots * self.trace.scale

    @cached_property
    def capped(self) -> PerKey:
        """The scores after the soft cap, where there is one."""
        cap = self.trace.softcap
        return cap * np.tanh(self.scores / cap) if cap else self.scores

    @cached_property
    def bias(self) -> PerKey:
        """What the position method adds to the scores of the row."""
        return np.asarray(self.trace.row_of_bias(self.head, self.query), dtype=np.float64)

    @cached_property
    def biased(self) -> PerKey:
        """The scores that the softmax gets, of forbidden keys too."""
        return self.capped + self.bias

    @cached_property
    def allowed_by(self) -> dict[str, Bool[np.ndarray, " k"]]:
        """Which keys each of the three masks allows the query."""
        n_q, n_k, rows = self.trace.n_q, self.trace.n_k, slice(self.query, self.query + 1)
        made: dict[str, Bool[np.ndarray, " k"]] = {}
        for name, spec in zip(MASK_NAMES, self.masks, strict=True):
            mask = build_mask([spec], n_q, n_k, n_heads=self.trace.n_heads, rows=rows)
            made[name] = mask[self.head if len(mask) > 1 else 0, 0]
        return made

    @cached_property
    def allowed(self) -> Bool[np.ndarray, " k"]:
        """Which keys the query may attend to."""
        return self.trace.row(self.head, self.query)[1]

    @cached_property
    def weights(self) -> PerKey:
        """Weights of the row, before dropout."""
        return self.trace.row(self.head, self.query)[0].astype(np.float64)

    @cached_property
    def sink(self) -> float | None:
        """Logit of the head's sink."""
        return None if self.trace.sinks is None else float(self.trace.sinks[self.head])

    @cached_property
    def largest(self) -> float:
        """The largest score of an allowed key, or of the sink; 0 where there is none."""
        candidates = [*self.biased[self.allowed], *([] if self.sink is None else [self.sink])]
        return float(max(candidates, default=0.0))

    @cached_property
    def exponentials(self) -> PerKey:
        """E to the score less the largest; 0 for forbidden keys."""
        return np.where(self.allowed, np.exp(np.minimum(self.biased - self.largest, 0)), 0.0)

    @cached_property
    def sink_exponential(self) -> float:
        """The same of the sink; 0 without one."""
        return 0.0 if self.sink is None else float(np.exp(self.sink - self.largest))

    @cached_property
    def total(self) -> float:
        """What the exponentials are divided by."""
        return float(self.exponentials.sum()) + self.sink_exponential

    @cached_property
    def after_dropout(self) -> PerKey:
        """Weights of the row as training would use them."""
        return self.trace.in_training().row(self.head, self.query)[0].astype(np.float64)

    @cached_property
    def values(self) -> Float[np.ndarray, "k d_value"]:
        """The values that serve the head."""
        return self.trace.value[self.kv_head].astype(np.float64)

    @cached_property
    def contexts(self) -> Float[np.ndarray, "head d_value"]:
        """What each head makes of the query: its weights times the values."""
        trace = self.trace
        if trace.kept is not None:
            return trace.kept.context[:, self.query].astype(np.float64)

        def of(part: Rows, _: range) -> Float[np.ndarray, "head d_value"]:
            heads = range(trace.n_heads)
            values = (trace.value[trace.kv_head(head)][part.keys].astype(np.float64) for head in heads)
            return np.stack([part.weights[head, 0] @ value for head, value in zip(heads, values, strict=True)])

        (made,) = trace.each_block(of, rows=range(self.query, self.query + 1))
        return made

    @cached_property
    def is_on(self) -> Bool[np.ndarray, " head"]:
        """Which heads are on for the query."""
        gates = self.trace.gates
        if gates is None:
            return np.ones(self.trace.n_heads, dtype=bool)
        return gates.keeps[:, self.query if gates.keeps.shape[1] > 1 else 0]

    @cached_property
    def gated(self) -> Float[np.ndarray, "head d_value"]:
        """The contexts that go into the output: those of heads that are switched off replaced."""
        gates = self.trace.gates
        if gates is None or self.is_on.all():
            return self.contexts
        if gates.stand_in == "zero":
            return np.where(self.is_on[:, None], self.contexts, 0.0)
        return self.trace.gated[:, self.query].astype(np.float64)

    @cached_property
    def additions(self) -> Float[np.ndarray, "head d_model"]:
        """What each head adds to the output: its context, or what stands in for it, times its rows of W_O."""
        W = self.trace.origin.to_output.W.astype(np.float64)
        by_head = W.reshape(self.trace.n_heads, -1, W.shape[1])
        return np.einsum("hd,hdm->hm", self.gated, by_head)

    @cached_property
    def output(self) -> Vector:
        """What all heads that are on make of the query."""
        made, b = self.additions.sum(axis=0), self.trace.origin.to_output.b
        return made if b is None else made + b

    @cached_property
    def output_column(self) -> int:
        """The column of the output in which the head adds most, which the stages follow."""
        return int(np.argmax(np.abs(self.additions[self.head])))
