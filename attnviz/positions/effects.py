"""What a position method may do: add to x, rotate query and key, or bias the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.positions.turning import Rotation
from attnviz.shapes import Bias, Embedded, PositionIds


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


@dataclass(frozen=True, eq=False)
class Curve:
    """Numbers that a method is made of, such as a slope for each head, to be drawn.

    Attributes
    ----------
    label, unit, formula
        What the numbers are, what they are counted in, and how they are computed.
    over
        What they are given for, such as `head`.
    at, values
        For which of these, and the numbers.
    is_log
        Whether they span so many sizes that a logarithmic axis shows them better.
    """

    label: str
    unit: str
    over: str
    at: Int[np.ndarray, " place"]
    values: Float[np.ndarray, " place"]
    formula: str = ""
    is_log: bool = False


@dataclass(frozen=True)
class Positional:
    """Three optional effects, each a function of position ids, and what the method is made of.

    Attributes
    ----------
    add
        From ids to what is added to x.
    rotate
        From queries or keys and their ids to the rotated ones.
    bias
        From query ids and key ids to what is added to the scores.
    curves
        Numbers that are worth seeing: wavelengths, slopes, buckets.
    grid_width
        Patches in a line of the image, where the tokens are read as patches; else None.
    """

    add: Callable[[PositionIds], Embedded] | None = None
    rotate: Rotation | None = None
    bias: Callable[[PositionIds, PositionIds], Bias] | None = None
    curves: tuple[Curve, ...] = ()
    grid_width: int | None = None
