"""What a position method may do: add to x, rotate query and key, or bias the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.shapes import Bias, Embedded, PositionIds, Queries


@dataclass(frozen=True)
class PositionShape:
    """Sizes that a position method may need, and the seed for those that are drawn.

    Attributes
    ----------
    d_model, n_heads
        Width, and the number of heads it is divided over.
    seed
        Where drawn numbers start.
    n_positions
        Length of the whole text, queries and keys together: one more than the largest position id. Only dynamic
        scaling looks at it; 0 where it does not matter.
    """

    d_model: int
    n_heads: int
    seed: int = 0
    n_positions: int = 0

    @property
    def d_head(self) -> int:
        """Columns of each head."""
        return self.d_model // self.n_heads


@dataclass(frozen=True)
class Positional:
    """Three optional effects, each a function of position ids.

    Attributes
    ----------
    add
        From ids to what is added to x.
    rotate
        From queries or keys and their ids to the rotated ones.
    bias
        From query ids and key ids to what is added to the scores.
    """

    add: Callable[[PositionIds], Embedded] | None = None
    rotate: Callable[[Queries, PositionIds], Queries] | None = None
    bias: Callable[[PositionIds, PositionIds], Bias] | None = None
