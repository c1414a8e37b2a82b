"""What a head does, where that can be said: roles from how far it is from a head that knows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import mean_over_queries, uniform_rows
from attnviz.metrics.places import weight_beside
from attnviz.metrics.survey import Survey
from attnviz.shapes import PerHead, PerQuery, UniformPerQuery

ENOUGH = 0.5
BROAD = 0.9
OTHER_PLACES = 0.25
LEAST_TOKENS = 5
LEAST_QUERIES = 2
TOO_SHORT, MIXED = "too short to tell", "mixed"
BESIDE = {"previous token": -1, "own place": 0, "next token": 1}
SHARPEST = ("previous token", "own place", "next token", "same word", "induction", "sink")


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
        The key that is meant, of a sink.
    """

    role: str
    value: float
    uniform: float
    way: float
    key: int | None = None


@dataclass(frozen=True)
class Role:
    """What a head is called, and the evidence for every role that it could have had, the strongest first."""

    name: str
    evidence: tuple[Evidence, ...]

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
    keys does: looking at one place beside the query, at places with the query's word (an upper-case letter makes no
    other word), at what followed that word earlier (induction; Olsson et al. 2022), or at one key (a sink; Xiao et al.
    2024). Otherwise it is local where its mean distance is at most half of the uniform head's, broad where its
    entropy is at least nine tenths of the largest, or mixed. Below five tokens nothing is said, and of places that
    fewer than two queries have, neither.
    """
    if min(trace.n_q, trace.n_k) < LEAST_TOKENS:
        return (Role(TOO_SHORT, ()),) * trace.n_heads
    shares = _shares(trace)
    return tuple(_role(head, found, shares) for head in range(trace.n_heads))


@dataclass(frozen=True)
class _Share:
    """Mean share of the attention for each head, and of the uniform head."""

    value: PerHead
    uniform: PerHead


def _shares(trace: AttentionTrace) -> dict[str, _Share]:
    words = _numbered(trace)

    def work(rows: Rows, which: range) -> tuple[dict[str, PerQuery], dict[str, UniformPerQuery]]:
        places = _Places(rows, words[0][which.start : which.stop], words[1])
        return places.shares(rows), places.shares(uniform_rows(rows))

    parts = list(trace.each_block(work))
    means = [
        {name: _mean(np.concatenate([part[side][name] for part in parts], axis=1)) for name in parts[0][0]}
        for side in (0, 1)
    ]
    n = trace.n_heads
    return {name: _Share(value, np.broadcast_to(means[1][name], (n,))) for name, value in means[0].items()}


def _mean(values: PerQuery) -> PerHead:
    is_enough = (~np.isnan(values)).sum(axis=1) >= LEAST_QUERIES
    return np.where(is_enough, mean_over_queries(values), np.nan)


def _numbered(trace: AttentionTrace) -> tuple[Int[np.ndarray, " q"], Int[np.ndarray, " k"]]:
    """A number for each query's and each key's word."""
    folded = [token.casefold() for token in (*trace.query_tokens, *trace.key_tokens)]
    _, numbers = np.unique(folded, return_inverse=True)
    return numbers[: trace.n_q], numbers[trace.n_q :]


class _Places:
    """Where the words of some queries stand among the keys."""

    def __init__(self, rows: Rows, queries: Int[np.ndarray, " q"], keys: Int[np.ndarray, " k"]) -> None:
        own = rows.keys[None, :] == rows.places[:, None]
        self._same: Bool[np.ndarray, "q k"] = queries[:, None] == keys[rows.keys][None, :]
        self._elsewhere = self._same & ~own
        before = np.where(rows.keys > 0, keys[rows.keys - 1], -1)
        self._after = (queries[:, None] == before[None, :]) & (rows.keys[None, :] <= rows.places[:, None])

    def shares(self, rows: Rows) -> dict[str, PerQuery]:
        """Shares of each query's attention; NaN where there is no such place that it may look at."""
        beside = {name: weight_beside(rows, offset) for name, offset in BESIDE.items()}
        has_word = (rows.mask & self._elsewhere).any(axis=-1)
        has_next = (rows.mask & self._after).any(axis=-1)
        return beside | {
            "same word": _where(has_word, rows, self._same),
            "elsewhere": _where(has_word, rows, self._elsewhere),
            "induction": _where(has_next, rows, self._after),
        }


def _where(defined: Bool[np.ndarray, "#head q"], rows: Rows, places: Bool[np.ndarray, "q k"]) -> PerQuery:
    share = np.where(places, rows.weights, 0).sum(axis=-1, dtype=np.float64)
    return np.where(np.broadcast_to(defined, share.shape), share, np.nan)


def _role(head: int, found: Survey, shares: Mapping[str, _Share]) -> Role:
    evidence = [
        _share_evidence(name, float(share.value[head]), float(share.uniform[head]))
        for name, share in shares.items()
        if name != "elsewhere"
    ]
    same, elsewhere = (float(shares[name].value[head]) for name in ("same word", "elsewhere"))
    looks_elsewhere = elsewhere >= OTHER_PLACES * same
    evidence = [one for one in evidence if one.role != ("own place" if looks_elsewhere else "same word")]
    evidence += [_sink(head, found), _local(head, found), _broad(head, found)]
    known = sorted((one for one in evidence if not np.isnan(one.way)), key=lambda one: -one.way)
    return Role(_name(known), tuple(known))


def _name(known: list[Evidence]) -> str:
    ways = {one.role: one.way for one in known}
    sharpest = next((one for one in known if one.role in SHARPEST), None)
    if sharpest is not None and sharpest.way >= ENOUGH:
        return sharpest.role
    if ways.get("local", 0.0) >= ENOUGH:
        return "local"
    entropy = next((one.value for one in known if one.role == "broad"), 0.0)
    return "broad" if entropy >= BROAD else MIXED


def _share_evidence(role: str, value: float, uniform: float, key: int | None = None) -> Evidence:
    return Evidence(role, value, uniform, (value - uniform) / (1 - uniform) if uniform < 1 else np.nan, key)


def _sink(head: int, found: Survey) -> Evidence:
    common = head if len(found.uniform_received) > 1 else 0
    has_keys = found.small.has_keys[head if len(found.small.has_keys) > 1 else 0]
    n_rows = max(int(has_keys.sum()), 1)
    value, uniform = found.received[head] / n_rows, found.uniform_received[common] / n_rows
    key = int((value - uniform).argmax())
    return _share_evidence("sink", float(value[key]), float(uniform[key]), key)


def _local(head: int, found: Survey) -> Evidence:
    value, uniform = _means(found, "mean_distance", head)
    return Evidence("local", value, uniform, 1 - value / uniform if uniform > 0 else np.nan)


def _broad(head: int, found: Survey) -> Evidence:
    value, uniform = _means(found, "normalised_entropy", head)
    return Evidence("broad", value, uniform, value)


def _means(found: Survey, name: str, head: int) -> tuple[float, float]:
    uniform = mean_over_queries(found.uniform[name])
    return float(mean_over_queries(found.measures[name])[head]), float(uniform[head if len(uniform) > 1 else 0])
