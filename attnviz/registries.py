"""The registries themselves, without their entries, so that every layer can read and extend them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.registry import Registry
from attnviz.shapes import HeadMask, HeadPairs, KIndex, Mask, PerQuery, QIndex, Weights

if TYPE_CHECKING:
    from typing import Concatenate, TypeAlias

    from attnviz.core.columns import Columns
    from attnviz.core.designed import DesignedHead
    from attnviz.core.rows import Rows
    from attnviz.positions.effects import Positional, PositionShape

    MaskRule: TypeAlias = Registry[Concatenate[QIndex, KIndex, ...], Mask | HeadMask]
    PositionMethod: TypeAlias = Registry[Concatenate[PositionShape, ...], Positional]
    Recipe: TypeAlias = Registry[Concatenate[Columns, ...], DesignedHead]
    Metric: TypeAlias = Registry[Concatenate[Rows, ...], PerQuery]
    Similarity: TypeAlias = Registry[[Weights], HeadPairs]

MASKS: MaskRule = Registry("mask", groups=("Structure", "Sparsity", "Padding"))
POSITIONS: PositionMethod = Registry("position", groups=("Absolute", "Rotary", "Bias"))
RECIPES: Recipe = Registry("recipe", groups=("Content", "Position", "Baseline"))
METRICS: Metric = Registry("metric", groups=("Focus", "Distance", "Place"))
SIMILARITIES: Similarity = Registry("similarity", groups=("Maps",))
