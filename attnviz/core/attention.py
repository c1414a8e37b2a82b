"""Scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attnviz.core.config import check_groups
from attnviz.core.pairs import pairs_of
from attnviz.core.tiles import Rooms, Scorer, Tile, for_each, scorer, tiles, used_columns
from attnviz.errors import SettingError, broken_rule
from attnviz.shapes import Bias, Context, HeadMask, Keys, Mask, PerHead, Queries, Scores, Values, Weights

ROOMS = Rooms()


@dataclass(frozen=True, eq=False)
class Attention:
    """What `scaled_dot_product_attention` returns; can be unpacked into scores, weights and context.

    Attributes
    ----------
    query, key, scale
        What the scores come from.
    weights
        Softmax of the scores over the allowed keys, `(head, q, k)`.
    context
        Weights times value, `(head, q, d_value)`.
    """

    query: Queries
    key: Keys
    scale: float
    weights: Weights
    context: Context

    @cached_property
    def scores(self) -> Scores:
        """Query times key times the scale, before soft cap, bias and mask; computed when first asked for."""
        return scores_of(self.query, self.key, self.scale)

    def __iter__(self) -> Iterator[np.ndarray]:
        yield from (self.scores, self.weights, self.context)


@np.errstate(over="ignore", invalid="ignore")
def scores_of(query: Queries, key: Keys, scale: float) -> Scores:
    """Query times key times the scale; each key head serves as many consecutive query heads."""
    scaled = query * query.dtype.type(scale)
    return np.matmul(scaled, np.repeat(key, len(query) // len(key), axis=0).transpose(0, 2, 1))


def scaled_dot_product_attention(
    query: Queries,
    key: Keys,
    value: Values,
    *,
    mask: Mask | HeadMask | None = None,
    bias: Bias | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: PerHead | None = None,
    out: tuple[Weights, Context] | None = None,
) -> Attention:
    """Each query's weighted average of the values, with the weights that led to it.

    Parameters
    ----------
    query, key, value
        Arrays `(head, q, d_head)`, `(kv_head, k, d_head)`, `(kv_head, k, d_value)`. With fewer key/value heads
        than query heads, each serves the same number of consecutive query heads.
    mask
        True = may attend, `(q, k)` or `(head, q, k)`.
    bias
        Added to the scores, after the soft cap.
    scale
        Multiplies query times key; 1 / sqrt(d_head) where it is left out.
    softcap
        Keeps every score within its size: softcap tanh(score / softcap).
    sinks
        For each head the logit of one more key, which takes its part of every row and has no value.
    out
        Arrays that weights and context are written into; new ones where it is left out.

    Returns
    -------
    Attention
        `scores` before soft cap, bias and mask, `weights`, `context`, in the dtype of the query.

    Raises
    ------
    SettingError
        If the heads of the query are not a multiple of those of the key, or the soft cap is not positive.

    Notes
    -----
    softmax(query key^T scale + bias) value over the allowed keys. A row with no allowed key has weights 0 and
    context 0; a forbidden key has no effect even if it holds NaN or inf. Where scores are so large that rounding
    them in float32 would change a weight by 1e-6, they are computed in float64.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1; grouped heads: Ainslie et al. 2023, section 2; soft cap: Gemma Team 2024,
    section 2; sinks: Miller 2023 and gpt-oss model card 2025, section 2.

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
    check_groups(n_heads, n_kv_heads)
    if softcap is not None and not softcap > 0:
        raise SettingError(broken_rule("softcap", "must be more than 0", f"softcap={softcap}", "Try 30, or none."))
    factor = float(1 / np.sqrt(d_head) if scale is None else scale)
    head_mask = mask if mask is None or mask.ndim == 3 else mask[None]
    pairs = pairs_of(n_q, n_k, head_mask, bias)
    made = scorer(query, key, scale=factor, pairs=pairs, softcap=softcap, sinks=sinks)
    if out is None:
        return whole(made, value)
    average(made, value, *out, is_empty=False)
    return Attention(query, key, factor, *out)


def whole(made: Scorer, value: Values) -> Attention:
    """Weights and context of all rows, in new arrays."""
    n_heads, n_q, _ = made.query.shape
    weights = np.zeros((n_heads, n_q, made.pairs.n_k), dtype=made.query.dtype)
    context = np.zeros((n_heads, n_q, value.shape[2]), dtype=made.query.dtype)
    average(made, value, weights, context, is_empty=True)
    return Attention(made.query, made.key, made.scale, weights, context)


def average(made: Scorer, value: Values, weights: Weights, context: Context, *, is_empty: bool) -> None:
    """Write weights, and weights times value.

    Parameters
    ----------
    made
        What the weights depend on.
    value
        What is averaged.
    weights, context
        Where they are written.
    is_empty
        Whether these are all 0 already.
    """
    finite = bool(np.isfinite(value).all())
    usable = value if finite else np.where(np.isfinite(value), value, value.dtype.type(0))
    group = len(weights) // len(value)

    def work(tile: Tile) -> None:
        block = made.block(tile.rows)
        columns = used_columns(block.mask_of(tile.heads), weights.shape[2])
        heads = slice(tile.heads.start, tile.heads.stop)
        kv_heads = slice(heads.start // group, (heads.stop - 1) // group + 1)
        rows, means = weights[heads, tile.rows], context[heads, tile.rows]
        if not is_empty:
            rows[:, :, : columns.start] = rows[:, :, columns.stop :] = means[...] = 0
        if columns.stop > columns.start:
            part = rows[:, :, columns]
            made.fill(part, block, tile.heads, columns, ROOMS)
            np.matmul(part, usable[kv_heads, columns], out=means, casting="same_kind")

    for _ in for_each(work, tiles(*weights.shape, is_grouped=group > 1), weights.size):
        pass
    if not finite:
        _average_non_finite(weights, np.repeat(value, group, axis=0), made.pairs.mask_of, context)


def _average_non_finite(
    weights: Weights, value: Values, mask_of: Callable[[slice], HeadMask] | None, context: Context
) -> None:
    """Recompute the rows that really attend to a NaN or inf, so that it reaches them and no other row."""
    broken = np.any(~np.isfinite(value), axis=2, keepdims=True).transpose(0, 2, 1)
    allowed = np.broadcast_to(True if mask_of is None else mask_of(slice(None)), weights.shape)
    reached = np.any(allowed & broken, axis=2)
    for head, row in np.argwhere(reached):
        keys = allowed[head, row]
        with np.errstate(invalid="ignore"):
            context[head, row] = weights[head, row, keys] @ value[head, keys]
