"""Jensen-Shannon divergence of all pairs of heads from sums over blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.alike import joint_blocks, symmetric
from attnviz.metrics.baseline import uniform_weights
from attnviz.shapes import HeadPairs, PerHead

CHUNK = 1 << 12
Cells = Float[np.ndarray, "head cell"]


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over rows, of pairs of heads and of each head with the uniform one.

    Attributes
    ----------
    joint, even
        Sum of m ln m for m the sum of two heads' weights.
    own_even
        Sum of 2 u ln 2 u for the uniform head.
    lonely
        Weight of one head in rows where the other has no key; this is no divergence that counts.
    both, has_keys
        Rows where both heads have a key, and where each has.
    """

    joint: HeadPairs
    even: PerHead
    own_even: PerHead
    lonely: HeadPairs
    both: HeadPairs
    has_keys: PerHead

    def __add__(self, other: _Sums) -> _Sums:
        mine, others = vars(self), vars(other)
        return _Sums(**{name: mine[name] + others[name] for name in mine})


def divergences(
    layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None
) -> tuple[HeadPairs, PerHead]:
    """Jensen-Shannon divergence in nats of each two heads, and of each from the uniform head: means over the queries.

    Notes
    -----
    With m = a + b it is (Σ 2a ln 2a + Σ 2b ln 2b) / 4 - (Σ m ln m) / 2, so that all pairs need one logarithm a cell and
    pair, and equal heads are exactly 0 apart. Of two heads the queries count for which both have a key; where there is
    none they are ln 2 apart, the most there is. What a sink takes counts as the weight of one more key.
    """
    has_sinks = any(trace.sinks is not None for trace in layers)
    parts = list(joint_blocks(layers, lambda rows: _sums(rows, has_sinks=has_sinks), on_progress))
    sums = parts[0]
    for part in parts[1:]:
        sums += part
    own = np.diagonal(sums.joint)
    total = (own[:, None] + own[None, :]) / 4 - sums.joint / 2 - np.log(2) / 2 * sums.lonely
    pairs = np.where(sums.both > 0, np.maximum(total, 0.0) / np.maximum(sums.both, 1), np.log(2))
    np.fill_diagonal(pairs, 0.0)
    apart = np.maximum((own + sums.own_even) / 4 - sums.even / 2, 0.0)
    uniform = np.where(sums.has_keys > 0, apart / np.maximum(sums.has_keys, 1), np.nan)
    return pairs, uniform


def _sums(rows: Rows, *, has_sinks: bool) -> _Sums:
    n_heads = len(rows.weights)
    totals = rows.weights.sum(axis=-1, dtype=np.float64)
    has_keys = np.broadcast_to(rows.n_allowed > 0, totals.shape).astype(np.float64)
    sunk = np.where(has_keys > 0, np.maximum(1.0 - totals, 0.0), 0.0) if has_sinks else np.zeros((n_heads, 0))
    uniform = uniform_weights(rows.mask).astype(rows.weights.dtype)
    if len(rows.mask) == 1 and not rows.allows_all:
        weights, even = rows.weights[:, rows.mask[0]], uniform[:, rows.mask[0]]
    else:
        weights, even = rows.weights.reshape(n_heads, -1), uniform.reshape(len(uniform), -1)
    weights = np.concatenate([weights, sunk.astype(weights.dtype)], axis=1)
    even = np.concatenate([even, np.zeros((len(even), sunk.shape[1]), even.dtype)], axis=1)
    return _Sums(
        joint=symmetric(_joint(weights)),
        even=_summed(weights, even),
        own_even=np.broadcast_to(_summed(even, even), (n_heads,)),
        lonely=totals @ (1.0 - has_keys).T + (1.0 - has_keys) @ totals.T,
        both=has_keys @ has_keys.T,
        has_keys=has_keys.sum(axis=1),
    )


def _chunks(n_cells: int) -> Iterator[slice]:
    yield from (slice(start, start + CHUNK) for start in range(0, n_cells, CHUNK))


def _joint(weights: Cells) -> HeadPairs:
    """Sum of m ln m for m = a + b of each two heads, above the diagonal and on it."""
    n_heads, n_cells = weights.shape
    joint = np.zeros((n_heads, n_heads))
    for chunk in _chunks(n_cells):
        part = np.ascontiguousarray(weights[:, chunk])
        for head in range(n_heads):
            joint[head, head:] += _sum_of_logs(part[head:] + part[head])
    return joint


def _summed(weights: Cells, even: Float[np.ndarray, "#head cell"]) -> PerHead:
    """Sum of m ln m for m = a + u of each head and the uniform one."""
    summed = np.zeros(len(weights))
    for chunk in _chunks(weights.shape[1]):
        summed += _sum_of_logs(weights[:, chunk] + even[:, chunk])
    return summed


def _sum_of_logs(m: Cells) -> PerHead:
    np.maximum(m, np.finfo(m.dtype).tiny, out=m)
    return np.vecdot(m, np.log(m)).astype(np.float64)
