"""Two heads at once: both removed, and one doing the work of the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.metrics.contribution import Written
from attnviz.shapes import HeadPairs


def without_two(made: Written) -> HeadPairs:
    """Relative change of the output with two heads removed; on the diagonal with one."""
    gram = made.total[: made.n_heads, : made.n_heads]
    own = np.diagonal(gram)
    both = own[:, None] + own + 2 * gram
    np.fill_diagonal(both, own)
    return made.relative(both)


@dataclass(frozen=True)
class Takeover:
    """How far one other head can do a removed head's work, if what it writes is multiplied by a factor;
    with the mean as stand-in what it writes less its mean.

    Attributes
    ----------
    head
        The other head.
    factor
        What goes with it is multiplied by; 1 leaves it as it is, and an equal head takes over with 2.
    left
        Relative change of the output that remains.
    """

    head: int
    factor: float
    left: float


def takeover(made: Written, head: int) -> Takeover | None:
    """The other head that takes over best for a removed one; None where no other writes anything.

    Notes
    -----
    Head g times 1 + c in place of p_h + p_g leaves p_h - c p_g; the least squares are at c = <p_h, p_g> / <p_g, p_g>,
    and leave |p_h|^2 - <p_h, p_g>^2 / |p_g|^2. Sums are over queries and columns.

    Examples
    --------
    >>> equal = Written(np.array([[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]))
    >>> takeover(equal, 0)
    Takeover(head=1, factor=2.0, left=0.0)
    """
    gram = made.total[: made.n_heads, : made.n_heads]
    own = np.diagonal(gram)
    others = np.flatnonzero((np.arange(made.n_heads) != head) & (own > 0))
    if not len(others):
        return None
    left = own[head] - np.square(gram[head, others]) / own[others]
    place = int(np.argmin(left))
    best = int(others[place])
    return Takeover(best, 1 + float(gram[head, best] / own[best]), made.relative_one(float(left[place])))
