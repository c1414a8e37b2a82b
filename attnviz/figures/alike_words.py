"""How alike heads are, in words computed from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from attnviz.core.trace import AttentionTrace
from attnviz.figures.answers import quoted
from attnviz.figures.group_words import group_answer, together
from attnviz.metrics.alike import APART, NOTHING, Alike, closest
from attnviz.metrics.clustering import Plane, Tree
from attnviz.metrics.difference import Moved
from attnviz.numbers import counted, percent, significant

TIE = 1e-6
TOO_SHORT = "With one token every head has the same map: too short to tell heads apart."
ALONE = "One head has no other to be compared with."


def number(value: float) -> str:
    """A similarity in words; what is 0 but for rounding is 0.

    >>> number(0.12345), number(1e-9)
    ('0.123', '0')
    """
    return significant(value) if abs(value) >= TIE else "0"


def heads_named(first: str, second: str) -> str:
    """Two heads with what they are called.

    >>> heads_named("0 same word", "6")
    'heads 0 (same word) and 6'
    """
    return f"heads {_bracketed(first)} and {_bracketed(second)}"


def _bracketed(name: str) -> str:
    place, _, role = name.partition(" ")
    return f"{place} ({role})" if role else place


def alike_answer(
    alike: Alike, groups: Int[np.ndarray, " head"] | None, names: Sequence[str], what: str, unit: str
) -> str:
    """The pair that is most alike, beside the uniform head and all pairs, and the groups.

    Parameters
    ----------
    alike
        The similarity or distance of all pairs.
    groups
        Number of each head's group; None where there is no tree.
    names
        What each head is called.
    what, unit
        Name of the similarity inside a sentence, and its unit.
    """
    if len(names) < 2:
        return ALONE
    pair = closest(alike)
    without = undefined_answer(np.flatnonzero(~alike.is_defined).tolist(), names, alike.reason, what)
    if pair is None:
        return f"No two heads can be compared. {without}"
    units = f" {unit}" if unit else ""
    distances = alike.defined_distances[np.triu_indices(int(alike.is_defined.sum()), k=1)]
    least = alike.distances[pair.first, pair.second]
    ties = int((distances <= least + TIE).sum()) - 1
    pairs = alike.pairs[np.triu_indices(len(names), k=1)]
    also = f" {counted(ties, 'other pair is', 'other pairs are')} as alike." if ties else ""
    named = heads_named(names[pair.first], names[pair.second])
    value = f"{what} {number(pair.similarity)}{units}{_uniform(alike, pair.first, pair.second, units)}."
    answer = (
        f"{named[0].upper()}{named[1:]} are the most alike: {value}{also}"
        if least < APART - NOTHING
        else f"No two heads have anything in common: the nearest have {value}"
    )
    average = f"All pairs: {number(float(np.nanmean(pairs)))}{units} on average."
    return f"{answer} {average}{_groups(groups)} {without}".rstrip()


def undefined_answer(heads: Sequence[int], names: Sequence[str], reason: str, what: str) -> str:
    """Why some heads have no value, in a sentence; empty where all have one.

    >>> undefined_answer([0], ("0 sink", "1"), "writes the same for every query", "CKA")
    'Head 0 (sink) writes the same for every query: it has no CKA.'
    >>> undefined_answer([0, 1], ("0 sink", "1"), "writes the same for every query", "CKA")
    'Each of heads 0 (sink) and 1 writes the same for every query: they have no CKA.'
    """
    if not heads:
        return ""
    called = [_bracketed(names[head]) for head in heads]
    if len(called) == 1:
        return f"Head {called[0]} {reason}: it has no {what}."
    listed = together(called)
    which = listed if listed.endswith("heads") else f"heads {listed}"
    return f"Each of {which} {reason}: they have no {what}."


def _uniform(alike: Alike, first: int, second: int, units: str) -> str:
    one, other = (float(alike.uniform[head]) for head in (first, second))
    if np.isnan(one) or np.isnan(other):
        return ""
    values = number(one) if number(one) == number(other) else f"{number(one)} and {number(other)}"
    return f"; with a head that knows nothing they have {values}{units}"


def _groups(groups: Int[np.ndarray, " head"] | None) -> str:
    if groups is None or len(groups) < 3:
        return ""
    sizes = Counter(groups.tolist()).values()
    several, alone = sum(size > 1 for size in sizes), sum(size == 1 for size in sizes)
    if not several:
        return " No two groups are closer than half of the mean distance: every head is alone."
    others = f"; {counted(alone, 'head is', 'heads are')} alone" if alone else ""
    groups_are = counted(several, "group of heads is", "groups of heads are")
    return f" {groups_are} closer together than half of the mean distance{others}."


def alike_alt(alike: Alike, tree: Tree | None, what: str) -> str:
    """Alt text of the matrix."""
    known = alike.pairs[~np.isnan(alike.pairs)]
    values = f", from {significant(float(known.min()))} to {significant(float(known.max()))}" if known.size else ""
    beside = " with the tree of the heads beside it" if tree is not None else ""
    return f"Matrix of {what} between {counted(len(alike.pairs), 'head')}{values}{beside}."


def map_answer(
    plane: Plane, groups: Int[np.ndarray, " head"], names: Sequence[str], near: Sequence[int], selected: int
) -> str:
    """What is nearest to the chosen head, which group it is in, and how much of the differences the plane shows."""
    if len(names) < 2:
        return ALONE
    nearest = ", ".join(_bracketed(names[head]) for head in near) or "none has anything in common with it"
    of_head = f"Nearest to head {_bracketed(names[selected])}: {nearest}. {group_answer(groups, names, selected)}"
    return f"{of_head} The plane shows {percent(plane.share)} of the differences between the heads."


def map_alt(plane: Plane, names: Sequence[str], selected: int) -> str:
    """Alt text of the map of heads."""
    x, y = (significant(float(value), 2) for value in plane.points[selected])
    return f"{counted(len(names), 'head')} as points of a plane; head {names[selected]} is at {x}, {y}."


def difference_answer(found: Moved, trace: AttentionTrace, names: tuple[str, str]) -> str:
    """How much attention is elsewhere, beside the uniform head, and where the difference is largest."""
    first, second = names
    if np.isnan(found.share):
        return "No query has a key that it may attend to."
    if found.share < TIE and abs(found.difference) < TIE:
        return f"No difference: {first} and {second} have the same weights."
    answer = (
        f"{first[0].upper()}{first[1:]} has {percent(found.share)} of its attention on other keys than {second}, and "
        f"{percent(found.uniform if found.uniform >= TIE else 0.0)} on other keys than a uniform head."
    )
    return f"{answer}{_alone(found, names)}{_largest(found, trace)}"


def _alone(found: Moved, names: tuple[str, str]) -> str:
    """How much of the attention is on keys that only one of the masks allows, beside a uniform head."""
    sides = [
        (found.first_alone, found.first_alone_uniform, *names),
        (found.second_alone, found.second_alone_uniform, *reversed(names)),
    ]
    return "".join(
        f" {own[0].upper()}{own[1:]} has {percent(alone)} on keys that are forbidden to {other} (a uniform head: "
        f"{percent(even)})."
        for alone, even, own, other in sides
        if even > TIE
    )


def _largest(found: Moved, trace: AttentionTrace) -> str:
    if abs(found.difference) < TIE:
        return ""
    query, key = quoted(trace.query_tokens[found.query]), quoted(trace.key_tokens[found.key])
    where = " among the pairs that both may attend to" if found.first_alone_uniform + found.second_alone_uniform else ""
    return (
        f" The largest difference{where}: query {found.query} {query} gives key {found.key} {key} "
        f"{significant(abs(found.difference))} {'more' if found.difference > 0 else 'less'}."
    )


def difference_alt(found: Moved, names: tuple[str, str]) -> str:
    """Alt text of the difference of two maps."""
    size = significant(abs(found.difference))
    return f"Heatmap of the weights of {names[0]} less those of {names[1]}, from {size} less to {size} more."
