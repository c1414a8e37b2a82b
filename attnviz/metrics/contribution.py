"""What each head writes into the output, and what changes without it.

The output of query i is the sum of what the heads write, o_i = sum_h p_h(i) + b, with p_h(i) = context_h(i) W_O^h
(Kobayashi et al. 2020, section 2). Everything here follows from the products of these vectors with each other, query by
query, so nothing is run again to see what a removed head leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.gating import Keeps, check_stand_in
from attnviz.core.trace import AttentionTrace
from attnviz.errors import SettingError, broken_rule
from attnviz.shapes import Context, HeadPairs, PerHead

MOST_HEADS = 128
MOST_PRODUCTS = 1 << 24
BLOCK_CELLS = 1 << 21
Products = Float[np.ndarray, "q part part"]
OfQueries = Float[np.ndarray, " q"]


@dataclass(frozen=True, eq=False)
class Written:
    """Products of what goes with each head, query by query.

    Attributes
    ----------
    gram
        For each query the products of the parts with each other, `(q, part, part)` in float64. Part h is what goes when
        head h is removed: p_h, or with the mean as stand-in p_h less its mean over the queries. The last part is all
        that is never removed: the bias of W_O, and with the mean as stand-in the means. The parts add up to the output.
    """

    gram: Products

    @property
    def n_heads(self) -> int:
        """How many heads there are."""
        return self.gram.shape[1] - 1

    @cached_property
    def total(self) -> Float[np.ndarray, "part part"]:
        """The products summed over the queries."""
        return self.gram.sum(axis=0)

    @cached_property
    def squares(self) -> OfQueries:
        """Squared length of the output of each query, with all heads on."""
        return np.maximum(self.gram.sum(axis=(1, 2)), 0.0)

    @property
    def size(self) -> float:
        """Length of all outputs together: the root of the sum of their squares."""
        return float(np.sqrt(self.squares.sum()))

    @property
    def norms(self) -> Float[np.ndarray, "head q"]:
        """Length of the part of each head at each query."""
        return np.sqrt(np.maximum(np.diagonal(self.gram, axis1=1, axis2=2)[:, :-1], 0.0)).T

    def relative(self, square: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """A squared change of all outputs together as a length, in outputs with all heads on; NaN where these are 0."""
        length = np.sqrt(np.maximum(square, 0.0))
        return length / self.size if self.size else np.full(length.shape, np.nan)

    def relative_one(self, square: float) -> float:
        """What `relative` gives, of one number."""
        return float(self.relative(np.array([square]))[0])


def written(trace: AttentionTrace, stand_in: str = "zero", *, context: Context | None = None) -> Written:
    """What each head of a layer writes, as products; of a long trace the contexts are streamed.

    Parameters
    ----------
    trace
        The layer; heads that are switched off in it count like the others.
    stand_in
        What takes a removed head's place: `zero`, or its `mean` over the queries.
    context
        The contexts of the layer where they are known; else those of a long trace are streamed.

    Raises
    ------
    SettingError
        If there are more than 128 heads, or so many queries that the products would take more than 128 MB.

    References
    ----------
    Kobayashi et al. 2020, section 2 (what a head writes); Michel et al. 2019, section 2.3 (a head set to 0).
    """
    check_stand_in(stand_in)
    check_removable(trace)
    n_heads, n_q = trace.n_heads, trace.n_q
    n_parts = n_heads + 1
    to_output = trace.origin.to_output
    by_head = to_output.W.astype(np.float64).reshape(n_heads, -1, to_output.W.shape[1])
    rest = np.zeros(by_head.shape[2]) if to_output.b is None else to_output.b.astype(np.float64)
    context = trace.context if context is None else context
    means = context.mean(axis=1, dtype=np.float64) if stand_in == "mean" else np.zeros(context[:, 0].shape)
    rest = rest + np.einsum("hd,hdm->m", means, by_head)
    gram = np.empty((n_q, n_parts, n_parts))
    step = max(1, BLOCK_CELLS // (n_parts * len(rest)))
    for start in range(0, n_q, step):
        rows = slice(start, start + step)
        parts = np.empty((len(gram[rows]), n_parts, len(rest)))
        own = context[:, rows].astype(np.float64) - means[:, None]
        parts[:, :-1] = np.matmul(own, by_head).transpose(1, 0, 2)
        parts[:, -1] = rest
        gram[rows] = np.matmul(parts, parts.transpose(0, 2, 1))
    return Written(gram)


def check_removable(trace: AttentionTrace) -> None:
    """Refuse a layer whose products would take too much memory.

    Raises
    ------
    SettingError
        With the number of heads or of queries that is too large.
    """
    n_heads, n_q = trace.n_heads, trace.n_q
    if n_heads > MOST_HEADS:
        rule = f"must be at most {MOST_HEADS} to be removed one by one"
        raise SettingError(broken_rule("n_heads", rule, f"n_heads={n_heads}", f"Try {MOST_HEADS} or fewer."))
    n_parts = n_heads + 1
    if n_q * n_parts**2 > MOST_PRODUCTS:
        rule = f"times the square of the heads must be at most {MOST_PRODUCTS:,} to remove heads one by one"
        way_out = f"Try at most {MOST_PRODUCTS // n_parts**2:,} tokens, or fewer heads."
        raise SettingError(broken_rule("n_tokens", rule, f"{n_q:,} queries, {n_heads} heads", way_out))


@dataclass(frozen=True, eq=False)
class Change:
    """How the output changes.

    Attributes
    ----------
    relative
        Length of the change of all outputs together over the length of the outputs: root of the sum of squares over
        queries and columns of the difference, over that of the outputs with all heads on. 0: nothing, 1: as large as
        the outputs. NaN where the outputs are 0.
    cosine
        Between the output before and after, the mean over the queries where neither is 0; NaN where there is none.
    at
        The relative change at each query; NaN where its output is 0.
    """

    relative: float
    cosine: float
    at: OfQueries


def change_without(made: Written, keeps: Keeps) -> Change:
    """What the output loses with only these heads on, `(head, q)` or `(head, 1)`."""
    gone = np.zeros((len(made.gram), made.n_heads + 1))
    gone[:, :-1] = ~keeps.T
    on_gone = np.matmul(made.gram, gone[:, :, None])[:, :, 0]
    lost = np.maximum(np.vecdot(gone, on_gone), 0.0)
    overlap = on_gone.sum(axis=1)
    left = np.maximum(made.squares - 2 * overlap + lost, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = (made.squares - overlap) / np.sqrt(made.squares * left)
        at = np.sqrt(lost / made.squares)
    known = (made.squares > 0) & (left > 1e-24 * made.squares)
    cosine = float(np.clip(cosines[known], -1, 1).mean()) if known.any() else float("nan")
    return Change(made.relative_one(float(lost.sum())), cosine, np.where(made.squares > 0, at, np.nan))


def leave_one_out(made: Written) -> tuple[Change, ...]:
    """What the output loses with each head removed alone.

    Notes
    -----
    A head that wrote a vector of the same length as each of the others, at right angles to them all, would change the
    output by 1 / sqrt(heads) of what all heads together change: that is the baseline.

    References
    ----------
    Michel et al. 2019, section 3.2 (one head removed at a time).
    """
    every = ~np.eye(made.n_heads, dtype=bool)
    return tuple(change_without(made, every[:, [head]]) for head in range(made.n_heads))


@dataclass(frozen=True, eq=False)
class Pruning:
    """Heads removed one after the other, and the relative change of the output after each.

    Attributes
    ----------
    order
        Each step removes the head whose absence changes the output least.
    greedy
        Relative change with 0, 1, 2... heads removed in this order.
    smallest
        The same in the order of the lengths of what goes with each head, least first.
    random
        Root of the mean of the squared changes over all sets of as many heads.
    """

    order: Int[np.ndarray, " head"]
    greedy: Float[np.ndarray, " removed"]
    smallest: Float[np.ndarray, " removed"]
    random: Float[np.ndarray, " removed"]


def pruning(made: Written) -> Pruning:
    """A greedy order in which heads can go, beside a random order and the order of their lengths.

    Notes
    -----
    With G the products of the parts summed over the queries, removing the set R changes the output by the root of the
    sum of G over R x R. Over all sets of k of n heads the square of that is on average
    k/n tr G + k(k-1)/(n(n-1)) (sum G - tr G).

    References
    ----------
    Michel et al. 2019, section 4 (iterative pruning; there by a gradient, here by the output itself).
    """
    n = made.n_heads
    gram = made.total[:n, :n]
    own = np.diagonal(gram)
    order: list[int] = []
    squares, between = [0.0], np.zeros(n)
    for _ in range(n):
        after = squares[-1] + 2 * between + own
        after[order] = np.inf
        best = int(np.argmin(after))
        squares.append(float(after[best]))
        between += gram[best]
        order.append(best)
    counts = np.arange(n + 1)
    trace, rest = own.sum(), gram.sum() - own.sum()
    pairs = counts * (counts - 1) / max(n * (n - 1), 1)
    return Pruning(
        np.array(order),
        made.relative(np.array(squares)),
        made.relative(_in_order(gram, np.argsort(own, kind="stable"))),
        made.relative(counts / n * trace + pairs * rest),
    )


def _in_order(gram: HeadPairs, order: Int[np.ndarray, " head"]) -> Float[np.ndarray, " removed"]:
    sums = np.diagonal(gram[np.ix_(order, order)].cumsum(axis=0).cumsum(axis=1))
    return np.concatenate([[0.0], sums])


def shares(made: Written) -> PerHead:
    """Length of what each head writes over all queries, over the sum of these lengths; 0 where nothing is written.

    Parameters
    ----------
    made
        Of a layer, with nothing in a removed head's place: with the mean there, parts are only what differs from it.

    References
    ----------
    Kobayashi et al. 2020, section 2 (the length of a written vector as what is contributed).
    """
    lengths = np.sqrt(np.maximum(np.diagonal(made.total)[:-1], 0.0))
    return lengths / lengths.sum() if lengths.any() else lengths
