"""The answer to each picture's question, as a sentence computed from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.figures.labels import visible
from attnviz.metrics import Overview, Survey, mean_over_queries, most_alike
from attnviz.numbers import counted, percent, significant
from attnviz.shapes import HeadPairs, PerHead, PerQuery, UniformPerQuery
from attnviz.tables import cell_summary

NEARLY_THE_SAME = 0.95
NO_BETTER = 0.02
LEAST_TOKENS = 0.001
TIE = 1e-6
ONE_KEY = "There is only one key: heads cannot be told apart by where they look."
PLACES = {"the token itself": 0, "the token before": -1, "the token after": 1}
MADE_FOR = {"previous token": "the token before", "next token": "the token after", "first token": "key 0 "}


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


def grid_answer(small: Overview, shown: range) -> str:
    """How sharply the heads look, and which rows have no key."""
    weights = np.where(small.has_keys, small.largest_weight, np.nan)
    largest = mean_over_queries(weights[shown.start : shown.stop])
    sharp = int((largest >= 0.5).sum())
    verb = "gives" if sharp == 1 else "give"
    heads = f"{sharp} of {counted(len(shown), 'head')} {verb}"
    sentence = f"{heads} at least half of the attention to a single key, on average." if small.n_k > 1 else ONE_KEY
    empty = int((~small.has_keys.any(axis=0)).sum())
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


def measure_answer(values: PerQuery, uniform: UniformPerQuery, roles: Sequence[str], unit: str) -> str:
    """The heads with the most and the least of a measure, beside the uniform head."""
    means, even = mean_over_queries(values), mean_over_queries(uniform)
    if np.isnan(means).all():
        return "It is not defined for any query of this setting."
    units = f" {unit}" if unit else ""
    most, least = int(np.nanargmax(means)), int(np.nanargmin(means))
    each = np.broadcast_to(even, means.shape)
    beside, own = baselines(each, (most, least), units)
    if means[most] - means[least] < TIE:
        who = "Every head" if len(means) > 1 else f"The only head, {named(0, roles)},"
        return same_answer(who, float(means[most]), float(each[most]), beside, units)
    high, low = (
        f"{named(head, roles)}{_tied(means, head)}, {measured_number(float(means[head]))}{units}{baseline}"
        for head, baseline in zip((most, least), own, strict=True)
    )
    return f"Most: {high}. Least: {low}. For comparison, {beside}."


def same_answer(who: str, value: float, even: float, beside: str, units: str) -> str:
    """What all heads have, beside the uniform one, or that the measure tells none of them apart."""
    if abs(value - even) < TIE:
        return (
            f"{who} has {measured_number(value)}{units}, and so has a head that spreads its attention evenly over the "
            "allowed keys: the measure tells nothing here."
        )
    return f"{who} has {measured_number(value)}{units}; {beside}."


def measured_number(value: float) -> str:
    """A mean of a measure in words; one that is next to nothing is said to be so.

    >>> measured_number(0.25), measured_number(3e-17), measured_number(-3e-17), measured_number(0.0)
    ('0.250', 'less than 10⁻⁶', 'about 0', '0')
    """
    if 0 < abs(value) < TIE:
        return "less than 10⁻⁶" if value > 0 else "about 0"
    return significant(value)


def baselines(each: PerHead, heads: Sequence[int], units: str) -> tuple[str, list[str]]:
    """What heads have that spread their attention evenly, and what stands beside each of some where they differ.

    Parameters
    ----------
    each
        Baseline of each head; NaN where there is none.
    heads
        Those that are named.
    units
        Behind each number.

    Examples
    --------
    >>> baselines(np.array([0.25, 0.25]), (0, 1), " bits")
    ('a head that spreads its attention evenly over the allowed keys has 0.250 bits', ['', ''])
    >>> baselines(np.array([0.1, 0.2]), (1,), "")
    ('heads that spread their attention evenly over the allowed keys have 0.100 to 0.200', [' (spread evenly 0.200)'])
    """
    low, high = float(np.nanmin(each)), float(np.nanmax(each))
    if high - low < TIE:
        even = significant(high) if abs(high) >= TIE else "0"
        each_has = f"a head that spreads its attention evenly over the allowed keys has {even}{units}"
        return each_has, [""] * len(heads)
    return (
        "heads that spread their attention evenly over the allowed keys have "
        f"{significant(low)} to {significant(high)}{units}",
        [f" (spread evenly {significant(float(each[head]))})" for head in heads],
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


def habits(trace: AttentionTrace, found: Survey, head: int) -> list[Habit]:
    """Where a head's attention goes: its own token, the one before or after, its favourite key; largest share first.

    Notes
    -----
    Means over the queries that have a key there; for a key, over the queries that have any.
    """
    common = head if len(found.small.has_keys) > 1 else 0
    n_rows = max(int(found.small.has_keys[common].sum()), 1)
    shares = [
        Habit(name, *(_mean(values) for values in (beside.weight[head], beside.uniform[common])))
        for name, beside in ((name, found.beside[step]) for name, step in PLACES.items())
    ]
    received, uniform = found.received[head], found.uniform_received[common]
    for key in sorted({int(received.argmax()), 0}):
        name = f"key {key} {quoted(trace.key_tokens[key])}"
        shares.append(Habit(name, float(received[key]) / n_rows, float(uniform[key]) / n_rows))
    return sorted(shares, key=lambda habit: -habit.share)


def _mean(values: Float[np.ndarray, " q"]) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else 0.0


def head_answer(trace: AttentionTrace, found: Survey, head: int, roles: Sequence[str]) -> str:
    """Where most of the head's attention goes, beside what a uniform head would give there."""
    if not found.small.allowed_share:
        return "The mask allows no pair: every weight is 0."
    shares = habits(trace, found, head)
    made_for = next((place for role, place in MADE_FOR.items() if roles[head].startswith(role)), None)
    habit = next((one for one in shares if made_for and one.place.startswith(made_for)), shares[0])
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


def dropout_answer(trace: AttentionTrace, head: int) -> str:
    """How many weights dropout took, and what the rows sum to now."""
    one = range(head, head + 1)

    def counted_rows(rows: Rows, which: range) -> tuple[int, Float[np.ndarray, " q"]]:
        del which
        return int(np.count_nonzero(rows.weights)), rows.weights[0].sum(axis=-1, dtype=np.float64)

    before, after = (list(one_trace.each_block(counted_rows, heads=one)) for one_trace in (trace, trace.in_training()))
    had, left = (sum(count for count, _ in blocks) for blocks in (before, after))
    totals = np.concatenate([sums for _, sums in after])
    least, most = significant(float(totals.min())), significant(float(totals.max()))
    instead = " instead of 1" if trace.sinks is None else ""
    share = percent((had - left) / max(had, 1))
    return f"{share} of the weights are dropped; a row now sums to between {least} and {most}{instead}."
