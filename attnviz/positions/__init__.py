"""Position methods: how attention learns where a token stands."""

from __future__ import annotations

from attnviz.positions import absolute, relative
from attnviz.positions.absolute import sinusoidal_table
from attnviz.positions.effects import Positional, PositionShape
from attnviz.positions.relative import alibi_slopes, rotate

__all__ = ["PositionShape", "Positional", "absolute", "alibi_slopes", "relative", "rotate", "sinusoidal_table"]
