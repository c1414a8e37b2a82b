"""The answer to each picture's question, as a sentence computed from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.core.trace import AttentionTrace
from attnviz.figures.labels import visible
from attnviz.metrics import mean_over_queries, most_alike, uniform_weights
from attnviz.numbers import counted, percent, significant
from attnviz.shapes import HeadPairs, PerQuery, UniformPerQuery
from attnviz.tables import cell_summary

NEARLY_THE_SAME = 0.95


def quoted(token: str, longest: int = 24) -> str:
    """A token in quotation marks, shortened where it is long.

    >>> quoted("the")
    '“the”'
    """
    shown = visible(token)
    return f"“{shown if len(shown) <= longest else shown[: longest - 1] + '…'}”"


def named(head: int, roles: Sequence[str]) -> str:
    """A head with its number and what it is called.

    >>> named(1, ["", "previous token"])
    'head 1 (previous token)'
    """
    return f"head {head} ({roles[head]})" if roles[head] else f"head {head}"


def grid_answer(trace: AttentionTrace, largest_weight: PerQuery, shown: Sequence[int]) -> str:
    """How sharply the heads look, and which rows have no key."""
    largest = mean_over_queries(largest_weight[list(shown)])
    sharp = int((largest >= 0.5).sum())
    verb = "gives" if sharp == 1 else "give"
    sentence = (
        f"{sharp} of {counted(len(shown), 'head')} {verb} at least half of the attention to a single key, on average."
    )
    empty = int((~trace.mask.any(axis=(0, 2))).sum())
    if empty:
        sentence += f" {counted(empty, 'query has', 'queries have')} no key allowed: weights and output are 0."
    return sentence


def redundancy_answer(similarity: HeadPairs, roles: Sequence[str], n_tokens: int) -> str:
    """The most alike pair of heads, in words."""
    if n_tokens < 2:
        return "With one token every head has the same map: too short to tell heads apart."
    pair = most_alike(similarity)
    if pair is None:
        return "One head has no other to be compared with."
    if pair.similarity == 0:
        return "No two heads ever look at the same key."
    names = f"Heads {pair.first} and {pair.second}"
    roles_of = [roles[pair.first], roles[pair.second]]
    if all(roles_of):
        names += f" ({roles_of[0]}, {roles_of[1]})"
    upper = similarity[np.triu_indices(similarity.shape[0], k=1)]
    kind = "nearly the same map" if pair.similarity >= NEARLY_THE_SAME else "the most alike"
    cosine, mean = significant(pair.similarity), significant(float(upper.mean()))
    return f"{names} are {kind}: cosine {cosine}. All pairs: {mean} on average."


def distance_answer(distance: PerQuery, baseline: UniformPerQuery, roles: Sequence[str]) -> str:
    """The nearest and the farthest looking head, beside the uniform head."""
    means = mean_over_queries(distance)
    if np.isnan(means).all():
        return "No query has a key it may attend to."
    uniform = float(np.nanmean(mean_over_queries(baseline)))
    near, far = int(np.nanargmin(means)), int(np.nanargmax(means))
    beside = f"a head that spreads its attention evenly over the allowed keys looks {significant(uniform)} tokens away"
    if near == far or means[near] == means[far]:
        return f"The mean distance is {significant(float(means[near]))} tokens; {beside}."
    return (
        f"Nearest: {named(near, roles)}, {significant(float(means[near]))} tokens away on average; "
        f"farthest: {named(far, roles)}, {significant(float(means[far]))}. For comparison, {beside}."
    )


@dataclass(frozen=True)
class Habit:
    """A place that can be named, with the share of a head's attention that goes there and a uniform head's."""

    place: str
    share: float
    uniform: float


def habits(trace: AttentionTrace, head: int) -> list[Habit]:
    """Where a head's attention goes: its own token, the one before or after, its favourite key; largest share first.

    Notes
    -----
    Means over the queries that have a key.
    """
    mask = trace.mask[head if trace.mask.shape[0] > 1 else 0]
    rows = max(int(mask.any(axis=1).sum()), 1)
    maps = (trace.weights[head], uniform_weights(mask[None])[0])
    own = trace.n_k - trace.n_q
    found = [
        Habit(name, *(float(np.trace(one, offset=own + step, dtype=np.float64)) / rows for one in maps))
        for name, step in (("the token itself", 0), ("the token before", -1), ("the token after", 1))
    ]
    favourite = int(maps[0].sum(axis=0, dtype=np.float64).argmax())
    name = f"key {favourite} {quoted(trace.key_tokens[favourite])}"
    found.append(Habit(name, *(float(one[:, favourite].sum(dtype=np.float64)) / rows for one in maps)))
    return sorted(found, key=lambda habit: -habit.share)


def head_answer(trace: AttentionTrace, head: int, roles: Sequence[str]) -> str:
    """Where most of the head's attention goes, beside what a uniform head would give there."""
    if not trace.mask.any():
        return "The mask allows no pair: every weight is 0."
    first = habits(trace, head)[0]
    name = named(head, roles)
    return (
        f"{name[0].upper()}{name[1:]} gives {percent(first.share)} of its attention to {first.place}; "
        f"a uniform head would give {percent(first.uniform)}."
    )


def cell_answer(trace: AttentionTrace, head: int, query: int, key: int) -> str:
    """Score, weight and rank of the chosen cell."""
    cell = cell_summary(trace, head, query, key)
    to = f"key {key} {quoted(trace.key_tokens[key])}"
    score = f"score {significant(cell.score)}" + (f", bias {significant(cell.bias)}" if cell.bias else "")
    if cell.weight is None or cell.rank is None:
        reason = "this query may attend to no key at all" if not cell.allowed_keys else "the mask forbids this pair"
        return f"It gives nothing to {to}: {reason} ({score})."
    return (
        f"It gives {significant(cell.weight)} to {to}: "
        f"rank {cell.rank} of {counted(cell.allowed_keys, 'allowed key')}, "
        f"{score}. A uniform head would give {significant(1 / cell.allowed_keys)}."
    )
