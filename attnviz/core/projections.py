"""The four matrices of a layer, W_Q, W_K, W_V, W_O, and their columns split into heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.designed import design_heads
from attnviz.shapes import Context, Matrix


@dataclass(frozen=True, eq=False)
class Projections:
    """The columns of W_Q, W_K and W_V belong to one head after the other; the rows of W_O to their values.

    Attributes
    ----------
    W_Q, W_K, W_V, W_O
        `(d_model, n_heads d_head)`, `(d_model, n_kv_heads d_head)`, `(d_model, n_kv_heads d_value)` and
        `(n_heads d_value, d_model)`.
    """

    W_Q: Float[np.ndarray, "d_model q_columns"]
    W_K: Float[np.ndarray, "d_model k_columns"]
    W_V: Float[np.ndarray, "d_model v_columns"]
    W_O: Float[np.ndarray, "v_rows d_out"]

    def __post_init__(self) -> None:
        for matrix in (self.W_Q, self.W_K, self.W_V, self.W_O):
            matrix.flags.writeable = False


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


def make_projections(
    kind: str, d_model: int, n_heads: int, seed: int, *, n_kv_heads: int | None = None, d_value: int | None = None
) -> Projections:
    """Random or designed matrices in float32.

    Notes
    -----
    Random entries are normal with variance 1 / d_model, so that a query times a key has variance d_head for an
    x of unit variance. Designed heads set W_Q and W_K; W_V and W_O are the random ones. A designed key head that
    serves several query heads is the mean of theirs (Ainslie et al. 2023, section 2.1).
    """
    rng = np.random.default_rng([seed, 0x3])
    drawn = rng.standard_normal((4, d_model, d_model), dtype=np.float32) / np.float32(np.sqrt(d_model))
    reading = design_heads(d_model, n_heads) if kind == "designed" else (drawn[0], drawn[1])
    carrying = (drawn[2], drawn[3])
    if d_value is not None and d_value * n_heads != d_model:
        width = n_heads * d_value
        carrying = (
            rng.standard_normal((d_model, width), dtype=np.float32) / np.float32(np.sqrt(d_model)),
            rng.standard_normal((width, d_model), dtype=np.float32) / np.float32(np.sqrt(width)),
        )
    groups = n_kv_heads or n_heads
    return Projections(
        W_Q=reading[0],
        W_K=_mean_of_groups(reading[1], n_heads, groups) if kind == "designed" else _first(reading[1], n_heads, groups),
        W_V=_first(carrying[0], n_heads, groups),
        W_O=carrying[1],
    )


def _by_group(matrix: Matrix, n_heads: int, n_kv_heads: int) -> Float[np.ndarray, "row kv_head group d_head"]:
    return matrix.reshape(len(matrix), n_kv_heads, n_heads // n_kv_heads, -1)


def _mean_of_groups(matrix: Matrix, n_heads: int, n_kv_heads: int) -> Float[np.ndarray, "row kv_column"]:
    return _by_group(matrix, n_heads, n_kv_heads).mean(axis=2).reshape(len(matrix), -1)


def _first(matrix: Matrix, n_heads: int, n_kv_heads: int) -> Float[np.ndarray, "row kv_column"]:
    return _by_group(matrix, n_heads, n_kv_heads)[:, :, 0].reshape(len(matrix), -1)
