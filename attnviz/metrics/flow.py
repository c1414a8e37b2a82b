"""Attention flow: how much of one token's output could come from each input token, along all paths at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from attnviz.metrics.rollout import RESIDUAL, with_residual
from attnviz.shapes import Matrix

SCALE = 1 << 30
MOST_TOKENS = 128


def largest_error(n_tokens: int, n_layers: int) -> float:
    """How far a flow may be from the exact one, because capacities are whole numbers of 2^-30.

    Notes
    -----
    By the theorem of the smallest cut a flow is the capacity of some set of edges, each off by at most half a step.

    >>> f"{largest_error(128, 6):.1e}"
    '4.6e-05'
    """
    return n_layers * n_tokens**2 / (2 * SCALE)


def flow(
    maps: Sequence[Matrix], query: int, inputs: Sequence[int] | None = None, residual: float = RESIDUAL
) -> Float[np.ndarray, " token"]:
    """The largest flow from one token of the last layer to each input token, from 0 to 1.

    Parameters
    ----------
    maps
        Weights of each layer from the first to the last, square and of the same size.
    query
        The token whose output is looked at.
    inputs
        Input tokens that are asked for; all where they are left out.
    residual
        Share of a layer's output that is its own input.

    Notes
    -----
    The tokens of all layers are the nodes of a network, and the edge from a token to one of the layer before it has
    as its capacity the share that `with_residual` gives it. Each input token is asked for by itself, so flows do not
    sum to 1. None is smaller than the rollout of the same pair, which sends what each token gets on in fixed shares,
    while a flow takes whichever paths have room. Exact up to `largest_error`.

    References
    ----------
    Abnar & Zuidema 2020, section 4.

    Examples
    --------
    >>> flow([np.array([[0.0, 1.0], [0.0, 1.0]])] * 2, query=0).round(3)
    array([0.5, 1. ])
    """
    mixed = [np.rint(with_residual(weights, residual) * SCALE).astype(np.int32) for weights in maps]
    n, n_between = len(maps[0]), len(maps) - 1
    wanted = range(n) if inputs is None else inputs
    if not n_between:
        return mixed[0][query, list(wanted)] / SCALE
    target = 1 + n_between * n
    edges = [_edges(mixed[-1][query][None], 0, 1)]
    edges += [_edges(one, 1 + depth * n, 1 + (depth + 1) * n) for depth, one in enumerate(mixed[-2:0:-1])]
    last = 1 + (n_between - 1) * n
    found = np.zeros(len(wanted))
    for place, key in enumerate(wanted):
        into = _edges(mixed[0][:, [key]], last, target)
        start, end, capacity = (np.concatenate(parts) for parts in zip(*edges, into, strict=True))
        network = csr_array((capacity, (start, end)), shape=(target + 1, target + 1))
        found[place] = maximum_flow(network, 0, target).flow_value / SCALE
    return np.minimum(found, 1.0)


def flow_of_classes(maps: Sequence[Matrix], query: int, residual: float = RESIDUAL) -> Float[np.ndarray, " token"]:
    """What `flow` gives, computed once for tokens that could be exchanged without changing any map.

    Notes
    -----
    Under attention uniform over the allowed keys many masks cannot tell tokens apart: with the full mask all but the
    query have one and the same flow. Exchanging two such tokens maps every path to one to a path to the other.

    Examples
    --------
    >>> flow_of_classes([np.full((3, 3), 1 / 3)] * 2, query=0).round(3)
    array([1. , 0.5, 0.5])
    """
    stacked = np.stack([with_residual(weights, residual) for weights in maps])
    first: dict[bytes, list[int]] = {}
    stands_for = np.arange(stacked.shape[1])
    for token in range(len(stands_for)):
        if token == query:
            continue
        sides = np.sort([stacked[:, token], stacked[:, :, token]], axis=-1)
        alike = first.setdefault(sides.tobytes(), [])
        known = next((other for other in alike if _can_exchange(stacked, token, other)), token)
        stands_for[token] = known
        if known == token:
            alike.append(token)
    asked, place = np.unique(stands_for, return_inverse=True)
    return flow(maps, query, asked.tolist(), residual)[place]


def _can_exchange(stacked: Float[np.ndarray, "layer token token"], one: int, other: int) -> bool:
    order = np.arange(stacked.shape[1])
    order[[one, other]] = other, one
    rows = bool((stacked[:, one, order] == stacked[:, other]).all())
    return rows and bool((stacked[:, order, one] == stacked[:, :, other]).all())


def _edges(capacity: np.ndarray, first_start: int, first_end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, end and capacity of every edge that has any."""
    start, end = np.nonzero(capacity)
    return start + first_start, end + first_end, capacity[start, end]
