"""The strongest paths that lead from input tokens through all layers to one token, as rollout weighs them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from attnviz.metrics.rollout import RESIDUAL, with_residual
from attnviz.shapes import Matrix

MOST_LINKS = 60
MOST_PATHS = 1000
ENOUGH = 0.8


class Path(NamedTuple):
    """One way through all layers.

    Attributes
    ----------
    tokens
        The input token, then the token after each layer; the last one is the query.
    share
        Product of what each token on the way takes from the one before it: the path's part of the rollout.
    """

    tokens: tuple[int, ...]
    share: float


@dataclass(frozen=True, eq=False)
class Routes:
    """The links that the strongest paths to one token are made of.

    Attributes
    ----------
    paths
        These paths, strongest first.
    layer, start, end
        Of each link the layer, the token that is looked at and the token that looks.
    passing
        Part of the query's rollout that passes over each link, on paths over these links alone.
    from_input
        Part of the query's rollout that these links bring from each input token.
    """

    paths: tuple[Path, ...]
    layer: Int[np.ndarray, " link"]
    start: Int[np.ndarray, " link"]
    end: Int[np.ndarray, " link"]
    passing: Float[np.ndarray, " link"]
    from_input: Float[np.ndarray, " token"]

    def tokens(self, query: int) -> list[int]:
        """The tokens on these links and the query, in order."""
        return np.unique(np.concatenate([self.start, self.end, [query]])).tolist()

    @property
    def share(self) -> float:
        """Part of the query's rollout that all paths over these links hold together."""
        return float(self.from_input.sum())


def paths_by_strength(maps: Sequence[Matrix], query: int, residual: float = RESIDUAL) -> Iterator[Path]:
    """Every path to a token of the last layer, the strongest first; those with no share are left out.

    Parameters
    ----------
    maps
        Weights of each layer from the first to the last, square and of the same size.
    query
        The token whose output is looked at.
    residual
        Share of a layer's output that is its own input.

    Notes
    -----
    A search that goes on where the product so far times the strongest possible rest is largest, so that paths come in
    order and the next one costs little; of equal ones the longest goes on first. The shares of all paths from one
    input token sum to its rollout.

    References
    ----------
    The graph of tokens and layers: Abnar & Zuidema 2020, section 3 and figure 1.

    Examples
    --------
    >>> to_next = np.array([[0.0, 1.0], [0.0, 1.0]])
    >>> [(path.tokens, path.share) for path in paths_by_strength([to_next] * 2, query=0)]
    [((1, 1, 0), 0.5), ((0, 0, 0), 0.25), ((1, 0, 0), 0.25)]
    """
    mixed = [with_residual(weights, residual) for weights in maps]
    best = [np.ones(len(mixed[0]))]
    for one in mixed:
        best.append((one * best[-1]).max(axis=1))

    @cache
    def ranked(layer: int, token: int) -> tuple[Int[np.ndarray, " token"], Float[np.ndarray, " token"]]:
        """Tokens below one, the most promising first, and what they promise."""
        reach = mixed[layer][token] * best[layer]
        order = np.argsort(-reach, kind="stable")
        return order, reach[order]

    waiting: list[tuple[float, int, tuple[int, ...], int, float]] = []

    def wait(tokens: tuple[int, ...], rank: int, share: float) -> None:
        layer, token = len(maps) - len(tokens), tokens[0]
        if rank < len(best[0]) and (most := share * float(ranked(layer, token)[1][rank])) > 0:
            heapq.heappush(waiting, (-most, -len(tokens), tokens, rank, share))

    wait((query,), 0, 1.0)
    while waiting:
        _, _, tokens, rank, share = heapq.heappop(waiting)
        layer, token = len(maps) - len(tokens), tokens[0]
        below = int(ranked(layer, token)[0][rank])
        longer, product = (below, *tokens), share * float(mixed[layer][token, below])
        wait(tokens, rank + 1, share)
        if layer:
            wait(longer, 0, product)
        else:
            yield Path(longer, product)


def strongest_routes(
    maps: Sequence[Matrix],
    query: int,
    *,
    enough: float = ENOUGH,
    most_links: int = MOST_LINKS,
    most_paths: int = MOST_PATHS,
    residual: float = RESIDUAL,
) -> Routes:
    """The strongest paths to a token, as many as hold a share of its rollout or have so many links.

    Parameters
    ----------
    maps, query, residual
        See `paths_by_strength`.
    enough
        Share that all paths over these links are to hold, from 0 to 1.
    most_links, most_paths
        Where to stop before that.
    """
    mixed = [with_residual(weights, residual) for weights in maps]
    chosen = [np.zeros_like(one) for one in mixed]
    taken: list[Path] = []
    n_links = 0
    for path in islice(paths_by_strength(maps, query, residual), most_paths):
        steps = [
            (layer, end, start) for layer, (start, end) in enumerate(zip(path.tokens, path.tokens[1:], strict=False))
        ]
        new = [(layer, end, start) for layer, end, start in steps if not chosen[layer][end, start]]
        if n_links + len(new) > most_links:
            break
        taken.append(path)
        for layer, end, start in new:
            chosen[layer][end, start] = mixed[layer][end, start]
        n_links += len(new)
        if new and _arriving(chosen, query)[-1].sum() >= enough:
            break
    return _routes(chosen, query, tuple(taken))


def _arriving(chosen: Sequence[Matrix], query: int) -> list[Float[np.ndarray, " token"]]:
    """Part of the query that each token stands for, after the last layer and then before each, down to the input."""
    arriving = [np.eye(len(chosen[0]))[query]]
    for one in reversed(chosen):
        arriving.append(arriving[-1] @ one)
    return arriving


def _routes(chosen: Sequence[Matrix], query: int, paths: tuple[Path, ...]) -> Routes:
    arriving = _arriving(chosen, query)
    rest = [np.ones(len(chosen[0]))]
    for one in chosen:
        rest.append(one @ rest[-1])
    places = [(layer, *place) for layer, one in enumerate(chosen) for place in np.argwhere(one).tolist()]
    layer, end, start = np.array(places, dtype=np.int64).reshape(-1, 3).T
    down = arriving[::-1]
    passing = np.array(
        [down[depth + 1][upper] * chosen[depth][upper, lower] * rest[depth][lower] for depth, upper, lower in places],
        dtype=np.float64,
    )
    return Routes(paths, layer, start, end, passing, arriving[-1])
