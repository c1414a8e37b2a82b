"""How far tokens see through several layers of one mask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from attnviz.masks import build_mask
from attnviz.registry import Spec
from attnviz.shapes import Counts, Mask

MOST_CELLS = 1 << 23
NEVER = -1


@dataclass(frozen=True, eq=False)
class Reach:
    """Which token gets to which through how many layers.

    Attributes
    ----------
    layers_needed
        Least number of layers after which the row's token holds something of the column's, 0 for itself; -1 where no
        number is enough.
    n_reached
        Pairs reached after 0, 1, 2... layers, up to the first number after which none is added.
    n_only_kept
        Tokens that may not attend to themselves, and so keep what they hold only because layers add to it.
    """

    layers_needed: Int[np.ndarray, "token token"]
    n_reached: Int[np.ndarray, " step"]
    n_only_kept: int = 0

    @property
    def complete_after(self) -> int:
        """Number of layers after which every pair is reached that ever is."""
        return len(self.n_reached) - 1

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return len(self.layers_needed)

    def after(self, n_layers: int) -> Mask:
        """Which tokens (columns) the tokens (rows) hold something of after so many layers."""
        return (self.layers_needed >= 0) & (self.layers_needed <= n_layers)

    def count_after(self, n_layers: int) -> int:
        """Pairs reached after so many layers."""
        return int(self.n_reached[min(n_layers, self.complete_after)])

    def fields_of(self, token: int) -> Counts:
        """How many tokens this one holds something of after 0, 1, 2... layers."""
        needed = self.layers_needed[token]
        return np.cumsum(np.bincount(needed[needed >= 0], minlength=len(self.n_reached)))


def reach(mask: Mask) -> Reach:
    """Which token gets to which through how many layers that all have this mask.

    Parameters
    ----------
    mask
        True = may attend, as many queries as keys.

    Notes
    -----
    R_0 = I and R_(l+1) = R_l or M R_l in booleans, so R_L = (I or M)^L: a layer adds its output to its input (He et al.
    2016, section 3.1; Vaswani et al. 2017, section 3.1), so every token keeps what it had. That a path exists says that
    information may flow, not that trained weights let it. The growth by layers: Beltagy et al. 2020, section 3.1.

    Rows are packed into bits, and a layer costs one pass over the allowed pairs.

    Examples
    --------
    >>> found = reach(np.abs(np.subtract.outer(np.arange(4), np.arange(4))) < 2)
    >>> found.layers_needed
    array([[0, 1, 2, 3],
           [1, 0, 1, 2],
           [2, 1, 0, 1],
           [3, 2, 1, 0]])
    >>> found.n_reached
    array([ 4, 10, 14, 16])
    """
    n = len(mask)
    step = mask | np.eye(n, dtype=bool)
    _, keys = np.nonzero(step)
    starts = np.concatenate(([0], np.cumsum(step.sum(axis=1))[:-1]))
    packed = np.packbits(np.eye(n, dtype=bool), axis=1)
    layers_needed = np.where(np.eye(n, dtype=bool), 0, NEVER)
    n_reached = [n]
    while True:
        packed = np.bitwise_or.reduceat(packed[keys], starts, axis=0)
        seen = np.unpackbits(packed, axis=1, count=n).astype(bool)
        added = seen & (layers_needed == NEVER)
        if not added.any():
            break
        layers_needed[added] = len(n_reached)
        n_reached.append(int(seen.sum()))
    return Reach(layers_needed, np.array(n_reached), n - int(np.diagonal(mask).sum()))


def allowed_in_any_head(specs: Iterable[Spec], n: int, n_heads: int) -> Mask:
    """Pairs of `n` tokens that some head allows: what one head sees, the next layer has from all of them.

    >>> from attnviz.registries import MASKS
    >>> allowed_in_any_head([MASKS["strided"].spec(stride=2, heads="alternating")], 5, 2).astype(int)[4]
    array([1, 0, 1, 1, 1])
    """
    chosen = tuple(specs)
    height = max(1, MOST_CELLS // (n * n_heads))
    blocks = [slice(start, start + height) for start in range(0, n, height)]
    parts = [build_mask(chosen, n, n, n_heads=n_heads, rows=rows).any(axis=0) for rows in blocks]
    return np.concatenate(parts)
