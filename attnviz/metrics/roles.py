"""What a head does, where that can be said: roles from how far it is from a head that knows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from attnviz.core.rows import Facts, Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import mean_over_queries, uniform_rows
from attnviz.metrics.facts import word_numbers
from attnviz.metrics.parking import Parking, is_parking, parking
from attnviz.metrics.places import weight_beside
from attnviz.metrics.survey import Survey
from attnviz.metrics.words import after_same_word, same_word, same_word_elsewhere, share_on
from attnviz.shapes import PerHead, PerQuery, Tokens, UniformPerQuery

ENOUGH = 0.5
PARKED = 0.3
BROAD = 0.9
ALMOST_ALL = 0.999
TIE = 1e-6
OTHER_PLACES = 0.25
LEAST_TOKENS = 5
LEAST_QUERIES = 3
LEAST_ELSEWHERE = 2
NEARLY_ALL = 0.9
TOO_SHORT, MIXED = "too short to tell", "mixed"
BESIDE = {"previous token": -1, "own place": 0, "next token": 1}
REPEATS = ("same word of those", "elsewhere")
SINK, ONE_WORD = "sink", "one word"
SHARPEST = ("previous token", "own place", "next token", "same word", "induction", SINK, ONE_WORD)
ROLES = (*SHARPEST, "local", "broad", MIXED, TOO_SHORT)


@dataclass(frozen=True)
class Evidence:
    """How much a head does what a role is named for.

    Attributes
    ----------
    role
        Name of the role.
    value, uniform
        What the head scores, and a head uniform over the allowed keys: shares of the attention, but tokens for `local`
        and a share of the largest entropy for `broad`.
    way
        How far the head is on the way from the uniform head (0) to one that does nothing else (1).
    key
        The key that is meant, of a sink and of one word.
    kinds, of_key
        Of a sink that is several places: what they are, and the share of `key` alone.
    counted, queries
        Over how many queries it is the mean, and how many there are.
    """

    role: str
    value: float
    uniform: float
    way: float
    key: int | None = None
    kinds: tuple[str, ...] = ()
    of_key: float | None = None
    counted: int = 0
    queries: int = 0

    @property
    def is_of_some(self) -> bool:
        """Whether it says nothing of a tenth of the queries or more."""
        return self.counted < NEARLY_ALL * self.queries

    @property
    def needed(self) -> float:
        """How far on the way the head has to be, where nothing else names it, to be called this."""
        return PARKED if self.role == SINK else ENOUGH


@dataclass(frozen=True)
class Role:
    """What a head is called, and the evidence for every role that it could have had, the strongest first."""

    name: str
    evidence: tuple[Evidence, ...]

    @property
    def known_name(self) -> str:
        """The name, empty where it says nothing of the head."""
        return "" if self.name in (TOO_SHORT, MIXED) else self.name

    @property
    def reason(self) -> Evidence | None:
        """The evidence for the name; None where there is no name to give."""
        return next((one for one in self.evidence if one.role == self.name), None)

    @property
    def runner_up(self) -> Evidence | None:
        """The strongest evidence for a role that was not given; how broad the head is comes last."""
        others = [one for one in self.evidence if one.role != self.name]
        return min(others, key=lambda one: (one.role == "broad", -one.way), default=None)


def roles_of(trace: AttentionTrace, found: Survey) -> tuple[Role, ...]:
    """A role for each head.

    Parameters
    ----------
    trace
        A layer.
    found
        Its survey.

    Notes
    -----
    A head is called after what it is at least half of the way to doing alone, from what a head uniform over the allowed
    keys does: looking at one place beside the query, at places with the query's word (its own included; an upper-case
    letter makes no other word), at what followed that word earlier (induction; Olsson et al. 2022), at one word, or at
    parking places, a sink: the first place, special tokens such as [SEP] and punctuation, all of them together or one
    alone, whichever says more (Clark et al. 2019, section 3.2; Xiao et al. 2024, section 3.1). Otherwise it is local
    where its mean distance is at most half of the uniform head's, and broad where its entropy is at least nine tenths
    of the largest. A head that is none of these is a sink from 0.3 of the way on, the threshold of Gu et al. 2025,
    section 3.2, where no place beside the query and no word is further; else it is mixed. Below five tokens nothing is
    said, and of places that fewer than three queries have, neither.

    The share on the query's word is a mean over all queries. A head whose queries give less than a quarter of it to
    other places, where they may look at one (two queries or more), looks at its own place, else at the same word.

    A head that looks at a place beside the query is never called a sink, though that place may be punctuation.
    """
    if min(trace.n_q, trace.n_k) < LEAST_TOKENS:
        return (Role(TOO_SHORT, ()),) * trace.n_heads
    shares = _shares(trace)
    parked = parking(trace.key_tokens)
    return tuple(_role(head, found, shares, trace.key_tokens, parked) for head in range(trace.n_heads))


@dataclass(frozen=True)
class _Share:
    """Mean share of the attention for each head, and of the uniform head; and over how many queries."""

    value: PerHead
    uniform: PerHead
    counted: Int[np.ndarray, " head"]

    def evidence(self, role: str, head: int) -> Evidence:
        """For the role that is named for this share."""
        found = _share_evidence(role, float(self.value[head]), float(self.uniform[head]))
        return replace(found, counted=int(self.counted[head]))


def _shares(trace: AttentionTrace) -> dict[str, _Share]:
    facts = Facts(*word_numbers(trace.query_tokens, trace.key_tokens))

    def work(rows: Rows, which: range) -> tuple[dict[str, PerQuery], dict[str, UniformPerQuery]]:
        del which
        known = replace(rows, facts=facts)
        return _places_named(known), _places_named(uniform_rows(known))

    parts = list(trace.each_block(work))
    each, even = (
        {name: np.concatenate([part[side][name] for part in parts], axis=1) for name in parts[0][0]} for side in (0, 1)
    )
    return {
        name: _share(values, even[name], LEAST_ELSEWHERE if name in REPEATS else LEAST_QUERIES)
        for name, values in each.items()
    }


def _share(values: PerQuery, uniform: UniformPerQuery, least: int) -> _Share:
    counted = (~np.isnan(values)).sum(axis=1)
    mean = np.where(counted >= least, mean_over_queries(values), np.nan)
    return _Share(mean, np.broadcast_to(mean_over_queries(uniform), mean.shape), counted)


def _places_named(rows: Rows) -> dict[str, PerQuery]:
    """Shares of each query's attention; NaN where there is no such place that it may look at."""
    same, elsewhere = same_word(rows), same_word_elsewhere(rows)
    return {name: weight_beside(rows, offset) for name, offset in BESIDE.items()} | {
        "same word": share_on(same, rows, needed=np.ones_like(same)),
        "same word of those": share_on(same, rows, needed=elsewhere),
        "elsewhere": share_on(elsewhere, rows),
        "induction": share_on(after_same_word(rows), rows),
    }


