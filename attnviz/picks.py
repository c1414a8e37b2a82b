"""Heads that a person picked, as text: `3` for one of the first layer, `5.11` for head 11 of layer 5."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from attnviz.errors import SettingError, broken_rule

LONGEST = 8_192
MOST_NAMED = 8
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
        raise SettingError(broken_rule("removed", "must be heads with commas between them", written, "Try 3, 5.11."))
    found: set[HeadAt] = set()
    for part in text.split(","):
        layer, _, head = part.strip().rpartition(".")
        found.add(HeadAt(int(layer or 0), int(head)))
    return tuple(sorted(found))


def heads_of_layer(heads: Iterable[HeadAt], layer: int, n_heads: int) -> tuple[int, ...]:
    """Which heads of a layer are among these, those past its last left out.

    >>> heads_of_layer(heads_in("1, 9, 2.3"), 0, 8)
    (1,)
    """
    return tuple(at.head for at in heads if at.layer == layer and at.head < n_heads)


def heads_within(heads: Iterable[HeadAt], n_layers: int, n_heads: int) -> tuple[HeadAt, ...]:
    """Those of these heads that so many layers of so many heads have.

    >>> heads_within(heads_in("1, 9, 2.3"), 1, 8)
    (HeadAt(layer=0, head=1),)
    """
    return tuple(at for at in heads if at.layer < n_layers and at.head < n_heads)


def ignored_heads(heads: Sequence[HeadAt], n_layers: int, n_heads: int) -> tuple[str, ...]:
    """A sentence for the heads that there are not; none where there are all.

    >>> ignored_heads(heads_in("1, 9"), 1, 8)
    ('Switched off was head 9, which there is not: the last head is 7.',)
    """
    known = heads_within(heads, n_layers, n_heads)
    missing = [at for at in heads if at not in known]
    if not missing:
        return ()
    noun = "head" if len(missing) == 1 else "heads"
    last = HeadAt(n_layers - 1, n_heads - 1)
    verb = "was" if len(missing) == 1 else "were"
    which = "which there is not" if len(missing) == 1 else "which there are not"
    names = heads_as_text(missing[:MOST_NAMED]) + (" and more" if len(missing) > MOST_NAMED else "")
    return (f"Switched off {verb} {noun} {names}, {which}: the last head is {heads_as_text([last])}.",)


def heads_as_text(heads: Iterable[HeadAt]) -> str:
    """What `heads_in` reads.

    >>> heads_as_text([HeadAt(5, 11), HeadAt(0, 3)])
    '3, 5.11'
    """
    return ", ".join(f"{layer}.{head}" if layer else str(head) for layer, head in sorted(set(heads)))
