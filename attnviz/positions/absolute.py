"""Position methods that add a vector for each place to x."""

from __future__ import annotations

import numpy as np

from attnviz.positions.effects import Positional, PositionShape
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Range
from attnviz.shapes import Embedded, PositionIds


def sinusoidal_table(positions: PositionIds, d_model: int, *, base: float = 10_000.0) -> Embedded:
    """Sines in the even columns, cosines in the odd ones, as an array `(token, d_model)`.

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
    column = np.arange(d_model)
    angle = positions[:, None] / base ** ((column - column % 2) / d_model)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


@POSITIONS.register(label="None", group="Absolute", source="Vaswani et al. 2017, section 3.5")
def none(shape: PositionShape) -> Positional:
    """Attention sees a set of tokens: it cannot tell their order."""
    del shape
    return Positional()


@POSITIONS.register(label="Sinusoidal", group="Absolute", source="Vaswani et al. 2017, section 3.5")
def sinusoidal(shape: PositionShape, *, base: Annotated[float, Range(10, 1_000_000)] = 10_000.0) -> Positional:
    """Adds waves of many lengths to x: near places get similar vectors, and a shift is a rotation.

    Parameters
    ----------
    base
        Sets the longest wave, up to 2π times as many tokens: the larger, the longer a text whose places differ.
    """
    return Positional(add=lambda positions: sinusoidal_table(positions, shape.d_model, base=base))


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
