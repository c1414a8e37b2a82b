"""Multi-head attention, every step of it kept: the arithmetic behind the visualiser.

>>> from attnviz import AttentionConfig, attend
>>> trace = attend(AttentionConfig(tokens=("the", "cat", "sat"), n_heads=4))
>>> trace.weights.sum(axis=-1).round(6).tolist()[0]
[1.0, 1.0, 1.0]
"""

from __future__ import annotations

from attnviz.core import (
    AttentionConfig,
    AttentionTrace,
    attend,
    masked_softmax,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from attnviz.errors import AttnvizError
from attnviz.masks import (
    build_mask,
    decode_drawing,
    encode_drawing,
    flex_attention_code,
    numpy_code,
    sdpa_code,
    toggled,
)
from attnviz.metrics import measured, uniform_weights
from attnviz.positions import alibi_slopes, rotate, sinusoidal_table
from attnviz.registries import MASKS, METRICS, POSITIONS, RECIPES, SIMILARITIES

__all__ = [
    "MASKS",
    "METRICS",
    "POSITIONS",
    "RECIPES",
    "SIMILARITIES",
    "AttentionConfig",
    "AttentionTrace",
    "AttnvizError",
    "alibi_slopes",
    "attend",
    "build_mask",
    "decode_drawing",
    "encode_drawing",
    "flex_attention_code",
    "masked_softmax",
    "measured",
    "merge_heads",
    "numpy_code",
    "rotate",
    "scaled_dot_product_attention",
    "sdpa_code",
    "sinusoidal_table",
    "split_heads",
    "toggled",
    "uniform_weights",
]
