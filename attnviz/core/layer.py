"""The layer around the attention: projections, positions, masks, and every intermediate array kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.core.affine import Affine
from attnviz.core.attention import whole
from attnviz.core.config import AttentionConfig
from attnviz.core.gating import gates_without
from attnviz.core.origin import Origin, Part
from attnviz.core.pairs import Pairs, pairs_of
from attnviz.core.projections import Projections, make_projections, split_heads
from attnviz.core.text import embed
from attnviz.core.tiles import scorer
from attnviz.core.trace import AttentionTrace
from attnviz.masks import ALLOW_ALL, build_mask, padded_position_ids
from attnviz.positions import Positional, PositionShape
from attnviz.registries import POSITIONS
from attnviz.shapes import Bias, Embedded, HeadMask, KPositions, PerHead, PositionIds, QPositions, Tokens

MOST_KEPT = 1 << 21


def attend(
    config: AttentionConfig, projections: Projections | None = None, *, order: Sequence[int] | None = None
) -> AttentionTrace:
    """Run one attention layer and keep every intermediate array.

    Maps of more than 2^21 weights (8 MB) are not kept: their rows are computed when they are asked for.

    Parameters
    ----------
    config
        The setting.
    projections
        W_Q, W_K, W_V, W_O; made from the setting where they are left out.
    order
        Which token stands at each place of the keys, and in self-attention of the queries; in the order of the setting
        where it is left out.

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
    is_cross = config.key_tokens is not None
    key_parts = _parts(config, config.key_tokens or config.tokens, k_positions, positional, order, are_others=is_cross)
    query_parts = key_parts if config.key_tokens is None else _parts(config, config.tokens, q_positions, positional)
    key_x = _sum(key_parts)
    x = key_x if config.key_tokens is None else _sum(query_parts)
    origin = Origin(
        query_parts=query_parts,
        key_parts=key_parts,
        q_positions=q_positions,
        k_positions=k_positions,
        to_query=Affine(made.W_Q),
        to_key=Affine(made.W_K),
        to_value=Affine(made.W_V),
        to_output=Affine(made.W_O),
        rotation=positional.rotate,
        grid_width=positional.grid_width,
    )
    query = split_heads(origin.to_query(x), config.n_heads)
    key, value = (split_heads(to(key_x), config.kv_heads) for to in (origin.to_key, origin.to_value))
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
    key_tokens = _ordered(config.key_tokens or config.tokens, order)
    return AttentionTrace(
        query_tokens=config.tokens if config.key_tokens else key_tokens,
        key_tokens=key_tokens,
        x=x,
        key_x=key_x,
        query=query,
        key=key,
        value=value,
        scorer=made_scorer,
        origin=origin,
        kept=whole(made_scorer, value) if config.n_weights <= MOST_KEPT else None,
        dropout=config.dropout,
        seed=config.seed,
        gates=gates_without(config.removed, config.n_heads, config.stand_in),
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


def _parts(
    config: AttentionConfig,
    tokens: Tokens,
    positions: PositionIds,
    positional: Positional,
    order: Sequence[int] | None = None,
    *,
    are_others: bool = False,
) -> tuple[Part, ...]:
    """What x is the sum of: the content of the tokens, and what the position method adds."""
    content = embed(tokens, config.d_model, content=config.content, seed=config.seed, are_others=are_others)
    word = Part("word" if config.content == "words" else "vector", content if order is None else content[list(order)])
    if positional.add is None:
        return (word,)
    return word, Part("position", positional.add(positions).astype(content.dtype))


def _sum(parts: tuple[Part, ...]) -> Embedded:
    return parts[0].rows if len(parts) == 1 else parts[0].rows + parts[1].rows


def _ordered(tokens: Tokens, order: Sequence[int] | None) -> Tokens:
    return tokens if order is None else tuple(tokens[place] for place in order)


def sink_logits(config: AttentionConfig) -> PerHead:
    """The learned sink of each head; here untrained, so standard normal, drawn from the seed."""
    return np.random.default_rng([config.seed, 0x51]).standard_normal(config.n_heads)
