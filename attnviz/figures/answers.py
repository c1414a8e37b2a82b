"""The answer to each picture's question, as a sentence computed from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.trace import AttentionTrace
from attnviz.figures.labels import visible
from attnviz.metrics import mean_over_queries, most_alike, uniform_weights
from attnviz.numbers import counted, percent, significant
from attnviz.shapes import HeadPairs, PerHead, PerQuery, UniformPerQuery, Weights
from attnviz.tables import cell_summary

NEARLY_THE_SAME = 0.95
NO_BETTER = 0.02
LEAST_TOKENS = 0.001
TIE = 1e-6
PLACES = {"the token itself": 0, "the token before": -1, "the token after": 1}
MADE_FOR = {"previous token": "the token before", "next token": "the token after", "first token": "key 0 "}
Weights2D: TypeAlias = Float[np.ndarray, "q k"]
Rows: TypeAlias = Bool[np.ndarray, " q"]


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
    ties = int((upper >= pair.similarity - TIE).sum()) - 1
    others = f" {counted(ties, 'other pair is', 'other pairs are')} as alike." if ties else ""
    return f"{names} are {kind}: cosine {cosine}.{others} All pairs: {mean} on average."


def distance_answer(distance: PerQuery, baseline: UniformPerQuery, roles: Sequence[str]) -> str:
    """The nearest and the farthest looking head, beside the uniform head."""
    means = mean_over_queries(distance)
    if np.isnan(means).all():
        return "No query has a key it may attend to."
    uniform = float(np.nanmean(mean_over_queries(baseline)))
    near, far = int(np.nanargmin(means)), int(np.nanargmax(means))
    beside = f"a head that spreads its attention evenly over the allowed keys looks {significant(uniform)} tokens away"
    if means[far] - means[near] < TIE:
        return f"The mean distance is {significant(float(means[near]))} tokens; {beside}."
    return (
        f"Nearest: {named(near, roles)}{_tied(means, near)}, {_tokens(float(means[near]))} tokens away on average; "
        f"farthest: {named(far, roles)}{_tied(means, far)}, {significant(float(means[far]))}. For comparison, {beside}."
    )


def _tokens(distance: float) -> str:
    return f"less than {LEAST_TOKENS:g}" if 0 < distance < LEAST_TOKENS else significant(distance)


def _tied(means: PerHead, head: int) -> str:
    others = int((np.abs(means - means[head]) < TIE).sum()) - 1
    return f" and {counted(others, 'other')}" if others else ""


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
    Means over the queries that have a key there; for a key, over the queries that have any.
    """
    mask = trace.mask[head if trace.mask.shape[0] > 1 else 0]
    maps = (trace.weights[head], uniform_weights(mask[None])[0])
    has_keys = mask.any(axis=1)
    own = trace.n_k - trace.n_q
    found = [_beside(maps, has_keys, own + step, name) for name, step in PLACES.items()]
    favourite = int(maps[0].sum(axis=0, dtype=np.float64).argmax())
    found += [_on_key(trace, maps, has_keys, key) for key in sorted({favourite, 0})]
    return sorted(found, key=lambda habit: -habit.share)


def _beside(maps: tuple[Weights2D, Weights2D], has_keys: Rows, offset: int, name: str) -> Habit:
    """Share that goes to a place beside the query, over the queries that have a key there."""
    n_q, n_k = maps[0].shape
    rows = np.arange(n_q)
    rows = rows[(rows + offset >= 0) & (rows + offset < n_k) & has_keys]
    return Habit(name, *(float(one[rows, rows + offset].mean(dtype=np.float64)) if rows.size else 0.0 for one in maps))


def _on_key(trace: AttentionTrace, maps: tuple[Weights2D, Weights2D], has_keys: Rows, key: int) -> Habit:
    name = f"key {key} {quoted(trace.key_tokens[key])}"
    return Habit(name, *(float(one[has_keys, key].mean(dtype=np.float64)) for one in maps))


def head_answer(trace: AttentionTrace, head: int, roles: Sequence[str]) -> str:
    """Where most of the head's attention goes, beside what a uniform head would give there."""
    if not trace.mask.any():
        return "The mask allows no pair: every weight is 0."
    found = habits(trace, head)
    made_for = next((place for role, place in MADE_FOR.items() if roles[head].startswith(role)), None)
    habit = next((one for one in found if made_for and one.place.startswith(made_for)), found[0])
    name = named(head, roles)
    beside = f"a uniform head would give {percent(habit.uniform)}"
    if made_for and habit.share < habit.uniform + NO_BETTER:
        beside = f"no better than a uniform head, which gives {percent(habit.uniform)}"
    return f"{name[0].upper()}{name[1:]} gives {percent(habit.share)} of its attention to {habit.place}; {beside}."


def cell_answer(trace: AttentionTrace, head: int, query: int, key: int) -> str:
    """Score, weight and rank of the chosen cell."""
    cell = cell_summary(trace, head, query, key)
    to = f"key {key} {quoted(trace.key_tokens[key])}"
    score = f"score {significant(cell.score)}" + (f", bias {significant(cell.bias)}" if cell.bias else "")
    if cell.weight is None or cell.rank is None:
        reason = "this query may attend to no key at all" if not cell.allowed_keys else "the mask forbids this pair"
        return f"It gives nothing to {to}: {reason} ({score})."
    tied = f", tied with {counted(cell.ties, 'other')}," if cell.ties else ""
    return (
        f"It gives {significant(cell.weight)} to {to}: "
        f"rank {cell.rank}{tied} of {counted(cell.allowed_keys, 'allowed key')}, "
        f"{score}. A uniform head would give {significant(1 / cell.allowed_keys)}."
    )


def dropout_answer(trace: AttentionTrace, after: Weights, head: int) -> str:
    """How many weights dropout took, and what the rows sum to now."""
    had = trace.weights[head] > 0
    share = float((had & (after[head] == 0)).sum() / max(int(had.sum()), 1))
    totals = after[head].sum(axis=-1, dtype=np.float64)
    least, most = significant(float(totals.min())), significant(float(totals.max()))
    before = " instead of 1" if trace.sinks is None else ""
    return f"{percent(share)} of the weights are dropped; a row now sums to between {least} and {most}{before}."
