"""Masks that leave out keys to save work, by rules without chance."""

from __future__ import annotations

import numpy as np

from attnviz.masks.lists import LONGEST_TEXT, numbers_in, whole_numbers
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Choice, Range, Text
from attnviz.shapes import HeadIndex, HeadMask, KIndex, Mask, QIndex


@MASKS.register(label="No sparsity", group="Sparsity", source="Vaswani et al. 2017, section 3.2.1")
def dense(q: QIndex, k: KIndex) -> Mask:
    """No key is left out to save work."""
    return np.ones((q.shape[0], k.shape[1]), dtype=bool)


@MASKS.register(label="Sliding window", group="Sparsity", source="Beltagy et al. 2020, section 3.1")
def sliding_window(q: QIndex, k: KIndex, *, window: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 4) -> Mask:
    """A query may attend to the keys fewer than `window` places away, its own position included.

    Parameters
    ----------
    window
        How far a query sees to each side, its own place counted: with 1 it sees only itself.

    Notes
    -----
    |q - k| < window. Under a causal mask that leaves `window` keys, the query's own among them.
    """
    return np.abs(q - k) < window


@MASKS.register(label="Dilated window", group="Sparsity", source="Beltagy et al. 2020, section 3.1")
def dilated_window(
    q: QIndex,
    k: KIndex,
    *,
    window: Annotated[int, Range(1, LONGEST_TEXT, unit="keys")] = 3,
    dilation: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 2,
) -> Mask:
    """A query may attend to every `dilation`-th key of a window around it, its own position included.

    Parameters
    ----------
    window
        How many keys a query sees to each side, its own counted.
    dilation
        Steps from one key that it sees to the next: with 1 this is the sliding window.
    """
    distance = np.abs(q - k)
    return (distance % dilation == 0) & (distance < window * dilation)


@MASKS.register(label="Strided", group="Sparsity", source="Child et al. 2019, section 4.2")
def strided(
    q: QIndex,
    k: KIndex,
    h: HeadIndex,
    *,
    stride: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 3,
    heads: Annotated[str, Choice(("merged", "alternating"))] = "merged",
) -> HeadMask:
    """A query may attend to itself and the `stride` keys before it, and to every `stride`-th key further back.

    Parameters
    ----------
    stride
        How many keys before its own a query sees, and the steps between the keys that it sees further back.
    heads
        Whether every head has both parts (merged), or even heads see the near keys and odd heads the far ones.

    Notes
    -----
    0 <= q - k <= stride, or q - k a multiple of stride; causal, as in the paper. How heads share the parts is its
    section 4.3.
    """
    distance = q - k
    near, far = (distance <= stride)[None], (distance % stride == 0)[None]
    parts = np.where(h % 2 == 0, near, far) if heads == "alternating" else near | far
    return parts & (distance >= 0)


@MASKS.register(label="Fixed", group="Sparsity", source="Child et al. 2019, section 4.2")
def fixed(
    q: QIndex,
    k: KIndex,
    h: HeadIndex,
    *,
    stride: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 4,
    summary: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 1,
    heads: Annotated[str, Choice(("merged", "alternating"))] = "merged",
) -> HeadMask:
    """A query may attend to its own block of `stride` keys, and to the last `summary` keys of each block before it.

    Parameters
    ----------
    stride
        How many tokens a block has.
    summary
        How many keys at the end of each block are seen by all the queries after it.
    heads
        Whether every head has both parts (merged), or even heads see their block and odd heads the summaries.

    Notes
    -----
    floor(k / stride) = floor(q / stride), or k mod stride >= stride - summary; causal, as in the paper. How heads share
    the parts is its section 4.3.
    """
    own = (q // stride == k // stride)[None]
    summaries = np.broadcast_to(k % stride >= stride - summary, own.shape)
    parts = np.where(h % 2 == 0, own, summaries) if heads == "alternating" else own | summaries
    return parts & (k <= q)


@MASKS.register(label="Block-local", group="Sparsity", source="Liu et al. 2018, section 4.2.4")
def block_local(q: QIndex, k: KIndex, *, block: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 4) -> Mask:
    """The text is cut into blocks, and a query may attend only to the keys of its own block.

    Parameters
    ----------
    block
        How many tokens a block has; the last one may be shorter.
    """
    return q // block == k // block


@MASKS.register(label="Window and global tokens", group="Sparsity", source="Beltagy et al. 2020, section 3.1")
def global_tokens(
    q: QIndex,
    k: KIndex,
    *,
    window: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 2,
    places: Annotated[str, Text(120, whole_numbers("places", 0, LONGEST_TEXT), ("0", "0, 9", "3,1"))] = "0",
) -> Mask:
    """A query may attend to a window around it and to a few global tokens, which in turn may attend to everything.

    Parameters
    ----------
    window
        How far a query sees to each side, its own place counted: with 1 it sees only itself.
    places
        Which tokens are global, counted from 0, with commas between the numbers.
    """
    chosen = numbers_in(places)
    return (np.abs(q - k) < window) | np.isin(k, chosen) | np.isin(q, chosen)


@MASKS.register(label="Streaming with sinks", group="Sparsity", source="Xiao et al. 2024, section 3.2")
def streaming(
    q: QIndex,
    k: KIndex,
    *,
    sinks: Annotated[int, Range(0, LONGEST_TEXT, unit="tokens")] = 2,
    window: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 4,
) -> Mask:
    """A query may attend to the first `sinks` tokens and to the `window` latest ones, as a model that never stops.

    Parameters
    ----------
    sinks
        How many tokens at the start are never forgotten.
    window
        How many of the latest tokens are remembered, the query's own counted.

    Notes
    -----
    0 <= q - k < window, or k < sinks and k <= q; causal, as in the paper.
    """
    distance = q - k
    return (distance >= 0) & ((distance < window) | (k < sinks))


@MASKS.register(label="Nothing allowed", group="Sparsity", source="ONNX 1.18 (2025), operator Attention")
def nothing(q: QIndex, k: KIndex) -> Mask:
    """No query may attend to any key, so every weight and every output is 0."""
    return np.zeros((q.shape[0], k.shape[1]), dtype=bool)
