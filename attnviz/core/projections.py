"""The four matrices of a layer: W_Q, W_K, W_V, W_O."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.core.designed import design_heads
from attnviz.shapes import Matrix


@dataclass(frozen=True, eq=False)
class Projections:
    """Matrices `(d_model, d_model)`; head h has the columns h * d_head to (h + 1) * d_head of the first three."""

    W_Q: Matrix
    W_K: Matrix
    W_V: Matrix
    W_O: Matrix

    def __post_init__(self) -> None:
        for matrix in (self.W_Q, self.W_K, self.W_V, self.W_O):
            matrix.flags.writeable = False


def make_projections(kind: str, d_model: int, n_heads: int, seed: int) -> Projections:
    """Random or designed matrices in float32.

    Notes
    -----
    Random entries are normal with variance 1 / d_model, so that a query times a key has variance d_head for an
    x of unit variance. Designed heads set W_Q and W_K; W_V and W_O are the random ones.
    """
    rng = np.random.default_rng([seed, 0x3])
    shape = (4, d_model, d_model)
    drawn = rng.standard_normal(shape, dtype=np.float32) / np.float32(np.sqrt(d_model))
    if kind == "designed":
        drawn[0], drawn[1] = design_heads(d_model, n_heads)
    return Projections(*drawn)
