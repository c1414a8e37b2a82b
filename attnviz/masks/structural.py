"""Masks that say what kind of model it is: an encoder, a decoder."""

from __future__ import annotations

import numpy as np

from attnviz.registries import MASKS
from attnviz.registry import Annotated, Choice
from attnviz.shapes import KIndex, Mask, QIndex


@MASKS.register(label="Full", group="Structure", source="Vaswani et al. 2017, section 3.2.1")
def full(q: QIndex, k: KIndex) -> Mask:
    """Every query may attend to every key, as in an encoder."""
    return np.ones((q.shape[0], k.shape[1]), dtype=bool)


@MASKS.register(label="Causal", group="Structure", source="Vaswani et al. 2017, section 3.2.3")
def causal(
    q: QIndex,
    k: KIndex,
    *,
    align: Annotated[str, Choice(("bottom-right", "top-left"))] = "bottom-right",
) -> Mask:
    """A query may attend to itself and to the keys before it, as in a decoder.

    Parameters
    ----------
    align
        Where the queries stand if there are fewer of them than keys: at the end of the keys (bottom-right, as new
        tokens after a cache) or at their start (top-left); with as many queries as keys it changes nothing.
    """
    offset = k.shape[1] - q.shape[0] if align == "bottom-right" else 0
    return k <= q + offset
