"""The one family of errors that people see: each message is a sentence they can act on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

MOST_OFFERED = 3
TYPE_A_SENTENCE = "Nothing to show yet: type a sentence of at least one word."


class AttnvizError(ValueError):
    """A rule was broken; the message names the field, the rule, the value and the way out."""


class SettingError(AttnvizError):
    """A setting has a value that its rule does not allow."""


class UnknownNameError(AttnvizError):
    """A name is not in its registry."""


class NothingYetError(AttnvizError):
    """There is nothing to show yet; the message says what to do."""


class ModelUnavailableError(AttnvizError):
    """A trained model's files are not on this machine, or are not the published ones."""


def broken_rule(field: str, rule: str, found: str, way_out: str) -> str:
    """Sentence for a broken rule: field, rule, value, way out.

    >>> broken_rule("n_heads", "must divide `d_model`", "n_heads=3, d_model=32", "Try 1, 2 or 4.")
    '`n_heads` must divide `d_model`; got n_heads=3, d_model=32. Try 1, 2 or 4.'
    """
    return f"`{field}` {rule}; got {found}. {way_out}"


def listed(values: Sequence[object]) -> str:
    """Values as a person would list them.

    >>> listed([1, 2, 4])
    '1, 2 or 4'
    """
    words = [str(value) for value in values]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def offered(names: Collection[str]) -> str:
    """Names to choose from, of more than three the first three.

    >>> offered(("cat", "dog")), offered(("cat", "dog", "fox", "hen"))
    ('cat or dog', 'cat, dog, fox, …')
    """
    first = list(names)[:MOST_OFFERED]
    return listed(first) if len(names) <= MOST_OFFERED else f"{', '.join(first)}, …"


def meant(typed: str, names: Collection[str]) -> str | None:
    """The name that is most like what was typed; None where none is much like it.

    >>> meant("dgo", ("cat", "dog")), meant("elephant", ("cat", "dog"))
    ('dog', None)
    """
    return next(iter(get_close_matches(typed, names, n=1)), None)
