"""Which columns of x hold content and which are left to position.

A sinusoidal encoding moves fast in its first columns and hardly at all in its last ones. So content lives in the
last half, where it can be read whatever the place, and the first half is left to position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

BASE = 10_000.0
MOST_SIGNS = 16


def content_columns(d_model: int) -> slice:
    """The columns of x that hold content.

    >>> content_columns(64)
    slice(32, 64, None)
    """
    return slice(min(2 * -(-d_model // 4), d_model - 1), d_model)


@dataclass(frozen=True)
class Columns:
    """What a designed head can read of x, and the room it has.

    Attributes
    ----------
    d_model, d_head
        Width of x and of the head.
    turn
        0 for the first head made from a recipe, 1 for the second: they read other columns.
    """

    d_model: int
    d_head: int
    turn: int = 0

    @property
    def pairs(self) -> Int[np.ndarray, " pair"]:
        """Fastest position pairs that fit into the head: pair i is the columns 2i (sine) and 2i+1 (cosine)."""
        available = max(content_columns(self.d_model).start // 2, 1)
        count = min(max(self.d_head // 2, 1), available)
        start = min(self.turn, available - count)
        return np.arange(start, start + count)

    @property
    def frequencies(self) -> Float[np.ndarray, " pair"]:
        """Radians that each of these pairs turns from one place to the next."""
        return BASE ** (-2.0 * self.pairs / self.d_model)

    @property
    def still(self) -> Int[np.ndarray, " column"]:
        """Content columns where a sinusoidal encoding stays near 0 (its slow sines), slowest first."""
        start = content_columns(self.d_model).start
        columns = np.arange(start + start % 2, self.d_model, 2)[::-1]
        if columns.size == 0:
            columns = np.array([start])
        return np.roll(columns, -self.turn * self.d_head)[: min(self.d_head, MOST_SIGNS)]

    @property
    def constant(self) -> Int[np.ndarray, " column"]:
        """Content columns where a sinusoidal encoding stays near 1 (its slow cosines)."""
        start = content_columns(self.d_model).start
        columns = np.arange(start + 1 - start % 2, self.d_model, 2)
        return columns if columns.size else np.array([self.d_model - 1])
