"""What a setting costs: exact counts of operations and bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PairCost:
    """What some pairs of a query and a key cost: their share of an attention layer that grows with its length.

    Attributes
    ----------
    score_flops
        Query times key, floating-point operations.
    context_flops
        Weight times value, floating-point operations.
    weight_bytes
        Memory of the pairs' weights.
    """

    score_flops: int
    context_flops: int
    weight_bytes: int

    @property
    def flops(self) -> int:
        """Operations of both products."""
        return self.score_flops + self.context_flops


@dataclass(frozen=True)
class Cost:
    """Operations and bytes of one attention layer.

    Attributes
    ----------
    projection_flops
        x times W_Q, W_K, W_V, and the heads times W_O; a multiplication and an addition count as two.
    score_flops
        Every query times every key.
    context_flops
        Weights times values.
    weight_bytes
        Memory of the weights of all heads.
    """

    projection_flops: int
    score_flops: int
    context_flops: int
    weight_bytes: int

    @property
    def flops(self) -> int:
        """All floating-point operations but those of the softmax."""
        return self.projection_flops + self.score_flops + self.context_flops


def pair_cost(n_pairs: int, d_head: int, d_value: int, *, bytes_per_number: int = 4) -> PairCost:
    """Cost of computing exactly these pairs of a query and a key, counted over all heads.

    Parameters
    ----------
    n_pairs
        How many pairs are computed: those that the mask allows where only these are, else all.
    d_head, d_value
        Columns of a head's query and key, and of its value.
    bytes_per_number
        Bytes of a weight.

    Notes
    -----
    A product of two vectors of d columns takes d multiplications and d additions. A dense implementation computes all
    pairs whatever the mask; only one that skips pairs, or blocks of pairs, saves anything (Child et al. 2019,
    section 4.2; Dao et al. 2022, section 3.3).

    Examples
    --------
    >>> pair_cost(66, 8, 8)
    PairCost(score_flops=1056, context_flops=1056, weight_bytes=264)
    """
    return PairCost(2 * n_pairs * d_head, 2 * n_pairs * d_value, n_pairs * bytes_per_number)


def attention_cost(
    n_q: int,
    n_k: int,
    d_model: int,
    n_heads: int,
    *,
    n_kv_heads: int | None = None,
    d_value: int | None = None,
    bytes_per_number: int = 4,
) -> Cost:
    """Cost of one layer in which every pair is computed, whatever the mask.

    Examples
    --------
    >>> attention_cost(11, 11, 64, 8).flops
    391424
    >>> attention_cost(11, 11, 64, 8, n_kv_heads=1).projection_flops
    202752
    """
    d_head = d_model // n_heads
    value_columns, kv_heads = d_value or d_head, n_kv_heads or n_heads
    queries, keys = n_heads * (d_head + value_columns), kv_heads * (d_head + value_columns)
    pairs = pair_cost(n_heads * n_q * n_k, d_head, value_columns, bytes_per_number=bytes_per_number)
    return Cost(
        projection_flops=2 * d_model * (n_q * queries + n_k * keys),
        score_flops=pairs.score_flops,
        context_flops=pairs.context_flops,
        weight_bytes=pairs.weight_bytes,
    )
