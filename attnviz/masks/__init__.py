"""Masks: which query may attend to which key.

True = may attend. This is said here once and holds everywhere: it is the convention of
`scaled_dot_product_attention` in PyTorch and of ONNX Attention, and the opposite of `nn.MultiheadAttention`.
"""

from __future__ import annotations

from attnviz.masks import padding, sparse, structural
from attnviz.masks.combine import build_mask, padded_position_ids, rows_without_keys

__all__ = ["build_mask", "padded_position_ids", "padding", "rows_without_keys", "sparse", "structural"]
