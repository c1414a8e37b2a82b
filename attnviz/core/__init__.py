"""The attention core: from a setting to every intermediate array."""

from __future__ import annotations

from attnviz.core.attention import attend, masked_softmax, merge_heads, scaled_dot_product_attention, split_heads
from attnviz.core.config import AttentionConfig
from attnviz.core.trace import AttentionTrace

__all__ = [
    "AttentionConfig",
    "AttentionTrace",
    "attend",
    "masked_softmax",
    "merge_heads",
    "scaled_dot_product_attention",
    "split_heads",
]
