"""Masks that leave out keys by chance: the seed decides, and the same seed always gives the same mask."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int, UInt64

from attnviz.masks.lists import LONGEST_TEXT
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Choice, Range
from attnviz.shapes import HeadIndex, HeadMask, KIndex, QIndex


def scrambled(number: UInt64[np.ndarray, "*any"]) -> UInt64[np.ndarray, "*any"]:
    """Numbers without any order: the mixing step of SplitMix64 (Steele et al. 2014, section 5)."""
    mixed = number + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def draws(
    seed: int, head: int, q: Int[np.ndarray, "row 1"], k: Int[np.ndarray, "1 column"]
) -> UInt64[np.ndarray, "row column"]:
    """A random number for each pair that depends on seed, head, q and k alone; no row holds one twice."""
    state = scrambled(scrambled(np.full((1, 1), seed, dtype=np.uint64)) + np.uint64(head))
    state = scrambled(scrambled(state + q.astype(np.uint64)) + k.astype(np.uint64))
    return (state & ~np.uint64(0xFFFF)) | k.astype(np.uint64)


def lowest(drawn: UInt64[np.ndarray, "row column"], count: int) -> Bool[np.ndarray, "row column"]:
    """Where the `count` smallest numbers of each row are; everywhere if a row has no more than that."""
    if count >= drawn.shape[1]:
        return np.ones(drawn.shape, dtype=bool)
    if count == 0:
        return np.zeros(drawn.shape, dtype=bool)
    return drawn <= np.partition(drawn, count - 1, axis=1)[:, count - 1 : count]


@MASKS.register(label="Random keys", group="Sparsity", source="Zaheer et al. 2020, section 2")
def random_keys(
    q: QIndex,
    k: KIndex,
    h: HeadIndex,
    *,
    keep: Annotated[int, Range(1, LONGEST_TEXT, unit="keys")] = 3,
    among: Annotated[str, Choice(("all keys", "earlier keys"))] = "all keys",
    per_head: bool = True,
    seed: Annotated[int, Range(0, 999_999)] = 0,
) -> HeadMask:
    """A query may attend to `keep` keys that are drawn at random.

    Parameters
    ----------
    keep
        How many keys each query keeps; all of them where there are no more.
    among
        Whether any key can be drawn, or only the query's own and those before it, whatever follows in the text.
    per_head
        Whether each head draws its own keys, or all heads the same.
    seed
        Which random draw it is: the same seed always gives the same keys.

    Notes
    -----
    Each pair has a random number that depends on the seed, the head, q and k alone; a query keeps the keys with the
    smallest. So among earlier keys a longer text keeps the choice of its start.
    """
    possible = k <= q if among == "earlier keys" else np.ones((q.shape[0], k.shape[1]), dtype=bool)
    heads = h[:, 0, 0] if per_head else h[:1, 0, 0]
    never = np.uint64(0xFFFFFFFFFFFFFFFF)
    drawn = [lowest(np.where(possible, draws(seed, int(head), q, k), never), keep) for head in heads]
    return np.stack(drawn) & possible


def window_and_ends(
    row: Int[np.ndarray, "row 1"], column: Int[np.ndarray, "1 column"], window: int, ends: int
) -> Bool[np.ndarray, "row column"]:
    """Blocks that BigBird never leaves out: those around the query's own, and the global ones at both ends."""
    last = column.shape[1] - ends
    is_global = (column < ends) | (column >= last) | ((row >= 0) & ((row < ends) | (row >= last)))
    return (np.abs(row - column) < window) | is_global


@MASKS.register(label="BigBird", group="Sparsity", source="Zaheer et al. 2020, section 2")
def bigbird(
    q: QIndex,
    k: KIndex,
    h: HeadIndex,
    *,
    block: Annotated[int, Range(1, LONGEST_TEXT, unit="tokens")] = 1,
    window: Annotated[int, Range(1, LONGEST_TEXT, unit="blocks")] = 2,
    ends: Annotated[int, Range(0, LONGEST_TEXT, unit="blocks")] = 1,
    random: Annotated[int, Range(0, LONGEST_TEXT, unit="blocks")] = 1,
    per_head: bool = True,
    seed: Annotated[int, Range(0, 999_999)] = 0,
) -> HeadMask:
    """A query may attend to the blocks around its own, to global blocks at both ends, and to a few random blocks.

    Parameters
    ----------
    block
        How many tokens a block has; the last one may be shorter.
    window
        How many blocks a query sees to each side, its own counted.
    ends
        How many blocks at the start and at the end are global: all see them, and they see all.
    random
        How many further blocks each block of queries draws at random.
    per_head
        Whether each head draws its own random blocks, or all heads the same.
    seed
        Which random draw it is: the same seed always gives the same blocks.
    """
    row_of, column_of = q // block, k // block
    row = np.arange(row_of[0, 0], row_of[-1, 0] + 1)[:, None]
    column = np.arange(column_of[0, -1] + 1)[None, :]
    kept = window_and_ends(row, column, window, ends)
    heads = h[:, 0, 0] if per_head else h[:1, 0, 0]
    never = np.uint64(0xFFFFFFFFFFFFFFFF)
    drawn = [lowest(np.where(kept, never, draws(seed, int(head), row, column)), random) for head in heads]
    blocks = kept | np.stack(drawn)
    return blocks[:, row_of - row_of[0, 0], column_of]
