"""From a sentence to tokens, and from tokens to vectors."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from attnviz.core.columns import content_columns
from attnviz.errors import TYPE_A_SENTENCE, NothingYetError
from attnviz.shapes import Embedded, Tokens

MAX_WORDS = 512
ZERO_WIDTH_JOINER = "\u200d"
JOINERS = f"\u200c{ZERO_WIDTH_JOINER}"
SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def split_words(text: str) -> Tokens:
    """Words and punctuation marks of a text, in order, without the space between them.

    >>> split_words("It wasn't  <b>!")
    ('It', "wasn't", '<', 'b', '>', '!')
    """
    return tuple(_words(text))


def _words(text: str) -> Iterator[str]:
    word = ""
    for character, following in pairwise(f"{text} "):
        if word and _continues(word, character, following):
            word += character
            continue
        if word:
            yield word
        word = "" if character.isspace() else character
    if word:
        yield word


def _continues(word: str, character: str, following: str) -> bool:
    """Marks stay with what they mark, a joined emoji with its joiner, letters and apostrophes with letters."""
    if _is_mark(character):
        return True
    if _in_word(word[0]):
        return _in_word(character) or (character in "'’" and _in_word(following))
    return word[-1] == ZERO_WIDTH_JOINER and not character.isspace()


def _is_mark(character: str) -> bool:
    """Accents, vowel signs, joiners and skin tones: what cannot be shown without the character before it."""
    return unicodedata.category(character)[0] == "M" or character in JOINERS or character in SKIN_TONES


def _in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LNM" or character == "_" or character in JOINERS


@lru_cache(maxsize=64)
def words_of(text: str) -> tuple[Tokens, int]:
    """At most `MAX_WORDS` words of a text, and how many it has.

    Raises
    ------
    NothingYetError
        If there is no word in it.

    Notes
    -----
    A page asks several times a run, so the answers for the last texts are kept.
    """
    words = split_words(text)
    if not words:
        raise NothingYetError(TYPE_A_SENTENCE)
    return words[:MAX_WORDS], len(words)


class Numbered(tuple[str, ...]):
    """Tokens that have no words: a letter and their place, as x0, x1, x2.

    Attributes
    ----------
    letter
        What stands before the number.
    """

    letter: str

    def __repr__(self) -> str:
        return f"numbered({self.letter!r}, {len(self)})"


@lru_cache(maxsize=16)
def numbered(letter: str, count: int) -> Numbered:
    """Names for as many vectors.

    >>> list(numbered("x", 3))
    ['x0', 'x1', 'x2']
    """
    made = Numbered(f"{letter}{place}" for place in range(count))
    made.letter = letter
    return made


def embed(tokens: Tokens, d_model: int, *, content: str = "words", seed: int = 0, are_others: bool = False) -> Embedded:
    """Vectors of the tokens, `(token, d_model)` in float32; only the content columns are filled.

    Notes
    -----
    `words`: each content column is +1 or -1, drawn from the word alone (upper and lower case alike), so that a
    word has the same vector on every page and in every run, and no word draws attention by its length.
    `vectors`: each place has its own standard normal vector, drawn from the seed; `are_others` draws others, for the
    keys of cross-attention.
    """
    columns = content_columns(d_model)
    width = columns.stop - columns.start
    x = np.zeros((len(tokens), d_model), dtype=np.float32)
    if content == "vectors":
        stream = [seed, 0xE, 1] if are_others else [seed, 0xE]
        x[:, columns] = np.random.default_rng(stream).standard_normal((len(tokens), width), dtype=np.float32)
        return x
    rows = {word: _signs(word, width) for word in {token.casefold() for token in tokens}}
    for place, token in enumerate(tokens):
        x[place, columns] = rows[token.casefold()]
    return x


def _signs(word: str, width: int) -> Float[np.ndarray, " column"]:
    seed = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).choice(np.array([-1.0, 1.0], dtype=np.float32), width)
