"""Scaled dot-product attention and the layer around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from threadpoolctl import ThreadpoolController

from attnviz.core.config import AttentionConfig
from attnviz.core.projections import Projections, make_projections
from attnviz.core.text import embed
from attnviz.core.trace import AttentionTrace
from attnviz.errors import SettingError, broken_rule
from attnviz.masks import build_mask, padded_position_ids
from attnviz.positions import PositionShape
from attnviz.registries import POSITIONS
from attnviz.shapes import Bias, Context, HeadMask, Keys, Mask, Queries, Scores, Values, Weights

TILE_CELLS = 1 << 19
SAFE_SCORE = 64.0
_blas = ThreadpoolController()
_pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="attention")


class Attention(NamedTuple):
    """What `scaled_dot_product_attention` returns, each `(head, q, ...)`."""

    scores: Scores
    weights: Weights
    context: Context


def masked_softmax(
    scores: Float[np.ndarray, "*rows k"], mask: Bool[np.ndarray, "..."] | None = None
) -> Float[np.ndarray, "*rows k"]:
    """Weights of each row over its allowed keys; a row with no allowed key is all 0.

    Notes
    -----
    exp(s - max s) / sum, the maximum and the sum over allowed keys only, so that no score overflows and a
    forbidden key may hold NaN or inf without effect.

    Examples
    --------
    >>> masked_softmax(np.array([[1000.0, 999.0, 0.0]])).round(4)
    array([[0.7311, 0.2689, 0.    ]])
    >>> masked_softmax(np.zeros((2, 2)), np.array([[True, False], [False, False]]))
    array([[1., 0.],
           [0., 0.]])
    """
    weights = np.empty_like(scores)
    _exponentials(weights, scores, None if mask is None else np.broadcast_to(mask, scores.shape))
    _normalise(weights)
    return weights


@np.errstate(over="ignore", invalid="ignore")
def _exponentials(weights: np.ndarray, biased: np.ndarray, mask: np.ndarray | None) -> None:
    allowed = biased if mask is None else np.where(mask, biased, biased.dtype.type(-np.inf))
    highest = allowed.max(axis=-1, keepdims=True, initial=-np.inf)
    highest[highest == -np.inf] = 0
    np.subtract(allowed, highest, out=weights)
    np.exp(weights, out=weights)


def _normalise(weights: np.ndarray) -> None:
    total = (weights @ np.ones(weights.shape[-1], dtype=weights.dtype))[..., None]
    total[total == 0] = 1
    weights /= total


def _are_safe(query: Queries, key: Keys, bias: Bias | None) -> bool:
    """Whether no score plus bias can leave ±64, where exponentials need no row maximum taken off."""
    if 0 in query.shape or 0 in key.shape:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        most = np.sqrt(np.vecdot(query, query).max() * np.vecdot(key, key).max())
        return bool(most + (0.0 if bias is None else np.abs(bias).max()) <= SAFE_SCORE)


def scaled_dot_product_attention(
    query: Queries,
    key: Keys,
    value: Values,
    *,
    mask: Mask | HeadMask | None = None,
    bias: Bias | None = None,
    scale: float | None = None,
) -> Attention:
    """Each query's weighted average of the values, with the scores and weights that led to it.

    Parameters
    ----------
    query, key, value
        Arrays `(head, q, d_head)`, `(kv_head, k, d_head)`, `(kv_head, k, d_value)`. With fewer key/value heads
        than query heads, each serves the same number of consecutive query heads.
    mask
        True = may attend, `(q, k)` or `(head, q, k)`.
    bias
        Added to the scaled scores.
    scale
        Multiplies query times key; 1 / sqrt(d_head) where it is left out.

    Returns
    -------
    Attention
        `scores` before bias and mask, `weights`, `context`, in the dtype of the query.

    Raises
    ------
    SettingError
        If the heads of the query are not a multiple of those of the key.

    Notes
    -----
    softmax(query key^T scale + bias) value over the allowed keys. A row with no allowed key has weights 0 and
    context 0; a forbidden key has no effect even if it holds NaN or inf.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1; grouped heads: Ainslie et al. 2023, section 2.

    Examples
    --------
    >>> x = np.array([[[1.0, 0], [0, 1], [1, 1]]])
    >>> attention = scaled_dot_product_attention(x, x, x, mask=np.tril(np.ones((3, 3), bool)))
    >>> attention.weights[0].round(4)
    array([[1.    , 0.    , 0.    ],
           [0.3302, 0.6698, 0.    ],
           [0.2483, 0.2483, 0.5035]])
    """
    n_heads, n_q, d_head = query.shape
    n_kv_heads, n_k, _ = key.shape
    if n_heads % n_kv_heads:
        raise SettingError(
            broken_rule(
                "n_kv_heads",
                "must divide `n_heads`",
                f"n_heads={n_heads}, n_kv_heads={n_kv_heads}",
                "Repeat or drop key/value heads.",
            )
        )
    group = n_heads // n_kv_heads
    scaled = query * query.dtype.type(1 / np.sqrt(d_head) if scale is None else scale)
    full_mask = None if mask is None or mask.all() else np.broadcast_to(mask, (n_heads, n_q, n_k))
    full_bias = None if bias is None else np.broadcast_to(bias, (n_heads, n_q, n_k))
    are_safe = _are_safe(scaled, key, bias)
    finite = bool(np.isfinite(value).all())
    usable = value if finite else np.where(np.isfinite(value), value, value.dtype.type(0))

    scores = np.empty((n_heads, n_q, n_k), dtype=query.dtype)
    weights = np.empty_like(scores)
    context = np.empty((n_heads, n_q, value.shape[2]), dtype=query.dtype)

    def work(head: int, rows: slice) -> None:
        with np.errstate(invalid="ignore", over="ignore"):
            np.matmul(scaled[head, rows], key[head // group].T, out=scores[head, rows])
        tile, biased = weights[head, rows], scores[head, rows]
        if full_bias is not None:
            biased = np.add(biased, full_bias[head, rows], out=tile, casting="same_kind")
        allowed = None if full_mask is None or full_mask[head, rows].all() else full_mask[head, rows]
        if are_safe and allowed is None:
            np.exp(biased, out=tile)
        else:
            _exponentials(tile, biased, allowed)
        _normalise(tile)
        np.matmul(tile, usable[head // group], out=context[head, rows])

    _run_tiles(work, n_heads, n_q, n_k)
    if not finite:
        _average_non_finite(weights, np.repeat(value, group, axis=0), full_mask, context)
    return Attention(scores, weights, context)


def _average_non_finite(weights: Weights, value: Values, mask: np.ndarray | None, context: Context) -> None:
    """Recompute the rows that really attend to a NaN or inf, so that it reaches them and no other row."""
    broken = np.any(~np.isfinite(value), axis=2, keepdims=True).transpose(0, 2, 1)
    allowed = np.ones(weights.shape, dtype=bool) if mask is None else mask
    reached = np.any(allowed & broken, axis=2)
    for head, row in np.argwhere(reached):
        keys = allowed[head, row]
        with np.errstate(invalid="ignore"):
            context[head, row] = weights[head, row, keys] @ value[head, keys]


def _run_tiles(work: Callable[[int, slice], None], n_heads: int, n_q: int, n_k: int) -> None:
    tiles = list(_tiles(n_heads, n_q, n_k))
    if n_heads * n_q * n_k < TILE_CELLS:
        for head, rows in tiles:
            work(head, rows)
    else:
        with _blas.limit(limits=1, user_api="blas"):
            list(_pool.map(work, *zip(*tiles, strict=True)))


def _tiles(n_heads: int, n_q: int, n_k: int) -> Iterator[tuple[int, slice]]:
    step = max(1, TILE_CELLS // max(n_k, 1))
    for head in range(n_heads):
        for start in range(0, n_q, step):
            yield head, slice(start, min(start + step, n_q))


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
    """Run one self-attention layer and keep every intermediate array.

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
    made = projections or make_projections(config.projections, config.d_model, config.n_heads, config.seed)
    positional = POSITIONS[config.position.name].function(
        PositionShape(config.d_model, config.n_heads, config.seed), **dict(config.position.params)
    )
    positions = padded_position_ids(config.masks, config.n_tokens)
    x = embed(config.tokens, config.d_model, content=config.content, seed=config.seed)
    if positional.add is not None:
        x = x + positional.add(positions).astype(x.dtype)
    query, key, value = (split_heads(x @ matrix, config.n_heads) for matrix in (made.W_Q, made.W_K, made.W_V))
    if positional.rotate is not None:
        query, key = positional.rotate(query, positions), positional.rotate(key, positions)
    bias = None if positional.bias is None else positional.bias(positions, positions).astype(x.dtype)
    mask = build_mask(config.masks, config.n_tokens, config.n_tokens)[None]
    attention = scaled_dot_product_attention(
        query, key, value, mask=mask, bias=bias, scale=config.sharpness / np.sqrt(config.d_head)
    )
    return AttentionTrace(
        query_tokens=config.tokens,
        key_tokens=config.tokens,
        x=x,
        query=query,
        key=key,
        value=value,
        scores=attention.scores,
        bias=np.zeros((1, 1, 1), dtype=x.dtype) if bias is None else bias,
        mask=mask,
        weights=attention.weights,
        context=attention.context,
        output=merge_heads(attention.context) @ made.W_O,
    )
