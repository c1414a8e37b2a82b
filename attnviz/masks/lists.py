"""Whole numbers that a person writes one after the other: `6, 5`."""

from __future__ import annotations

import re
from collections.abc import Callable

from attnviz.errors import SettingError, broken_rule

LONGEST_TEXT = 32_768
WRITTEN = re.compile(r" *[0-9]{1,6} *(, *[0-9]{1,6} *)*")


def numbers_in(text: str) -> list[int]:
    """Whole numbers that are written with commas between them.

    >>> numbers_in("6, 5")
    [6, 5]
    """
    return [int(number) for number in text.split(",")]


def whole_numbers(name: str, low: int, high: int) -> Callable[[str], None]:
    """A check for the text parameter `name`: whole numbers from `low` to `high`, commas between them.

    >>> whole_numbers("lengths", 1, 99)("6; 5")
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `lengths` must be whole numbers with commas between them; got "6; 5". Try 6, 5.
    """

    def check(text: str) -> None:
        found = f'"{text[:20]}{"…" if len(text) > 20 else ""}"'
        if not WRITTEN.fullmatch(text):
            raise SettingError(broken_rule(name, "must be whole numbers with commas between them", found, "Try 6, 5."))
        for number in numbers_in(text):
            if not low <= number <= high:
                rule = f"must be whole numbers from {low} to {high}"
                raise SettingError(broken_rule(name, rule, str(number), f"Try {min(max(number, low), high)}."))

    return check
