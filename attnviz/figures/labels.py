"""Tokens as they are shown: every character visible, none of them markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

EMPTY = "∅"
LONGEST = 14
_NAMED = {" ": "␣", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}


@lru_cache(maxsize=1 << 14)
def visible(token: str) -> str:
    r"""A token with its blanks and control characters written out.

    >>> [visible(token) for token in ("", " ", "\n", "a b", "\x07", "<s>")]
    ['∅', '␣', '\\n', 'a␣b', '\\x07', '<s>']
    """
    return "".join(_shown(character) for character in token) or EMPTY


def _shown(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in "\u200c\u200d":
        code = ord(character)
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    return "␣" if character.isspace() else character


def escaped(text: str) -> str:
    """Text that Plotly shows as it is: no tag, no entity, no mathematics.

    >>> escaped("a<b> & $x$")
    'a&lt;b&gt; &amp; &#36;x&#36;'
    """
    return "".join(_ENTITIES.get(character, character) for character in text)


def short(token: str) -> str:
    """A token with its blanks visible, shortened where it is long.

    >>> short("internationalisation")
    'international…'
    """
    shown = visible(token)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def tick(token: str) -> str:
    """A token as an axis label of Plotly, shortened where it is long.

    >>> tick("<b>internationalisation")
    '&lt;b&gt;internatio…'
    """
    return escaped(short(token))


def token_axis(
    tokens: Sequence[str], places: Iterable[int], marks: Mapping[int, str] | None = None
) -> dict[str, object]:
    """Ticks at these places of 0...n-1 with the tokens as their text: never the tokens as categories.

    >>> token_axis(["1", "2"], range(2))["ticktext"]
    ['1', '2']
    """
    at = list(places)
    before = marks or {}
    return {
        "type": "linear",
        "tickmode": "array",
        "tickvals": at,
        "ticktext": [before.get(place, "") + tick(tokens[place]) for place in at],
    }
