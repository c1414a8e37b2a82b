"""Places that a head looks at when it has nothing to look for: the first one, special tokens and punctuation."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from attnviz.core.text import Numbered
from attnviz.shapes import Tokens

SPECIAL = re.compile(r"\[[A-Z]+\d*\]|<[^<>\s]+>|<\|[^|]+\|>")
FIRST, PUNCTUATION, SEVERAL = "the first token", "punctuation", "special tokens"
MOST_NAMED = 3


@dataclass(frozen=True, eq=False)
class Parking:
    """All parking places of a text.

    Attributes
    ----------
    places
        Which keys they are.
    kinds
        What they are, as words: special tokens by their own name where there are few.
    """

    places: Bool[np.ndarray, " k"]
    kinds: tuple[str, ...]


def is_parking(key: int, tokens: Tokens) -> bool:
    """Whether attention on this key says nothing about words: the first place, a special token or punctuation.

    Random vectors have no words.

    >>> [is_parking(key, ("The", "cat", ".", "[SEP]")) for key in range(4)]
    [True, False, True, True]
    """
    return key == 0 or isinstance(tokens, Numbered) or _is_special(tokens[key]) or _is_punctuation(tokens[key])


def parking(tokens: Tokens) -> Parking | None:
    """The parking places among these keys; None where there are no words, or no more of them than the first place.

    References
    ----------
    Special tokens and punctuation: Clark et al. 2019, section 3.2, and Kovaleva et al. 2019, section 4.1 (“vertical”).
    The first place: Xiao et al. 2024, section 3.1.

    Examples
    --------
    >>> found = parking(("[CLS]", "a", "cat", ".", "[SEP]"))
    >>> found.places.tolist(), found.kinds
    ([True, False, False, True, True], ('[CLS]', '[SEP]', 'punctuation'))
    """
    if isinstance(tokens, Numbered):
        return None
    places = np.array([is_parking(key, tokens) for key in range(len(tokens))])
    if places.sum() < 2:
        return None
    special = tuple(dict.fromkeys(token for token in tokens if _is_special(token)))
    kinds = special if len(special) <= MOST_NAMED else (SEVERAL,)
    if not _is_special(tokens[0]) and not _is_punctuation(tokens[0]):
        kinds = (FIRST, *kinds)
    has_marks = any(_is_punctuation(token) for token in tokens if not _is_special(token))
    return Parking(places, (*kinds, PUNCTUATION) if has_marks else kinds)


def _is_special(token: str) -> bool:
    return SPECIAL.fullmatch(token) is not None


def _is_punctuation(token: str) -> bool:
    return not any(letter.isalnum() for letter in token)
