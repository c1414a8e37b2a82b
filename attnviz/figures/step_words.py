"""What is said around the pictures of the arithmetic of one weight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.figures.answers import quoted
from attnviz.figures.terms import MOST_TERMS
from attnviz.numbers import counted, percent, significant
from attnviz.shapes import PerKey
from attnviz.steps import Focus, Shot, Terms
from attnviz.steps.row import QueryRow
from attnviz.steps.what_if import Spread


def arithmetic(focus: Focus) -> str:
    """The arithmetic of one weight in a line; empty where the key is forbidden."""
    key, trace = focus.key, focus.trace
    if not focus.allowed[key]:
        return ""
    score = significant(float(focus.scores[key]))
    steps = [f"q·k {significant(float(focus.dots[key]))} × {significant(trace.scale)} = {score}"]
    if trace.softcap:
        steps.append(f"capped {significant(float(focus.capped[key]))}")
    final = float(focus.biased[key])
    if trace.has_bias:
        steps.append(f"with the bias {significant(final)}")
    less = significant(final - focus.largest)
    steps.append(f"less the largest {less}; e to that {significant(float(focus.exponentials[key]))}")
    weight = significant(float(focus.weights[key]))
    return f"Its arithmetic: {', '.join(steps)}, divided by the sum {significant(focus.total)} = {weight}."


def terms_question(terms: Terms) -> str:
    """Title of the bars of a sum."""
    return f"Which {terms.name}s make the sum?"


def terms_answer(terms: Terms) -> str:
    """How many terms it takes to see most of the sum."""
    sizes = np.sort(np.abs(terms.values))[::-1]
    total = float(sizes.sum())
    if not total:
        return f"All {counted(len(sizes), 'term')} are 0."
    needed = int(np.searchsorted(np.cumsum(sizes), 0.9 * total)) + 1
    few = f"the largest {needed} hold" if needed > 1 else "the largest one holds"
    signs = int((terms.values < 0).sum())
    negative = f", {signs} of them negative" if signs else ""
    return (
        f"{counted(len(sizes), 'term')}{negative}: {few} 90\u202f% of what is added and taken away; the sum is "
        f"{significant(terms.total.value)}."
    )


def terms_caption(terms: Terms, *, is_sorted: bool) -> str:
    """How to read the bars of a sum."""
    order = "largest first" if is_sorted else "in the order of the sum"
    many = f"; the {MOST_TERMS} largest, the others together as “rest”" if len(terms.values) > MOST_TERMS else ""
    return f"One bar for each {terms.name}, {order}{many}. The equations follow the orange one; the line adds them up."


def terms_alt(terms: Terms) -> str:
    """Alt text of the bars of a sum."""
    order = [int(place) for place in np.argsort(-np.abs(terms.values), kind="stable")[:3]]
    words = ", ".join(f"{terms.labels[place]} {significant(float(terms.values[place]))}" for place in order)
    total = significant(terms.total.value)
    return f"Bars of {counted(len(terms.values), 'term')}; the largest: {words}; the sum is {total}."


def arrays_answer(shots: Sequence[Shot]) -> str:
    """The number that is marked in each array."""
    parts = [
        f"{shot.title} {significant(float(shot.values[shot.row, shot.column]))}"
        if shot.column is not None
        else f"{shot.title}: row {shot.first_row + shot.row}"
        for shot in shots
    ]
    return f"Marked: {'; '.join(parts)}."


def arrays_caption(shots: Sequence[Shot], *, has_own_scales: bool) -> str:
    """How to read the pictures of arrays."""
    scales = "Each has its own colour scale. " if has_own_scales else "One colour scale for all. "
    same = scales if len(shots) > 1 else ""
    click = " Click a cell to go to its arithmetic." if all(shot.column_name == "key" for shot in shots) else ""
    is_part = any(shot.is_part for shot in shots)
    window = " Of long arrays the part around the marked cell is shown, 64 tokens and 128 columns." if is_part else ""
    return f"{same}The frames are the rows, and in them the cell, that the equations are about.{click}{window}"


def arrays_alt(shots: Sequence[Shot]) -> str:
    """Alt text of the pictures of arrays."""
    sizes = ", ".join(f"{shot.title} {shot.values.shape[0]} by {shot.values.shape[1]}" for shot in shots)
    return f"Heatmaps of {sizes}. {arrays_answer(shots)}"


def group_answer(n_heads: int, n_kv_heads: int, head: int) -> str:
    """Which key/value head serves a head, and which others it serves.

    >>> group_answer(8, 2, 5)
    'Key/value head 1 serves query heads 4 to 7, head 5 among them: 2 instead of 8 keys and values for each token.'
    """
    group = n_heads // n_kv_heads
    served = head // group
    return (
        f"Key/value head {served} serves query heads {served * group} to {served * group + group - 1}, head {head} "
        f"among them: {n_kv_heads} instead of {n_heads} keys and values for each token."
    )


def row_answer(row: QueryRow) -> str:
    """Which key has the largest score and weight."""
    if not row.allowed.any():
        return "This query may attend to no key: nothing goes into the softmax, and its weights are all 0."
    best = int(np.nanargmax(row.masked))
    forbidden = int((~row.allowed).sum())
    largest = int(np.argmax(row.scores + row.bias))
    lost = (
        f" Without the mask key {largest} {quoted(row.tokens[largest])} would be first."
        if forbidden and not row.allowed[largest]
        else ""
    )
    return (
        f"Key {best} {quoted(row.tokens[best])} has the largest score, {significant(float(row.masked[best]))}, and so "
        f"the largest weight, {significant(float(row.weights[best]))}; "
        f"{forbidden} of {counted(len(row.weights), 'key')} forbidden.{lost}"
    )


def row_alt(row: QueryRow, keys: Sequence[int]) -> str:
    """Alt text of the scores of a row."""
    words = ", ".join(f"key {key} {significant(float(row.masked[key]))}" for key in keys[:8])
    return f"Bars of the scores of {counted(len(keys), 'key')}: {words}{', …' if len(keys) > 8 else ''}."


def change_answer(row: QueryRow, changed: PerKey, key: int) -> str:
    """How far the weights of a row move under a change."""
    moved = float(np.abs(row.weights - changed).sum()) / 2
    before, after = (float(weights[key]) for weights in (row.weights, changed))
    if moved < 1e-6:
        return f"Nothing changes: the chosen key keeps {percent(before)}."
    tops = [int(np.argmax(weights)) for weights in (row.weights, changed)]
    first = "" if tops[0] == tops[1] else f" First is now key {tops[1]} {quoted(row.tokens[tops[1]])}."
    return (
        f"{percent(moved)} of the attention moves; the chosen key goes from {percent(before)} to {percent(after)}, the "
        f"largest weight from {percent(float(row.weights.max()))} to {percent(float(changed.max()))}.{first}"
    )


def variance_answer(spread: Spread, measured: Spread | None, made: str) -> str:
    """How the variance of products grows with d_head, and that of the head on screen, which is `made` in some way."""
    first, last = spread.widths[0], spread.widths[-1]
    least, most = (significant(float(spread.plain_variance[place])) for place in (0, -1))
    own = ""
    if measured is not None:
        found = (significant(float(values[0])) for values in (measured.plain_variance, measured.scaled_variance))
        own = f" The head on screen, d_head {measured.widths[0]}: {' and '.join(found)}{made}."
    return (
        f"From d_head {first} to {last} the variance of random products grows from {least} to {most}; divided by "
        f"√d_head it stays near {significant(float(spread.scaled_variance.mean()))}.{own}"
    )


def gradient_answer(spread: Spread) -> str:
    """What is left of the gradient without the scale, and from which width on."""
    below = spread.plain_gradient < spread.scaled_gradient
    lasting = [width for place, width in enumerate(spread.widths) if below[place:].all()]
    plain, scaled = significant(float(spread.plain_gradient[-1])), significant(float(spread.scaled_gradient.mean()))
    from_where = (
        f" From d_head {lasting[0]} on it is below the scaled one; in narrower heads some spread helps, as p (1 − p) "
        "is largest at p = ½."
    )
    return (
        f"Without the scale the slope falls to {plain} at d_head {spread.widths[-1]}, with it it stays near {scaled}: "
        f"a weight near 0 or 1 no longer learns.{from_where if lasting else ''}"
    )
