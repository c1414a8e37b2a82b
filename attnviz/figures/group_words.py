"""What groups of heads are called, in legends and in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from attnviz.errors import listed
from attnviz.numbers import counted

LETTERS = "ABCDEF"
"""Of the largest groups; a picture has no more colours that can be told apart."""
MOST_LISTED = 6


def letters(groups: Int[np.ndarray, " head"]) -> dict[int, str]:
    """A letter for each of the largest groups of at least two heads, in the order of their numbers.

    Parameters
    ----------
    groups
        Number of each head's group.

    Examples
    --------
    >>> letters(np.array([0, 1, 0, 2, 2]))
    {0: 'A', 2: 'B'}
    """
    largest = [group for group, size in Counter(groups.tolist()).most_common(len(LETTERS)) if size > 1]
    return dict(zip(sorted(largest), LETTERS, strict=False))


def group_answer(groups: Int[np.ndarray, " head"], names: Sequence[str], head: int) -> str:
    """Which group a head is in, and with which others.

    >>> group_answer(np.array([0, 1, 0]), ("0 sink", "1", "2"), 2)
    'Head 2 is in group A, with 0.'
    >>> group_answer(np.array([0, 1, 0]), ("0 sink", "1", "2"), 1)
    'Head 1 is in no group.'
    """
    short = [name.split(" ")[0] for name in names]
    others = [short[other] for other in np.flatnonzero(groups == groups[head]).tolist() if other != head]
    if not others:
        return f"Head {short[head]} is in no group."
    letter = letters(groups).get(int(groups[head]))
    which = f"group {letter}" if letter else "a smaller group"
    return f"Head {short[head]} is in {which}, with {together(others)}."


def together(names: Sequence[str]) -> str:
    """Several heads, or how many there are where they are too many to be listed.

    >>> together(["1", "5", "7"]), together([str(head) for head in range(12)])
    ('1, 5 and 7', '12 heads')
    """
    if len(names) > MOST_LISTED:
        return counted(len(names), "head")
    return listed(names).replace(" or ", " and ")
