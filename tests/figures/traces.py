"""Traces with given weights, and tokens that a careless picture gets wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz import AttentionConfig, AttentionTrace, attend, masked_softmax
from attnviz.core.affine import Affine
from attnviz.core.attention import Attention
from attnviz.core.origin import Origin, Part
from attnviz.core.pairs import pairs_of
from attnviz.core.tiles import scorer
from attnviz.registry import Spec

NASTY = (
    "<s>",
    "a<b<c",
    "<b>x</b>",
    "$x$",
    "&amp;",
    "",
    " ",
    "\n",
    "\t",
    "Ġthe",
    "▁the",
    "日本",
    "🙂",
    "\ud83d",
    "\u202eabc",
    "שלום",
    "<script>alert(1)</script>",
    "1",
    "2024-01-01",
)


def numbered(n: int) -> tuple[str, ...]:
    return tuple(f"t{place}" for place in range(n))


def trace_of(
    weights: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    tokens: Sequence[str] | None = None,
    scores: np.ndarray | None = None,
    bias: np.ndarray | None = None,
) -> AttentionTrace:
    """A trace with these weights; the other arrays have the right shapes and hold zeros.

    Queries and keys are such that their products are the scores, where these are given.
    """
    n_heads, n_q, n_k = weights.shape
    of_head = np.zeros((n_heads, n_q, 2))
    unit_keys = np.broadcast_to(np.eye(n_k), (n_heads, n_k, n_k)).copy()
    allowed = None if mask is None else np.atleast_3d(mask).reshape(-1, n_q, n_k)
    query = of_head if scores is None else scores
    key = np.zeros((n_heads, n_k, 2)) if scores is None else unit_keys
    return AttentionTrace(
        query_tokens=tuple(tokens or numbered(n_k))[n_k - n_q :],
        key_tokens=tuple(tokens or numbered(n_k)),
        x=np.zeros((n_q, 2 * n_heads)),
        key_x=np.zeros((n_k, 2 * n_heads)),
        query=query,
        key=key,
        value=np.zeros((n_heads, n_k, 2)),
        scorer=scorer(query, key, scale=1.0, pairs=pairs_of(n_q, n_k, allowed, bias), softcap=None, sinks=None),
        origin=origin_of(n_heads, n_q, n_k),
        kept=Attention(query, key, 1.0, weights, of_head),
    )


def origin_of(n_heads: int, n_q: int, n_k: int) -> Origin:
    """An origin of the right shapes that holds zeros."""
    nothing = Affine(np.zeros((2 * n_heads, 2 * n_heads)))
    return Origin(
        query_parts=(Part("word", np.zeros((n_q, 2 * n_heads))),),
        key_parts=(Part("word", np.zeros((n_k, 2 * n_heads))),),
        q_positions=np.arange(n_q),
        k_positions=np.arange(n_k),
        to_query=nothing,
        to_key=nothing,
        to_value=nothing,
        to_output=nothing,
    )


def random_trace(n_heads: int, n: int, mask: np.ndarray | None = None, seed: int = 0) -> AttentionTrace:
    """A trace of peaked random heads."""
    allowed = np.ones((n, n), dtype=bool) if mask is None else mask
    scores = np.random.default_rng(seed).normal(0, 3, (n_heads, n, n))
    return trace_of(masked_softmax(scores, allowed), allowed, scores=scores)


def sentence_trace(tokens: Sequence[str], *masks: Spec, n_heads: int = 4) -> AttentionTrace:
    """A real layer over these tokens."""
    return attend(AttentionConfig(tuple(tokens), d_model=16, n_heads=n_heads, masks=masks))
