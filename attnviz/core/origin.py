"""Where the arrays of a layer come from: what x is the sum of, and the maps around the attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attnviz.core.affine import Affine, LayerNorm
from attnviz.positions import Rotation
from attnviz.shapes import Embedded, KPositions, QPositions


class Part(NamedTuple):
    """One of the arrays that x is the sum of, and what it tells of each token."""

    name: str
    rows: Embedded


@dataclass(frozen=True, eq=False)
class Origin:
    """What is needed to compute query, key, value and output of a layer again, number by number.

    Attributes
    ----------
    query_parts, key_parts
        What the x of the queries, and of the keys, is the sum of.
    norm
        Brings the sum to x, where that is not the sum itself.
    q_positions, k_positions
        Position of each query and key.
    to_query, to_key, to_value, to_output
        W_Q, W_K, W_V and W_O with their biases.
    rotation
        Turns query and key, where the position method does.
    grid_width
        Patches in a line of the image, where the tokens are read as patches; else None.
    """

    query_parts: tuple[Part, ...]
    key_parts: tuple[Part, ...]
    q_positions: QPositions
    k_positions: KPositions
    to_query: Affine
    to_key: Affine
    to_value: Affine
    to_output: Affine
    norm: LayerNorm | None = None
    rotation: Rotation | None = None
    grid_width: int | None = None
