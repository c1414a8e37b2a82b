"""Which pairs of query and key may attend and what is added to their scores, for any queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from attnviz.shapes import Bias, HeadMask


@dataclass(frozen=True, eq=False)
class Pairs:
    """A mask and a bias that are made for some rows at a time.

    Attributes
    ----------
    n_q, n_k
        How many queries and keys there are.
    mask_of, bias_of
        From a slice of the queries to their rows `(#head, q, k)`, and `(#head, #q, #k)`; None where every pair is
        allowed, and where nothing is added.
    """

    n_q: int
    n_k: int
    mask_of: Callable[[slice], HeadMask] | None = None
    bias_of: Callable[[slice], Bias] | None = None


def pairs_of(n_q: int, n_k: int, mask: HeadMask | None, bias: Bias | None) -> Pairs:
    """The pairs of arrays that are there as a whole."""
    return Pairs(
        n_q,
        n_k,
        None if mask is None else lambda rows: mask[:, rows],
        None if bias is None else lambda rows: bias if bias.shape[1] == 1 else bias[:, rows],
    )
