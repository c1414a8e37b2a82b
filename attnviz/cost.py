"""What a setting costs: exact counts of operations and bytes."""

from __future__ import annotations

from dataclasses import dataclass


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
    return Cost(
        projection_flops=2 * d_model * (n_q * queries + n_k * keys),
        score_flops=2 * n_q * n_k * n_heads * d_head,
        context_flops=2 * n_q * n_k * n_heads * value_columns,
        weight_bytes=n_heads * n_q * n_k * bytes_per_number,
    )
