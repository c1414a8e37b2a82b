"""Small pictures: a whole array, or as much of it as fits around what is marked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from attnviz.steps.focus import Focus
from attnviz.steps.stage import Shot

MOST_ROWS = 64
MOST_COLUMNS = 128
Table = Float[np.ndarray, "row column"]


def around(place: int, count: int, most: int) -> slice:
    """The part of a length that is shown: all of it, or a window of it with the place inside.

    >>> around(3, 10, 64), around(90, 100, 64)
    (slice(0, 10, None), slice(36, 100, None))
    """
    start = min(max(place - most // 2, 0), max(count - most, 0))
    return slice(start, min(start + most, count))


def of_rows(title: str, array: Table, row: int, column: int | None = None, *, other: int | None = None) -> Shot:
    """A picture of tokens by columns, with a row or a cell marked, and perhaps another row."""
    rows = around(row, len(array), MOST_ROWS)
    columns = around(column or 0, array.shape[1], MOST_COLUMNS)
    return Shot(
        title,
        array[rows, columns].astype(np.float32),
        row - rows.start,
        None if column is None else column - columns.start,
        rows.start,
        columns.start,
        other_row=None if other is None or other not in range(rows.start, rows.stop) else other - rows.start,
        is_part=rows.stop - rows.start < len(array) or columns.stop - columns.start < array.shape[1],
    )


def of_pairs(
    focus: Focus,
    title: str,
    made: Callable[[Table, Table], Table],
    allowed: Bool[np.ndarray, "row column"] | None = None,
) -> Shot:
    """A picture of queries by keys, made from the queries and keys that are in it."""
    rows, columns = pair_window(focus)
    query = focus.trace.query[focus.head, rows].astype(np.float64)
    key = focus.trace.key[focus.kv_head, columns].astype(np.float64)
    return pair_shot(focus, title, made(query, key), allowed)


def pair_shot(focus: Focus, title: str, values: Table, allowed: Bool[np.ndarray, "row column"] | None = None) -> Shot:
    """A picture of the pairs of `pair_window`, with the chosen one marked."""
    rows, columns = pair_window(focus)
    return Shot(
        title,
        values.astype(np.float32),
        focus.query - rows.start,
        focus.key - columns.start,
        rows.start,
        columns.start,
        "query",
        "key",
        max(focus.trace.n_q, focus.trace.n_k) > MOST_ROWS,
        None,
        allowed,
    )


def pair_window(focus: Focus) -> tuple[slice, slice]:
    """The queries and keys that fit into a picture of pairs."""
    return around(focus.query, focus.trace.n_q, MOST_ROWS), around(focus.key, focus.trace.n_k, MOST_ROWS)
