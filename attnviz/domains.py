"""What a parameter may be: a number of a range, one of a few options, a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both allowed, with the unit they are counted in."""

    low: float
    high: float
    unit: str = ""
    step: float | None = None


@dataclass(frozen=True)
class Choice:
    """One of a few named options."""

    options: tuple[str, ...]


@dataclass(frozen=True)
class Text:
    """Text of at most `longest` characters.

    Attributes
    ----------
    longest
        How many characters it may have.
    check
        Raises a SettingError for a text that means nothing to the function; any text will do where it is left out.
    examples
        Texts that mean something, for hints and for tests.
    """

    longest: int
    check: Callable[[str], object] | None = None
    examples: tuple[str, ...] = ()

    def checked(self, text: str) -> str:
        """The text, cut to its longest.

        Raises
        ------
        SettingError
            If it means nothing; no text at all always does.
        """
        cut = text[: self.longest]
        if self.check is not None and cut:
            self.check(cut)
        return cut