def _role(head: int, found: Survey, shares: Mapping[str, _Share], tokens: Tokens, parked: Parking | None) -> Role:
    evidence = [share.evidence(name, head) for name, share in shares.items() if name not in REPEATS]
    same, of_those, elsewhere = (float(shares[name].value[head]) for name in ("same word", *REPEATS))
    looks_elsewhere = elsewhere >= OTHER_PLACES * max(same, of_those)
    evidence = [one for one in evidence if one.role != ("own place" if looks_elsewhere else "same word")]
    evidence += [*_keys(head, found, tokens, parked), _local(head, found), _broad(head, found)]
    n_queries = found.small.has_keys.shape[-1]
    told = (replace(one, queries=n_queries) for one in evidence if not np.isnan(one.way))
    known = sorted(told, key=lambda one: -one.way)
    return Role(_name(known), tuple(known))


def _name(known: list[Evidence]) -> str:
    """The name that this evidence gives, the strongest first."""
    ways = {one.role: one.way for one in known}
    sharp = [one.role for one in known if one.role in SHARPEST and one.way >= ENOUGH]
    beside = [role for role in sharp if role in BESIDE]
    if sharp:
        return beside[0] if sharp[0] == SINK and beside else sharp[0]
    if ways.get("local", 0.0) >= ENOUGH:
        return "local"
    if next((one.value for one in known if one.role == "broad"), 0.0) >= BROAD:
        return "broad"
    furthest = max(ways.get(role, 0.0) for role in (*BESIDE, ONE_WORD))
    return SINK if ways.get(SINK, 0.0) >= max(PARKED, furthest) else MIXED


def _share_evidence(role: str, value: float, uniform: float, key: int | None = None) -> Evidence:
    can_be_told = 0 < uniform < ALMOST_ALL
    return Evidence(role, value, uniform, (value - uniform) / (1 - uniform) if can_be_told else np.nan, key)


def _keys(head: int, found: Survey, tokens: Tokens, parked: Parking | None) -> list[Evidence]:
    """Evidence for the key that gets most beyond its share, and for the parking places together where they say more."""
    common = head if len(found.uniform_received) > 1 else 0
    has_keys = found.small.has_keys[head if len(found.small.has_keys) > 1 else 0]
    counted = int(has_keys.sum())
    n_rows = max(counted, 1)
    value, uniform = found.received[head] / n_rows, found.uniform_received[common] / n_rows
    key = int((value - uniform).argmax())
    role = SINK if is_parking(key, tokens) else ONE_WORD
    alone = replace(_share_evidence(role, float(value[key]), float(uniform[key]), key), counted=counted)
    if parked is None:
        return [alone]
    places = parked.places
    favourite = int(np.where(places, value - uniform, -np.inf).argmax())
    together = _share_evidence(SINK, float(value[places].sum()), float(uniform[places].sum()), favourite)
    together = replace(together, kinds=parked.kinds, of_key=float(value[favourite]), counted=counted)
    if role == ONE_WORD:
        return [alone, together]
    return [together if together.way > alone.way + TIE else alone]


def _local(head: int, found: Survey) -> Evidence:
    value, uniform, counted = _means(found, "mean_distance", head)
    way = 1 - value / uniform if uniform > 0 else np.nan
    return Evidence("local", value, uniform, way, counted=counted)


def _broad(head: int, found: Survey) -> Evidence:
    value, uniform, counted = _means(found, "normalised_entropy", head)
    return Evidence("broad", value, uniform, value, counted=counted)


def _means(found: Survey, name: str, head: int) -> tuple[float, float, int]:
    """Mean of a measure of the survey, that of the uniform head, and over how many queries."""
    values, uniform = found.measures[name], mean_over_queries(found.uniform[name])
    mean, counted = mean_over_queries(values)[head], int((~np.isnan(values[head])).sum())
    return float(mean), float(uniform[head if len(uniform) > 1 else 0]), counted
