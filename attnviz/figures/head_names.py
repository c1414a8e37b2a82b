"""How heads are called, of one layer or of several."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.picks import HeadAt


def head_name(at: HeadAt, n_layers: int) -> str:
    """Number of a head, after its layer where there are several.

    >>> head_name(HeadAt(5, 11), 6), head_name(HeadAt(0, 3), 1)
    ('5.11', '3')
    """
    return f"{at.layer}.{at.head}" if n_layers > 1 else str(at.head)


def heads_of(n_heads: Sequence[int]) -> list[HeadAt]:
    """All heads, layer by layer.

    >>> heads_of([2, 1])
    [HeadAt(layer=0, head=0), HeadAt(layer=0, head=1), HeadAt(layer=1, head=0)]
    """
    return [HeadAt(layer, head) for layer, count in enumerate(n_heads) for head in range(count)]
