"""Relative positions of image patches, which have a row and a column."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from attnviz.positions.effects import Positional, PositionShape
from attnviz.positions.relative import distances, look_up
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Range
from attnviz.shapes import Bias, BiasTable, KPositions, QPositions


def grid_index(q_positions: QPositions, k_positions: KPositions, grid_width: int) -> Int[np.ndarray, "q k"]:
    """The row of the bias table for each pair of patches that are numbered line by line.

    Notes
    -----
    For w = `grid_width`, and the query d lines below and a columns right of the key, (d + w - 1)(2w - 1) + a + w - 1.
    A grid higher than wide has distances of w lines and more; they count as w - 1.

    References
    ----------
    Liu et al. 2021, section 3.2; their code, `relative_position_index`.

    Examples
    --------
    >>> grid_index(np.arange(4), np.arange(4), grid_width=2)
    array([[4, 3, 1, 0],
           [5, 4, 2, 1],
           [7, 6, 4, 3],
           [8, 7, 5, 4]])
    """
    most = grid_width - 1
    lines_below = np.clip(-distances(q_positions // grid_width, k_positions // grid_width), -most, most)
    columns_right = -distances(q_positions % grid_width, k_positions % grid_width)
    return (lines_below + most) * (2 * grid_width - 1) + columns_right + most


def grid_table(grid_width: int, n_heads: int, seed: int) -> BiasTable:
    """Bias of each row of `grid_index` and head (column): untrained, so standard normal from the seed."""
    return np.random.default_rng([seed, 0x2D]).standard_normal(((2 * grid_width - 1) ** 2, n_heads))


@POSITIONS.register(label="2-D relative (Swin)", group="Bias", source="Liu et al. 2021, section 3.2")
def grid_bias(shape: PositionShape, *, grid_width: Annotated[int, Range(1, 32, unit="patches")] = 4) -> Positional:
    """Reads the tokens as patches of an image, line by line, and adds one number for each step down and across.

    Parameters
    ----------
    grid_width
        How many patches stand in one line of the image; the numbers are untrained, so drawn from the seed.
    """
    table = grid_table(grid_width, shape.n_heads, shape.seed)

    def bias(q_positions: QPositions, k_positions: KPositions) -> Bias:
        return look_up(table, grid_index(q_positions, k_positions, grid_width))

    return Positional(bias=bias, grid_width=grid_width)
