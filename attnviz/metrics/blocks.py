"""Rows of maps in blocks small enough for the processor's cache."""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.shapes import Weights

BLOCK_CELLS = 1 << 18


def row_blocks(weights: Weights) -> Iterator[tuple[int, slice]]:
    """Each head and slice of rows of at most about `BLOCK_CELLS` weights."""
    n_heads, n_q, n_k = weights.shape
    step = max(1, BLOCK_CELLS // max(n_k, 1))
    for head in range(n_heads):
        for start in range(0, n_q, step):
            yield head, slice(start, min(start + step, n_q))
