"""The layer around the attention: projections, positions, masks, and every intermediate array kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from attnviz.core.attention import whole
from attnviz.core.config import AttentionConfig
from attnviz.core.pairs import Pairs, pairs_of
from attnviz.core.projections import Projections, make_projections
from attnviz.core.text import embed
from attnviz.core.tiles import scorer
from attnviz.core.trace import AttentionTrace
from attnviz.masks import ALLOW_ALL, build_mask, padded_position_ids
from attnviz.positions import Positional, PositionShape
from attnviz.registries import POSITIONS
from attnviz.shapes import Bias, Context, Embedded, HeadMask, KPositions, PerHead, PositionIds, QPositions, Tokens

MOST_KEPT = 1 << 21


def split_heads(x: Float[np.ndarray, "token d_model"], n_heads: int) -> Float[np.ndarray, "head token d_head"]:
    """Neighbouring columns go to the same head.

    >>> split_heads(np.array([[0.0, 1, 2, 3], [4, 5, 6, 7]]), 2)[0]
    array([[0., 1.],
           [4., 5.]])
    """
    return x.reshape(x.shape[0], n_heads, -1).transpose(1, 0, 2)


def merge_heads(context: Context) -> Float[np.ndarray, "token d_model"]:
    """The heads side by side again; undoes `split_heads`."""
    return context.transpose(1, 0, 2).reshape(context.shape[1], -1)


def attend(config: AttentionConfig, projections: Projections | None = None) -> AttentionTrace:
    """Run one attention layer and keep every intermediate array.

    Maps of more than 2^21 weights (8 MB) are not kept: their rows are computed when they are asked for.

    Parameters
    ----------
    config
        The setting.
    projections
        W_Q, W_K, W_V, W_O; made from the setting where they are left out.

    References
    ----------
    Vaswani et al. 2017, section 3.2.2.

    Examples
    --------
    >>> trace = attend(AttentionConfig(tokens=("to", "be", "or")))
    >>> trace.weights.shape, trace.output.shape
    ((8, 3, 3), (3, 64))
    """
    made = projections or make_projections(
        config.projections,
        config.d_model,
        config.n_heads,
        config.seed,
        n_kv_heads=config.n_kv_heads,
        d_value=config.d_value,
    )
    k_positions = padded_position_ids(config.masks, config.n_k)
    q_positions = k_positions if config.key_tokens is None else np.arange(config.n_q)
    n_positions = 1 + max(int(q_positions.max()), int(k_positions.max()))
    positional = POSITIONS[config.position.name].function(
        PositionShape(config.d_model, config.n_heads, config.seed, n_positions), **dict(config.position.params)
    )
    x = _placed(config, config.tokens, q_positions, positional)
    key_x = x if config.key_tokens is None else _placed(config, config.key_tokens, k_positions, positional)
    query = split_heads(x @ made.W_Q, config.n_heads)
    key, value = (split_heads(key_x @ matrix, config.kv_heads) for matrix in (made.W_K, made.W_V))
    if positional.rotate is not None:
        query, key = positional.rotate(query, q_positions), positional.rotate(key, k_positions)
    made_scorer = scorer(
        query,
        key,
        scale=config.scale,
        pairs=_pairs(config, positional, q_positions, k_positions, x.dtype),
        softcap=config.softcap or None,
        sinks=sink_logits(config) if config.sinks else None,
    )
    return AttentionTrace(
        query_tokens=config.tokens,
        key_tokens=config.tokens if config.key_tokens is None else config.key_tokens,
        x=x,
        key_x=key_x,
        query=query,
        key=key,
        value=value,
        scorer=made_scorer,
        to_output=lambda context: merge_heads(context) @ made.W_O,
        kept=whole(made_scorer, value) if config.n_weights <= MOST_KEPT else None,
        dropout=config.dropout,
        seed=config.seed,
    )


def _pairs(
    config: AttentionConfig,
    positional: Positional,
    q_positions: QPositions,
    k_positions: KPositions,
    dtype: np.dtype[np.floating],
) -> Pairs:
    """Mask and bias: arrays where the maps are kept, else made for the rows that are asked for."""
    n_q, n_k = config.n_q, config.n_k
    biased = positional.bias

    def mask_of(rows: slice) -> HeadMask:
        return build_mask(config.masks, n_q, n_k, n_heads=config.n_heads, rows=rows)

    def bias_of(rows: slice) -> Bias:
        assert biased is not None
        return biased(q_positions[rows], k_positions).astype(dtype)

    allows_all = all(spec.name in ALLOW_ALL for spec in config.masks)
    if config.n_weights > MOST_KEPT:
        return Pairs(n_q, n_k, None if allows_all else mask_of, None if biased is None else bias_of)
    every = slice(0, n_q)
    return pairs_of(n_q, n_k, None if allows_all else mask_of(every), None if biased is None else bias_of(every))


def _placed(config: AttentionConfig, tokens: Tokens, positions: PositionIds, positional: Positional) -> Embedded:
    x = embed(tokens, config.d_model, content=config.content, seed=config.seed)
    return x if positional.add is None else x + positional.add(positions).astype(x.dtype)


def sink_logits(config: AttentionConfig) -> PerHead:
    """The learned sink of each head; here untrained, so standard normal, drawn from the seed."""
    return np.random.default_rng([config.seed, 0x51]).standard_normal(config.n_heads)
