"""What is said of a mask that is read the wrong way round, or used after the softmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.core.trace import AttentionTrace
from attnviz.figures.answers import quoted
from attnviz.figures.mask_words import capital, queries_named
from attnviz.metrics.mistakes import Misreading, Sums
from attnviz.numbers import THIN_SPACE, counted, grouped, percent, significant
from attnviz.shapes import Counts, MaskRow, PerKey

MOST_SPELT = 5
LITTLE = 0.001


def row_in_words(row: PerKey) -> str:
    """A short row as its numbers.

    >>> import numpy as np
    >>> row_in_words(np.array([0.5, 0.5, 0.0]))
    '[0.500, 0.500, 0]'
    """
    return f"[{', '.join(significant(float(weight)) for weight in row)}]"


def meant_answer(found: Misreading, *, has_order: bool) -> str:
    """How many pairs the mask allows where it is read as it is meant, and how many of them are in the future."""
    allowed, pairs = found.n_allowed, found.n_allowed + found.n_forbidden
    future = (
        f", {grouped(found.n_future) if found.n_future else 'none'} of them in the future"
        if has_order and allowed
        else ""
    )
    return (
        f"Read as this app means it, {grouped(allowed)} of {counted(pairs, 'pair')} are allowed "
        f"({percent(allowed / pairs)}){future}."
    )


def misreading_answer(found: Misreading, trace: AttentionTrace, *, has_order: bool) -> str:
    """Which pairs swap, whether the future becomes visible, and which queries lose all keys.

    Parameters
    ----------
    found
        What is counted.
    trace
        The layer, for the tokens.
    has_order
        Whether keys can stand after a query: not where they come from another text.
    """
    swapped = (
        f"{capital(counted(found.n_allowed, 'allowed pair'))} would be forbidden and "
        f"{counted(found.n_forbidden, 'forbidden pair')} allowed"
    )
    future = ""
    if has_order and found.n_future_misread:
        before = "none" if not found.n_future else grouped(found.n_future)
        future = f"; {counted(found.n_future_misread, 'pair')} would look into the future instead of {before}"
    lost = found.rows_without_keys
    if not len(lost):
        return f"{swapped}{future}."
    who = "every query" if len(lost) == trace.n_q else queries_named(lost.tolist(), trace)
    return f"{swapped}{future}. {capital(who)} would be left without a key."


def misread_row_answer(right: PerKey, wrong: PerKey, trace: AttentionTrace, query: int) -> str:
    """The chosen query's weights both ways."""
    who = f"query {query} {quoted(trace.query_tokens[query])}"
    if len(right) <= MOST_SPELT:
        return f"True = may attend gives {who} the weights {row_in_words(right)}; True = ignore {row_in_words(wrong)}."
    if not wrong.any():
        return f"Read the wrong way round, {who} may attend to no key: all its weights are 0."
    if not right.any():
        return f"{capital(who)} may attend to no key; read the wrong way round it attends to all of them."
    first, second = (f"key {int(row.argmax())} {quoted(trace.key_tokens[int(row.argmax())])}" for row in (right, wrong))
    return f"{capital(who)} looks most at {first}; read the wrong way round it looks most at {second}."


def order_answer(after: PerKey, allowed: MaskRow, trace: AttentionTrace, query: int, right: PerKey) -> str:
    """The chosen query's weights with the mask before the softmax and after it."""
    who = f"query {query} {quoted(trace.query_tokens[query])}"
    if allowed.all():
        return f"The mask allows {who} every key, so the order makes no difference."
    if not allowed.any():
        return f"The mask allows {who} no key: its weights are 0 either way."
    total = significant(float(after.sum(dtype=np.float64)))
    if len(after) <= MOST_SPELT:
        sums = significant(float(right.sum(dtype=np.float64)))
        return (
            f"Mask before the softmax: {row_in_words(right)}, sum {sums}; mask after it: {row_in_words(after)}, "
            f"sum {total}."
        )
    lost = percent(1 - float(after.sum(dtype=np.float64)))
    return f"Masked after the softmax, the weights of {who} sum to {total}: {lost} went to keys that it may not see."


def sums_answer(before: Sums, after: Sums, n_allowed: Counts, n_k: int) -> str:
    """How many rows lose more than 0.1 % of their sum and how many less, and the smallest sum.

    Parameters
    ----------
    before, after
        Sum of each row's weights with the mask before the softmax, and after it.
    n_allowed, n_k
        How many keys each query may attend to, of how many.
    """
    mixed = (n_allowed > 0) & (n_allowed < n_k)
    if not mixed.any():
        return "No row has both allowed and forbidden keys, so the order makes no difference."
    kept = np.divide(after, before, out=np.ones_like(after), where=before > 0)
    broken = mixed & (1 - kept > LITTLE)
    n_broken, n_less = int(broken.sum()), int(mixed.sum() - broken.sum())
    little, rows = f"{100 * LITTLE:g}{THIN_SPACE}%", counted(len(after), "row")
    if not n_broken:
        return (
            f"Masked after the softmax, {n_less} of {rows} {_lose(n_less)}, but less than {little} of their sum: next "
            "to no weight is on forbidden keys."
        )
    less = f"; {n_less} {_lose(n_less)} less, because next to none of their weight is on forbidden keys" * (n_less > 0)
    return (
        f"Masked after the softmax, {n_broken} of {rows} {_lose(n_broken)} more than {little} of their sum, down to "
        f"{significant(float(after[broken].min()))}{less}."
    )


def _lose(count: int) -> str:
    return "loses" if count == 1 else "lose"


def misreading_alt(found: Misreading, *, is_misread: bool) -> str:
    """Alt text of the mask as one of the two readings has it."""
    allowed, other = found.n_allowed, found.n_forbidden
    if is_misread:
        return f"The opposite of the mask, with {counted(other, 'allowed pair')} instead of {allowed}."
    return f"The mask as meant, with {counted(allowed, 'allowed pair')}; its opposite has {other}."


def rows_alt(names: Sequence[str], rows: Sequence[PerKey], query: int) -> str:
    """Alt text of a query's weights in two versions."""
    parts = "; ".join(
        f"{name}, largest {significant(float(row.max()))} at key {int(row.argmax())}, "
        f"sum {significant(float(row.sum()))}"
        for name, row in zip(names, rows, strict=True)
    )
    return f"Bars of the weights of query {query} in two versions: {parts}."


def sums_alt(after: Sums) -> str:
    """Alt text of the sums of the rows."""
    low, high = significant(float(after.min())), significant(float(after.max()))
    return f"Two lines of the sum of each row: with the mask before the softmax, and after it, from {low} to {high}."
