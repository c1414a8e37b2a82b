"""Masks that say what kind of model it is: an encoder, a decoder, one of several documents."""

from __future__ import annotations

import numpy as np

from attnviz.masks.lists import LONGEST_TEXT, numbers_in, whole_numbers
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Choice, Range, Text
from attnviz.shapes import KIndex, Mask, QIndex


@MASKS.register(label="Full", group="Structure", source="Vaswani et al. 2017, section 3.2.1")
def full(q: QIndex, k: KIndex) -> Mask:
    """Every query may attend to every key, as in an encoder."""
    return np.ones((q.shape[0], k.shape[1]), dtype=bool)


@MASKS.register(label="Causal", group="Structure", source="Vaswani et al. 2017, section 3.2.3")
def causal(
    q: QIndex,
    k: KIndex,
    n_q: int,
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
    first = k.shape[1] - n_q if align == "top-left" else 0
    return k <= q - first


@MASKS.register(label="Prefix LM", group="Structure", source="Raffel et al. 2020, section 3.2.1")
def prefix_lm(q: QIndex, k: KIndex, *, prefix: Annotated[int, Range(0, LONGEST_TEXT, unit="tokens")] = 4) -> Mask:
    """Every query may attend to the whole prefix, and beyond it only to itself and to the keys before it.

    Parameters
    ----------
    prefix
        How many tokens at the start are read in both directions: with 0 the mask is causal.
    """
    return (k <= q) | (k < prefix)


@MASKS.register(label="Documents", group="Structure", source="Krell et al. 2021, section 3.2")
def document(
    q: QIndex,
    k: KIndex,
    *,
    lengths: Annotated[str, Text(120, whole_numbers("lengths", 1, LONGEST_TEXT), ("4", "3, 5, 2", "2048"))] = "6, 5",
    within: Annotated[str, Choice(("full", "causal"))] = "full",
) -> Mask:
    """Several documents are packed into one text, and a query may attend only within its own.

    Parameters
    ----------
    lengths
        How many tokens each document has, with commas between the numbers; the last length goes on to the end.
    within
        Whether a query may attend to all of its document (full) or only to itself and what is before it (causal).

    Notes
    -----
    Document d starts at the sum of the lengths before it. Queries before the first key, of which there are some where
    there are more queries than keys, belong to no document and may attend to nothing.
    """
    sizes = numbers_in(lengths)
    starts = np.cumsum([0, *sizes, *[sizes[-1]] * (k.shape[1] // sizes[-1])])
    same = np.searchsorted(starts, q, side="right") == np.searchsorted(starts, k, side="right")
    return same & (k <= q) if within == "causal" else same
