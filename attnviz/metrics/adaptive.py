"""As many heads as each token needs: the fewest that hold a chosen share of what all heads write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.gating import Gates, Keeps
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.contribution import Change, Written, change_without, written
from attnviz.shapes import PerQuery

GATED_BY = ("query", "sentence")
SHARES = tuple(round(0.05 * step, 2) for step in range(1, 21))
ROUNDING = 1e-9


def written_shares(made: Written) -> PerQuery:
    """Share of each head in what is written for a query: |p_h| over the sum of |p_g| over all heads g.

    Notes
    -----
    0 for a query for which no head writes anything.

    References
    ----------
    Kobayashi et al. 2020, section 2: the length of a written vector, not the weights, says how much is contributed.
    """
    return _shares_of(made.norms)


def _shares_of(norms: PerQuery) -> PerQuery:
    sums = norms.sum(axis=0)
    return norms / np.where(sums > 0, sums, 1.0)


def fewest(shares: PerQuery, kept_share: float) -> Keeps:
    """The fewest heads of each column whose shares add up to at least this; none where all shares are 0.

    Parameters
    ----------
    shares
        `(head, q)`, each column sums to 1 or 0.
    kept_share
        From 0 to 1; 1 keeps every head that writes anything.

    Notes
    -----
    Of heads with equal shares the first are taken.

    Examples
    --------
    >>> fewest(np.array([[0.2, 1.0], [0.5, 0.0], [0.3, 0.0]]), 0.8).astype(int)
    array([[0, 1],
           [1, 0],
           [1, 0]])
    """
    order, n_kept = _ranked(shares, kept_share)
    keeps = np.zeros(shares.shape, dtype=bool)
    np.put_along_axis(keeps, order, np.arange(len(shares))[:, None] < n_kept, axis=0)
    return keeps


def _ranked(shares: PerQuery, kept_share: float) -> tuple[Int[np.ndarray, "head q"], Int[np.ndarray, " q"]]:
    order = np.argsort(-shares, axis=0, kind="stable")
    before = np.cumsum(np.take_along_axis(shares, order, axis=0), axis=0)
    before = np.concatenate([np.zeros_like(before[:1]), before[:-1]])
    wanted = kept_share * shares.sum(axis=0)
    return order, (before < wanted - ROUNDING).sum(axis=0)


def gated_by_share(made: Written, kept_share: float, gate_by: str) -> Keeps:
    """Which heads stay on: the fewest that hold this share of what is written.

    Parameters
    ----------
    made
        Of a layer, with nothing in a removed head's place.
    kept_share
        From 0 to 1.
    gate_by
        `query`: each query has heads of its own, `(head, q)`. `sentence`: all queries have the same, `(head, 1)`, by
        the sum of the lengths over the queries.
    """
    norms = made.norms
    return fewest(_shares_of(norms if gate_by == "query" else norms.sum(axis=1, keepdims=True)), kept_share)


@dataclass(frozen=True, eq=False)
class Adaptive:
    """How many heads are used, and what is lost.

    Attributes
    ----------
    keeps
        Which heads are on, for each query.
    shares
        Share of each head in what is written for a query.
    change
        Of the output, beside all heads on.
    at_random
        Relative change with as many heads off for each query, whichever they are: the root of the mean square over all
        such sets.
    """

    keeps: Keeps
    shares: PerQuery
    change: Change
    at_random: float

    @property
    def n_kept(self) -> Int[np.ndarray, " q"]:
        """How many heads each query uses."""
        return np.broadcast_to(self.keeps, self.shares.shape).sum(axis=0)


def adaptive(made: Written, kept_share: float, gate_by: str) -> Adaptive:
    """The gates of a layer and what they cost.

    Notes
    -----
    A gate by contribution, at inference: nothing is trained. Voita et al. 2019 (section 5) and Michel et al. 2019 learn
    or rank one gate a head for a whole corpus; here each query, or the sentence, has its own. Correia et al. 2019 learn
    adaptively sparse weights inside a head instead.
    """
    keeps = gated_by_share(made, kept_share, gate_by)
    return Adaptive(keeps, written_shares(made), change_without(made, keeps), at_random(made, (~keeps).sum(axis=0)))


def at_random(made: Written, n_off: Int[np.ndarray, " #q"]) -> float:
    """Relative change of the output with so many heads off for each query, as a root mean square over all such sets.

    Notes
    -----
    With G the products of what the n heads write for a query, k of them off change the square of its output on average
    by k/n tr G + k(k-1)/(n(n-1)) (sum G - tr G).
    """
    n = made.n_heads
    heads = made.gram[:, :n, :n]
    alone = np.trace(heads, axis1=1, axis2=2)
    between = heads.sum(axis=(1, 2)) - alone
    squares = n_off / n * alone + n_off * (n_off - 1) / max(n * (n - 1), 1) * between
    return made.relative_one(float(squares.sum()))


@dataclass(frozen=True, eq=False)
class Costs:
    """Heads used and change of the output for several shares.

    Attributes
    ----------
    kept_share
        The shares.
    n_kept
        Heads that a query uses on average.
    relative
        Relative change of the output.
    """

    kept_share: Float[np.ndarray, " share"]
    n_kept: Float[np.ndarray, " share"]
    relative: Float[np.ndarray, " share"]


def costs(made: Written, gate_by: str) -> Costs:
    """Heads and change for shares of 5, 10... 100 %.

    Notes
    -----
    The products of each query are put in the order of its heads once; the sum of the products of all but the first k
    heads is the squared change with k heads, for all k at once.
    """
    norms = made.norms
    ranked = _shares_of(norms if gate_by == "query" else norms.sum(axis=1, keepdims=True))
    order = np.broadcast_to(_ranked(ranked, 1.0)[0], norms.shape)
    squares = _squares_without(made, order)
    queries = np.arange(norms.shape[1])
    counts = [np.broadcast_to(_ranked(ranked, share)[1], queries.shape) for share in SHARES]
    return Costs(
        np.array(SHARES),
        np.array([float(count.mean()) for count in counts]),
        made.relative(np.array([squares[queries, count].sum() for count in counts])),
    )


def _squares_without(made: Written, order: Int[np.ndarray, "head q"]) -> Float[np.ndarray, "q kept"]:
    last_first = order[::-1].T
    queries = np.arange(len(last_first))[:, None, None]
    gram = made.gram[queries, last_first[:, :, None], last_first[:, None, :]]
    sums = np.diagonal(gram.cumsum(axis=1).cumsum(axis=2), axis1=1, axis2=2)
    return np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)[:, ::-1]


def adaptive_gates(trace: AttentionTrace, kept_share: float, gate_by: str) -> Gates:
    """Gates of a layer by what its heads write, for a run in which every layer is gated so."""
    return Gates(gated_by_share(written(trace), kept_share, gate_by))


@dataclass(frozen=True)
class GatedModel:
    """What gates in every layer do to the embedding of a text: 1 - cosine with all heads on, 0 for no change.

    Attributes
    ----------
    embedding
        With gates that were set on the model with all heads on, all of them at once.
    at_random
        With as many heads on in each layer for each query, drawn at random once.
    anew
        With gates that each layer sets by what its heads write in the gated run.
    n_kept_anew
        Heads that are on then in all layers together, mean over the queries.
    """

    embedding: float
    at_random: float
    anew: float
    n_kept_anew: float
