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


def attention_cost(n_q: int, n_k: int, d_model: int, n_heads: int, *, bytes_per_number: int = 4) -> Cost:
    """Cost of one layer in which every pair is computed, whatever the mask.

    Examples
    --------
    >>> attention_cost(11, 11, 64, 8).flops
    391424
    """
    pairs = n_q * n_k * d_model
    return Cost(
        projection_flops=2 * d_model * d_model * (2 * n_q + 2 * n_k),
        score_flops=2 * pairs,
        context_flops=2 * pairs,
        weight_bytes=n_heads * n_q * n_k * bytes_per_number,
    )
