"""Rotary positions: pairs of columns of query and key turn with the position, so that scores see the distance only."""

from __future__ import annotations

import numpy as np

from attnviz.errors import SettingError, broken_rule, listed
from attnviz.positions.effects import Positional, PositionShape
from attnviz.positions.frequencies import rotary_frequencies
from attnviz.positions.layouts import HALF_SPLIT, INTERLEAVED, pair_columns
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Choice, Range
from attnviz.shapes import Frequencies, PositionIds, Queries, Waves


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
    angle = positions[:, None] * turns
    return turn_pairs(x, attention_factor * np.cos(angle), attention_factor * np.sin(angle), layout=layout)


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


def turning_columns(d_head: int, share: float) -> int:
    """How many columns turn when a share of them does, rounded down.

    Raises
    ------
    SettingError
        If d_head or the number of columns is odd.

    Examples
    --------
    >>> turning_columns(16, 0.5)
    8
    >>> turning_columns(4, 0.25)
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `share` must turn an even number of columns, because they turn in pairs; \
got share=0.25, d_head=4 (1 column). Try 0 or 0.5.
    """
    check_even(d_head)
    n_columns = int(d_head * share + 1e-9)
    if n_columns % 2:
        near = [f"{even / d_head:g}" for even in (n_columns - 1, n_columns + 1)]
        columns = "1 column" if n_columns == 1 else f"{n_columns} columns"
        raise SettingError(
            broken_rule(
                "share",
                "must turn an even number of columns, because they turn in pairs",
                f"share={share:g}, d_head={d_head} ({columns})",
                f"Try {listed(near)}.",
            )
        )
    return n_columns


@POSITIONS.register(label="Rotary (RoPE)", group="Rotary", source="Su et al. 2021, section 3.4")
def rotary(
    shape: PositionShape,
    *,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
    layout: Annotated[str, Choice((HALF_SPLIT, INTERLEAVED))] = HALF_SPLIT,
) -> Positional:
    """Turns query and key by an angle that grows with position, so that scores depend on the distance only.

    Parameters
    ----------
    base
        Sets the slowest turn, down to one in 2π times as many tokens: the larger, the longer a text whose places
        differ.
    layout
        Which two columns are turned together: column i with column i + d_head / 2 (half-split, as in Llama) or each
        with its neighbour (interleaved, as in the paper).
    """
    check_even(shape.d_head)
    return Positional(rotate=lambda x, positions: rotate(x, positions, base=base, layout=layout))


@POSITIONS.register(label="Rotary (partial)", group="Rotary", source="Black et al. 2022 (GPT-NeoX-20B), section 2.1.1")
def rotary_partial(
    shape: PositionShape,
    *,
    share: Annotated[float, Range(0, 1, step=0.25)] = 0.5,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
    layout: Annotated[str, Choice((HALF_SPLIT, INTERLEAVED))] = HALF_SPLIT,
) -> Positional:
    """Turns only the first columns of query and key; the others compare words wherever they stand.

    Parameters
    ----------
    share
        Which part of the columns of a head turns: 1 is plain rotary, 0 is no positions.
    base
        Sets the slowest turn, down to one in 2π times as many tokens: the larger, the longer a text whose places
        differ.
    layout
        Which two of the columns that turn are turned together: column i with one half of them further on (half-split,
        as in GPT-NeoX) or each with its neighbour (interleaved, as in GPT-J).
    """
    frequencies = rotary_frequencies(turning_columns(shape.d_head, share), base=base)
    return Positional(rotate=lambda x, positions: rotate(x, positions, layout=layout, frequencies=frequencies))
