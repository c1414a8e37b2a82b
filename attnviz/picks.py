"""Heads that a person picked, as text: `3` for one of the first layer, `5.11` for head 11 of layer 5."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from attnviz.errors import SettingError, broken_rule

LONGEST = 8_192
WRITTEN = re.compile(r" *([0-9]{1,2}\.)?[0-9]{1,4} *(, *([0-9]{1,2}\.)?[0-9]{1,4} *)*")


class HeadAt(NamedTuple):
    """A head and its layer, both counted from 0."""

    layer: int
    head: int


def heads_in(text: str) -> tuple[HeadAt, ...]:
    """The heads that a text names, each once, in order.

    Raises
    ------
    SettingError
        If the text is not a list of heads.

    Examples
    --------
    >>> heads_in("5.11, 3")
    (HeadAt(layer=0, head=3), HeadAt(layer=5, head=11))
    """
    if not text.strip():
        return ()
    if not WRITTEN.fullmatch(text):
        written = f'"{text[:20]}{"…" if len(text) > 20 else ""}"'
        raise SettingError(broken_rule("heads", "must be heads with commas between them", written, "Try 3, 5.11."))
    found: set[HeadAt] = set()
    for part in text.split(","):
        layer, _, head = part.strip().rpartition(".")
        found.add(HeadAt(int(layer or 0), int(head)))
    return tuple(sorted(found))


def heads_as_text(heads: Iterable[HeadAt]) -> str:
    """What `heads_in` reads.

    >>> heads_as_text([HeadAt(5, 11), HeadAt(0, 3)])
    '3, 5.11'
    """
    return ", ".join(f"{layer}.{head}" if layer else str(head) for layer, head in sorted(set(heads)))
