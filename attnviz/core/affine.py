"""The maps around the attention: a matrix with a bias, and LayerNorm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from attnviz.shapes import Embedded, Matrix

Row = Float[np.ndarray, " column"]


class Affine(NamedTuple):
    """x W + b, with W `(d_in, d_out)`; without b where that is None."""

    W: Matrix
    b: Row | None = None

    def __call__(self, x: Float[np.ndarray, "token d_in"]) -> Float[np.ndarray, "token d_out"]:
        """The rows of x, mapped."""
        return x @ self.W if self.b is None else x @ self.W + self.b


class LayerNorm(NamedTuple):
    """Each row brought to mean 0 and variance 1, then stretched and shifted column by column."""

    gain: Row
    shift: Row
    epsilon: float

    def __call__(self, x: Embedded) -> Embedded:
        """The rows of x, normalised.

        Notes
        -----
        gain (x - mean) / sqrt(variance + epsilon) + shift; mean and variance in float64.

        References
        ----------
        Ba et al. 2016, section 3.

        Examples
        --------
        >>> LayerNorm(np.ones(3), np.zeros(3), 0.0)(np.array([[1.0, 2, 3]])).round(4)
        array([[-1.2247,  0.    ,  1.2247]])
        """
        centred = x - x.mean(axis=-1, keepdims=True, dtype=np.float64)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        return (centred / np.sqrt(variance + self.epsilon)).astype(x.dtype) * self.gain + self.shift
