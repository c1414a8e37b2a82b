"""The same input with another number of heads at the same width: what each head gains and loses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from attnviz.core.config import AttentionConfig
from attnviz.core.designed import design_heads
from attnviz.core.layer import attend
from attnviz.core.projections import Projections, make_projections
from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.cost import attention_cost
from attnviz.errors import AttnvizError
from attnviz.metrics.baseline import mean_of_defined, mean_over_queries, uniform_rows
from attnviz.metrics.ranks import effective_rank, numerical_rank
from attnviz.metrics.similarity import cosine_of, products
from attnviz.metrics.spectra import Spectra, layer_spectra
from attnviz.registries import METRICS
from attnviz.shapes import HeadPairs, PerQuery, UniformPerQuery

MOST_TOKENS = 128
MOST_WEIGHTS = 1 << 22
ALIKE = 0.9


@dataclass(frozen=True)
class SweepPoint:
    """One number of heads; all but the sizes are means over the heads.

    Attributes
    ----------
    n_heads, d_head
        Heads, and columns of each.
    rank_bound
        The most directions that scores can have: d_head, or as many as there are tokens.
    score_rank, weight_rank
        Directions of scores and of weights that are more than rounding.
    score_effective_rank, weight_effective_rank, uniform_effective_rank
        Effective rank of scores, of weights, and of the weights of a head uniform over the allowed keys; that of
        zeros counts as 0, as their rank does.
    entropy_share, uniform_entropy_share
        Entropy as a share of the largest, and that of the uniform head, of the heads with a query that has two keys.
    n_with_entropy
        How many heads have such a query; the others have no part in these two means.
    mean_cosine
        Mean cosine of the maps over all pairs of heads; NaN for one head.
    n_pairs, n_alike_pairs
        Pairs of heads, and those whose cosine is above 0.9.
    n_parameters
        Numbers in W_Q, W_K, W_V and W_O.
    score_flops
        Operations of every query times every key.
    weight_bytes
        Memory of the weights of all heads in float32.
    """

    n_heads: int
    d_head: int
    rank_bound: int
    score_rank: float
    weight_rank: float
    score_effective_rank: float
    weight_effective_rank: float
    uniform_effective_rank: float
    entropy_share: float
    uniform_entropy_share: float
    n_with_entropy: int
    mean_cosine: float
    n_pairs: int
    n_alike_pairs: int
    n_parameters: int
    score_flops: int
    weight_bytes: int


@dataclass(frozen=True)
class LeftOut:
    """A number of heads that was not computed, and why."""

    n_heads: int
    reason: str


@dataclass(frozen=True)
class Sweep:
    """The same input with several numbers of heads.

    Attributes
    ----------
    points
        From the fewest heads to the most.
    left_out
        Numbers of heads that cannot be computed.
    n_q, n_k
        Queries and keys that it was computed for: at most the first 128.
    """

    points: tuple[SweepPoint, ...]
    left_out: tuple[LeftOut, ...]
    n_q: int
    n_k: int


def head_counts(d_model: int, present: int) -> list[int]:
    """Powers of two that divide the width, the width itself and the present number of heads.

    >>> head_counts(64, 8), head_counts(12, 3)
    ([1, 2, 4, 8, 16, 32, 64], [1, 2, 3, 4, 12])
    """
    powers = (1 << exponent for exponent in range(d_model.bit_length()))
    return sorted({*(power for power in powers if d_model % power == 0), d_model, present})


def sweep(config: AttentionConfig, on_progress: Callable[[float], None] | None = None) -> Sweep:
    """What each number of heads would do with the same input at the same width.

    Parameters
    ----------
    config
        The setting; every head is on and has its own keys and values, of d_head columns, whatever it says.
    on_progress
        Told the share of the numbers of heads that is done, from 0 to 1.

    Notes
    -----
    W_Q, W_K, W_V and W_O have 4 d_model² numbers however they are cut. Random ones are the same for every number of
    heads, cut into more or fewer; designed ones are made anew for each. Of a long input the first 128 tokens are taken.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2 and table 3 (A); Bhojanapalli et al. 2020, section 3; Michel et al. 2019.
    """
    keys = config.key_tokens
    shortened = replace(
        config,
        tokens=config.tokens[:MOST_TOKENS],
        key_tokens=None if keys is None else keys[:MOST_TOKENS],
        n_kv_heads=None,
        d_value=None,
        dropout=0.0,
        removed=(),
        stand_in="zero",
    )
    drawn = make_projections("random", config.d_model, 1, config.seed)
    counts = head_counts(config.d_model, config.n_heads)
    points: list[SweepPoint] = []
    left_out: list[LeftOut] = []
    for done, count in enumerate(counts, start=1):
        try:
            points.append(_point(shortened, count, drawn))
        except AttnvizError as refusal:
            left_out.append(LeftOut(count, str(refusal)))
        if on_progress is not None:
            on_progress(done / len(counts))
    return Sweep(tuple(points), tuple(left_out), shortened.n_q, shortened.n_k)


def _point(config: AttentionConfig, n_heads: int, drawn: Projections) -> SweepPoint:
    asked = replace(config, n_heads=n_heads)
    if asked.n_weights > MOST_WEIGHTS:
        raise TooManyWeightsError(f"its maps have {asked.n_weights:,} weights, more than {MOST_WEIGHTS:,}.")
    if config.projections == "designed":
        query, key = design_heads(config.d_model, n_heads)
        drawn = replace(drawn, W_Q=query, W_K=key)
    trace = attend(asked, drawn)
    spectra = layer_spectra(trace)
    entropy, uniform, cosine = _looked_through(trace)
    entropies = mean_over_queries(entropy)
    pairs = cosine[np.triu_indices(n_heads, k=1)]
    cost = attention_cost(asked.n_q, asked.n_k, asked.d_model, n_heads)
    origin = trace.origin
    return SweepPoint(
        n_heads=n_heads,
        d_head=asked.d_head,
        rank_bound=min(asked.d_head, asked.n_q, asked.n_k),
        score_rank=float(numerical_rank(spectra.scores).mean()),
        weight_rank=float(numerical_rank(spectra.weights).mean()),
        score_effective_rank=_mean_effective_rank(spectra.scores),
        weight_effective_rank=_mean_effective_rank(spectra.weights),
        uniform_effective_rank=_mean_effective_rank(spectra.uniform),
        entropy_share=mean_of_defined(entropies),
        uniform_entropy_share=mean_of_defined(mean_over_queries(uniform)),
        n_with_entropy=int((~np.isnan(entropies)).sum()),
        mean_cosine=float(pairs.mean()) if pairs.size else float("nan"),
        n_pairs=int(pairs.size),
        n_alike_pairs=int((pairs > ALIKE).sum()),
        n_parameters=sum(to.W.size for to in (origin.to_query, origin.to_key, origin.to_value, origin.to_output)),
        score_flops=cost.score_flops,
        weight_bytes=cost.weight_bytes,
    )


class TooManyWeightsError(AttnvizError):
    """A number of heads whose maps are too large to be compared."""


def _mean_effective_rank(spectra: Spectra) -> float:
    """Mean over all heads; zeros have 0 directions, as exp(−Σ p ln p) has no p there."""
    return float(np.where(spectra.largest == 0, 0.0, effective_rank(spectra)).mean())


def _looked_through(trace: AttentionTrace) -> tuple[PerQuery, UniformPerQuery, HeadPairs]:
    """Entropy as a share of the largest, of the heads and of the uniform head, and the cosines of the maps."""
    measure = METRICS["normalised_entropy"].function
    gram = np.zeros((trace.n_heads, trace.n_heads))

    def work(rows: Rows, which: range) -> tuple[PerQuery, UniformPerQuery, HeadPairs]:
        del which
        return measure(rows), measure(uniform_rows(rows)), products(rows.weights)

    parts = list(trace.each_block(work))
    for _, _, crossed in parts:
        gram += crossed
    entropy, uniform = (np.concatenate([part[side] for part in parts], axis=1) for side in (0, 1))
    return entropy, uniform, cosine_of(gram)
