"""Names that a person picked, as text: `gini, entropy`; and the settings that a part of a link holds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from urllib.parse import parse_qsl

from attnviz.domains import Text
from attnviz.errors import MOST_OFFERED, SettingError, broken_rule, listed, meant

LONGEST = 4_096
SHOWN = 40
A_SETTING = "n_heads=4"


def names_in(text: str) -> tuple[str, ...]:
    """The names that a text holds, each once, in the order they are written.

    >>> names_in("gini, entropy, gini")
    ('gini', 'entropy')
    """
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def names_of(field: str, names: Collection[str] | Callable[[], Collection[str]]) -> Text:
    """What a text field may be that holds names of these, commas between them.

    Parameters
    ----------
    field
        Name of the field, for the sentence about a name that there is not.
    names
        The names that there are, or a function that gives them when a text is checked.

    Examples
    --------
    >>> names_of("animals", ("cat", "dog")).checked("cat, dgo")
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `animals` must be known names with commas between them; got "dgo". Did you mean dog?
    """

    def check(text: str) -> None:
        known = _listed(names)
        unknown = [name for name in names_in(text) if name not in known]
        if unknown:
            close = meant(unknown[0], known)
            way_out = f"Did you mean {close}?" if close else f"Try {listed(known[:MOST_OFFERED])}."
            rule = "must be known names with commas between them"
            raise SettingError(broken_rule(field, rule, _quoted(unknown[0]), way_out))

    return Text(LONGEST, check, tuple(", ".join(_listed(names)[:count]) for count in (1, 2)))


def _listed(names: Collection[str] | Callable[[], Collection[str]]) -> list[str]:
    return list(names() if callable(names) else names)


def settings_of(field: str, names: Collection[str], longest: int) -> Text:
    """What a text field may be that holds settings as a link does: `n_heads=4&mask=causal`.

    Parameters
    ----------
    field
        Name of the field, for the sentence about a setting that there is not.
    names
        The settings that there are; whether a value fits is not looked at.
    longest
        The most characters.

    Examples
    --------
    >>> settings_of("beside", ("n_heads", "mask"), 99).checked("nonsense")
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `beside` must be settings as a link has them after its question mark; got \
"nonsense". Try n_heads=4.
    """

    def check(text: str) -> None:
        asked = [key for key, _ in parse_qsl(text, keep_blank_values=True)]
        wrong = [key for key in asked if key.partition(".")[0] not in names]
        if wrong or not asked:
            rule = "must be settings as a link has them after its question mark"
            raise SettingError(broken_rule(field, rule, _quoted(wrong[0] if wrong else text), f"Try {A_SETTING}."))

    return Text(longest, check, (A_SETTING, f"{A_SETTING}&mask=causal"))


def _quoted(text: str) -> str:
    """The start of a text between quotation marks.

    >>> _quoted("a" * 50)[-5:]
    'aaa…"'
    """
    return f'"{text[:SHOWN]}{"…" if len(text) > SHOWN else ""}"'
