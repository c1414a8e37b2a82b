"""The registries themselves, without their entries, so that every layer can read and extend them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.registry import Registry
from attnviz.shapes import HeadMask, KIndex, Mask, PerHead, PerQuery, QIndex

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Concatenate, TypeAlias

    from attnviz.core.columns import Columns
    from attnviz.core.designed import DesignedHead
    from attnviz.core.rows import Rows
    from attnviz.core.trace import AttentionTrace
    from attnviz.metrics.alike import Alike
    from attnviz.metrics.spectra import Spectra
    from attnviz.positions.effects import Positional, PositionShape

    MaskRule: TypeAlias = Registry[Concatenate[QIndex, KIndex, ...], Mask | HeadMask]
    PositionMethod: TypeAlias = Registry[Concatenate[PositionShape, ...], Positional]
    Recipe: TypeAlias = Registry[Concatenate[Columns, ...], DesignedHead]
    Metric: TypeAlias = Registry[Concatenate[Rows, ...], PerQuery]
    SpectrumMeasure: TypeAlias = Registry[Concatenate[Spectra, ...], PerHead]
    Similarity: TypeAlias = Registry[Concatenate[Sequence[AttentionTrace], ...], Alike]

MASKS: MaskRule = Registry("mask", groups=("Structure", "Sparsity", "Padding"))
POSITIONS: PositionMethod = Registry("position", groups=("Absolute", "Rotary", "Bias"))
RECIPES: Recipe = Registry("recipe", groups=("Content", "Position", "Baseline"))
METRICS: Metric = Registry("metric", groups=("Focus", "Distance", "Place", "Words", "Output"))
SPECTRA: SpectrumMeasure = Registry("spectrum", groups=("Rank",))
SIMILARITIES: Similarity = Registry("similarity", groups=("Maps", "Outputs", "Weights"))
