"""Masks: which query may attend to which key.

True = may attend. This is said here once and holds everywhere: it is the convention of
`scaled_dot_product_attention` in PyTorch and of ONNX Attention, and the opposite of `nn.MultiheadAttention`.

A mask function gets q, the place of each query among the keys, and k, the keys: with fewer queries than keys the
queries stand at the end. So it can be asked for some rows alone.
"""

# The order of these imports is the order of the menus.
# isort: off
from __future__ import annotations

from attnviz.masks import structural, sparse, chance, padding, rule, drawing
from attnviz.masks.combine import ALLOW_ALL, build_mask, padded_position_ids, rows_without_keys
from attnviz.masks.drawing import decode_drawing, drawing_of, encode_drawing, toggled
from attnviz.masks.export import flex_attention_code, numpy_code, sdpa_code

__all__ = [
    "ALLOW_ALL",
    "build_mask",
    "chance",
    "decode_drawing",
    "drawing",
    "drawing_of",
    "encode_drawing",
    "flex_attention_code",
    "numpy_code",
    "padded_position_ids",
    "padding",
    "rows_without_keys",
    "rule",
    "sdpa_code",
    "sparse",
    "structural",
    "toggled",
]
