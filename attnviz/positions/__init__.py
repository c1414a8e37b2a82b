"""Position methods: how attention learns where a token stands."""

from __future__ import annotations

from attnviz.positions import absolute, grid, relative, rotary, scaled
from attnviz.positions.absolute import sinusoidal_table
from attnviz.positions.effects import Curve, Positional, PositionShape
from attnviz.positions.frequencies import (
    dynamic_ntk_frequencies,
    linear_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    rotary_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)
from attnviz.positions.grid import grid_index, grid_table
from attnviz.positions.relative import (
    alibi_slopes,
    learned_bias_table,
    look_up,
    t5_buckets,
    t5_first_distances,
    t5_table,
)
from attnviz.positions.turning import Rotation, rotate, turn_pairs

__all__ = [
    "Curve",
    "PositionShape",
    "Positional",
    "Rotation",
    "absolute",
    "alibi_slopes",
    "dynamic_ntk_frequencies",
    "grid",
    "grid_index",
    "grid_table",
    "learned_bias_table",
    "linear_frequencies",
    "llama3_frequencies",
    "look_up",
    "ntk_frequencies",
    "relative",
    "rotary",
    "rotary_frequencies",
    "rotate",
    "scaled",
    "sinusoidal_table",
    "t5_buckets",
    "t5_first_distances",
    "t5_table",
    "turn_pairs",
    "yarn_attention_factor",
    "yarn_frequencies",
]
