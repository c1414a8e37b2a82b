"""The attention core: from a setting to every intermediate array."""

from __future__ import annotations

from attnviz.core.attention import Attention, scaled_dot_product_attention
from attnviz.core.config import AttentionConfig
from attnviz.core.dropout import dropped
from attnviz.core.extra_keys import extended_keys
from attnviz.core.layer import attend
from attnviz.core.projections import merge_heads, split_heads
from attnviz.core.softmax import masked_softmax
from attnviz.core.trace import AttentionTrace

__all__ = [
    "Attention",
    "AttentionConfig",
    "AttentionTrace",
    "attend",
    "dropped",
    "extended_keys",
    "masked_softmax",
    "merge_heads",
    "scaled_dot_product_attention",
    "split_heads",
]
