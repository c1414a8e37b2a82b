"""Turning pairs of columns of query and key by an angle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.errors import SettingError, broken_rule, listed
from attnviz.positions.frequencies import rotary_frequencies
from attnviz.positions.layouts import HALF_SPLIT, pair_columns
from attnviz.shapes import Frequencies, PositionIds, Queries, Waves


@dataclass(frozen=True, eq=False)
class Rotation:
    """Turns queries or keys by an angle that grows with their position.

    Attributes
    ----------
    frequencies
        Radians a token for each pair of columns; fewer than d_head / 2 leave the last columns as they are.
    layout
        Which two columns make a pair, see `rotate`.
    attention_factor
        Multiplies sines and cosines (YaRN).
    """

    frequencies: Frequencies
    layout: str = HALF_SPLIT
    attention_factor: float = 1.0

    def angles(self, positions: PositionIds) -> Waves:
        """By how many radians each pair of columns turns at each position, `(token, pair)`."""
        return positions[:, None] * self.frequencies

    def __call__(self, x: Queries, positions: PositionIds) -> Queries:
        """Queries or keys `(head, token, d_head)`, turned; in their own dtype."""
        angle, factor = self.angles(positions), self.attention_factor
        return turn_pairs(x, factor * np.cos(angle), factor * np.sin(angle), layout=self.layout)

    def pair(self, column: int) -> tuple[int, int, int] | None:
        """The pair that a column belongs to, and its two columns; None for a column that does not turn.

        >>> Rotation(np.ones(2)).pair(3), Rotation(np.ones(1)).pair(3)
        ((1, 1, 3), None)
        """
        n_turning = 2 * len(self.frequencies)
        if column >= n_turning:
            return None
        columns = np.arange(n_turning)
        first, second = (columns[half] for half in pair_columns(n_turning, self.layout))
        place = int(np.flatnonzero((first == column) | (second == column))[0])
        return place, int(first[place]), int(second[place])


def turn_pairs(x: Queries, cos: Waves, sin: Waves, *, layout: str = HALF_SPLIT) -> Queries:
    """Queries or keys with each pair of columns turned by the angle of the given sines and cosines.

    Parameters
    ----------
    x
        Array `(head, token, d_head)`.
    cos, sin
        Arrays `(token, pair)`; the columns after the last pair stay as they are.
    layout
        `interleaved` pairs neighbours, `half-split` column i with column i + half of the columns that turn.

    Raises
    ------
    SettingError
        If there are more pairs than columns for them.
    """
    n_turning = 2 * cos.shape[1]
    if n_turning > x.shape[-1]:
        raise SettingError(
            broken_rule(
                "d_head",
                "must hold two columns for each pair that turns",
                f"d_head={x.shape[-1]}, {cos.shape[1]} pairs",
                "Give fewer frequencies.",
            )
        )
    cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
    first, second = pair_columns(n_turning, layout)
    a, b = x[..., first], x[..., second]
    turned = x.copy()
    turned[..., first] = a * cos - b * sin
    turned[..., second] = a * sin + b * cos
    return turned


def rotate(
    x: Queries,
    positions: PositionIds,
    *,
    base: float = 10_000.0,
    layout: str = HALF_SPLIT,
    frequencies: Frequencies | None = None,
    attention_factor: float = 1.0,
) -> Queries:
    """Queries or keys with each pair of columns turned by position times the pair's frequency.

    Parameters
    ----------
    x
        Array `(head, token, d_head)`.
    positions
        Position of each token.
    base
        Pair i turns by position / base^(2i / d_head) radians, where no frequencies are given.
    layout
        `interleaved` pairs neighbours (0-1, 2-3: GPT-J, the paper), `half-split` pairs column i with
        column i + d_head / 2 (Llama, GPT-NeoX).
    frequencies
        Radians a token for each pair; fewer than d_head / 2 leave the last columns as they are.
    attention_factor
        Multiplies sines and cosines (YaRN).

    Raises
    ------
    SettingError
        If d_head is odd, or too small for the frequencies.

    Notes
    -----
    Angles, sines and cosines are float64; the result has the dtype of x.

    References
    ----------
    Su et al. 2021, section 3.4.

    Examples
    --------
    >>> rotate(np.array([[[1.0, 2, 3, 4]]]), np.array([1]), layout="interleaved").round(4)
    array([[[-1.1426,  1.9221,  2.9599,  4.0298]]])
    """
    check_even(x.shape[-1])
    turns = rotary_frequencies(x.shape[-1], base=base) if frequencies is None else frequencies
    return Rotation(turns, layout, attention_factor)(x, positions)


def check_even(d_head: int) -> None:
    """Refuse a head whose columns do not make pairs.

    Raises
    ------
    SettingError
        If d_head is odd.
    """
    if d_head % 2:
        raise SettingError(
            broken_rule(
                "d_head",
                "must be even for rotary positions, which turn pairs of columns",
                f"d_head={d_head}",
                "Try another number of heads or another `d_model`.",
            )
        )


def check_even_heads(d_model: int, n_heads: int) -> None:
    """Refuse a number of heads that leaves each of them columns that do not make pairs.

    Raises
    ------
    SettingError
        If d_head is odd: with the numbers of heads that work, or where none does with the nearest widths that do.

    Examples
    --------
    >>> check_even_heads(12, 4)
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `n_heads` must leave an even d_head for rotary positions, which turn pairs of \
columns; got n_heads=4, d_model=12 (d_head=3). Try 1, 2, 3 or 6 heads.
    """
    d_head = d_model // n_heads
    if d_head % 2 == 0:
        return
    fitting = [count for count in range(1, d_model // 2 + 1) if d_model % (2 * count) == 0]
    found = f"n_heads={n_heads}, d_model={d_model} (d_head={d_head})"
    if fitting:
        rule = "must leave an even d_head for rotary positions, which turn pairs of columns"
        heads = "head" if fitting == [1] else "heads"
        raise SettingError(broken_rule("n_heads", rule, found, f"Try {listed(fitting)} {heads}."))
    rule = "must give each head an even number of columns for rotary positions, which turn pairs of them"
    widths = [n_heads * columns for columns in (d_head - 1, d_head + 1) if columns]
    raise SettingError(broken_rule("d_model", rule, found, f"Try d_model={listed(widths)}."))
