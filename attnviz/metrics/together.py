"""What goes with all heads together: whether its parts point with or against each other and what is never removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.metrics.contribution import Written


@dataclass(frozen=True)
class Together:
    """Lengths over all queries, in lengths of the output with all heads on; NaN where that is 0.

    Attributes
    ----------
    heads
        Of what goes with all heads: the change of the output with none of them left.
    apart
        Root of the sum of the squared lengths of what goes with each head: how long the heads would be together at
        right angles to each other.
    rest
        Of what is never removed: the bias of W_O, and with the mean as stand-in the means.
    cosine
        Between what goes with all heads and what is never removed; NaN where one of them is 0.
    """

    heads: float
    apart: float
    rest: float
    cosine: float

    @property
    def agreement(self) -> float:
        """Length together over that at right angles: above 1 the parts are alike, below 1 against each other.

        √heads where all are the same, 0 where they cancel out; NaN where nothing goes with any head.
        """
        return self.heads / self.apart if self.apart else float("nan")


def together(made: Written) -> Together:
    """How what goes with the heads adds up to the output.

    Notes
    -----
    The output is S + r, S the sum of what goes with the heads and r what is never removed; all heads off change it by
    |S| / |S + r|, which is 1 without r, and above 1 where r points against S.

    References
    ----------
    Kobayashi et al. 2020, section 2 (the output as a sum of what the heads write and the bias).

    Examples
    --------
    >>> against = Written(np.array([[[4.0, -2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]))
    >>> found = together(against)
    >>> found.heads, found.rest, round(found.agreement, 3)
    (1.0, 0.0, 0.447)
    """
    n = made.n_heads
    gram = made.total
    both, rest = max(float(gram[:n, :n].sum()), 0.0), max(float(gram[n, n]), 0.0)
    length = float(np.sqrt(both * rest))
    return Together(
        made.relative_one(both),
        made.relative_one(float(np.diagonal(gram)[:n].sum())),
        made.relative_one(rest),
        float(np.clip(gram[:n, n].sum() / length, -1, 1)) if length > 0 else float("nan"),
    )
