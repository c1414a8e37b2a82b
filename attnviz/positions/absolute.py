"""Position methods that add a vector for each place to x."""

from __future__ import annotations

import numpy as np

from attnviz.positions.effects import Curve, Positional, PositionShape
from attnviz.positions.layouts import HALF_SPLIT, INTERLEAVED, pair_columns
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Choice, Range
from attnviz.shapes import Embedded, PositionIds


def sinusoidal_table(
    positions: PositionIds, d_model: int, *, base: float = 10_000.0, layout: str = INTERLEAVED
) -> Embedded:
    """Sines and cosines of each position, as an array `(token, d_model)`.

    Parameters
    ----------
    positions
        Position of each token.
    d_model
        Number of columns.
    base
        Wave i has the length 2π base^(2i / d_model).
    layout
        `interleaved`: sines in the even columns, cosines in the odd ones. `half-split`: all sines, then all cosines.

    Raises
    ------
    SettingError
        If there is no such layout.

    Notes
    -----
    PE[p, 2i] = sin(p / base^(2i / d_model)), PE[p, 2i+1] = cos(the same). An odd `d_model` has one more sine.

    References
    ----------
    Vaswani et al. 2017, section 3.5.

    Examples
    --------
    >>> sinusoidal_table(np.array([1]), 5).round(4).tolist()
    [[0.8415, 0.5403, 0.0251, 0.9997, 0.0006]]
    """
    angle = positions[:, None] / base ** (np.arange(0, d_model, 2) / d_model)
    sines, cosines = pair_columns(d_model, layout)
    table = np.empty((len(positions), d_model))
    table[:, sines] = np.sin(angle)
    table[:, cosines] = np.cos(angle[:, : d_model // 2])
    return table


@POSITIONS.register(label="None", group="Absolute", source="Vaswani et al. 2017, section 3.5")
def none(shape: PositionShape) -> Positional:
    """Attention sees a set of tokens: it cannot tell their order."""
    del shape
    return Positional()


@POSITIONS.register(label="Sinusoidal", group="Absolute", source="Vaswani et al. 2017, section 3.5")
def sinusoidal(
    shape: PositionShape,
    *,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
    layout: Annotated[str, Choice((INTERLEAVED, HALF_SPLIT))] = INTERLEAVED,
) -> Positional:
    """Adds waves of many lengths to x: near places get similar vectors, and a shift is a rotation.

    Parameters
    ----------
    base
        Sets the longest wave, up to 2π times as many tokens: the larger, the longer a text whose places differ.
    layout
        Sine and cosine of a wave side by side (interleaved, as in the paper, and where designed heads look for them)
        or all sines first (half-split, as in Marian).
    """
    pairs = np.arange((shape.d_model + 1) // 2)
    lengths = 2 * np.pi * base ** (2 * pairs / shape.d_model)
    return Positional(
        add=lambda positions: sinusoidal_table(positions, shape.d_model, base=base, layout=layout),
        curves=(
            Curve("Wavelength", "tokens", "pair of columns", pairs, lengths, "2π base^(2i / d_model)", is_log=True),
        ),
    )


@POSITIONS.register(label="Learned", group="Absolute", source="Gehring et al. 2017, section 3.1")
def learned(shape: PositionShape) -> Positional:
    """Adds one free vector for each place; here untrained, so each is drawn from the seed.

    Notes
    -----
    Standard normal over sqrt(2): the same mean square as a sinusoidal encoding. The vector of a place depends
    on the seed, the place and `d_model` only, so a longer text keeps the vectors it had.
    """

    def add(positions: PositionIds) -> Embedded:
        length = int(positions.max(initial=0)) + 1
        table = np.random.default_rng([shape.seed, 0x9E]).standard_normal((length, shape.d_model))
        return table[positions] / np.sqrt(2.0)

    return Positional(add=add)
