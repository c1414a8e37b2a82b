"""Masks for padding: places that only fill up a batch and hold no token."""

from __future__ import annotations

import numpy as np

from attnviz.masks.lists import LONGEST_TEXT
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Range
from attnviz.shapes import KIndex, Mask, QIndex


@MASKS.register(label="No padding", group="Padding", source="Vaswani et al. 2017, section 3.2.3")
def no_padding(q: QIndex, k: KIndex) -> Mask:
    """Every place holds a token."""
    return np.ones((q.shape[0], k.shape[1]), dtype=bool)


@MASKS.register(label="Padding on the right", group="Padding", source="Devlin et al. 2019, section 3")
def padding_right(q: QIndex, k: KIndex, *, padded: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 2) -> Mask:
    """No query may attend to the last `padded` places, which only fill up a batch.

    Parameters
    ----------
    padded
        How many places at the end of the text hold no token.
    """
    return np.broadcast_to(k < k.shape[1] - padded, (q.shape[0], k.shape[1])).copy()


@MASKS.register(label="Padding on the left", group="Padding", source="Radford et al. 2019, section 2")
def padding_left(q: QIndex, k: KIndex, *, padded: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 2) -> Mask:
    """No query may attend to the first `padded` places, which only fill up a batch.

    Parameters
    ----------
    padded
        How many places at the start of the text hold no token.
    """
    return np.broadcast_to(k >= padded, (q.shape[0], k.shape[1])).copy()
