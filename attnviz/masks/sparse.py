"""Masks that leave out keys to save work."""

from __future__ import annotations

import numpy as np

from attnviz.registries import MASKS
from attnviz.registry import Annotated, Range
from attnviz.shapes import KIndex, Mask, QIndex


@MASKS.register(label="No sparsity", group="Sparsity", source="Vaswani et al. 2017, section 3.2.1")
def dense(q: QIndex, k: KIndex) -> Mask:
    """No key is left out to save work."""
    return np.ones((q.shape[0], k.shape[1]), dtype=bool)


@MASKS.register(label="Sliding window", group="Sparsity", source="Beltagy et al. 2020, section 3.1")
def sliding_window(q: QIndex, k: KIndex, *, window: Annotated[int, Range(1, 64, unit="tokens")] = 4) -> Mask:
    """A query may attend to the keys fewer than `window` places away, its own position included.

    Parameters
    ----------
    window
        How far a query sees to each side, its own place counted: with 1 it sees only itself.

    Notes
    -----
    |q - k| < window. Under a causal mask that leaves `window` keys, the query's own among them.
    """
    offset = k.shape[1] - q.shape[0]
    return np.abs(q + offset - k) < window
