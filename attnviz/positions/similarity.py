"""How alike two places are to attention: what the position method alone does to the score of two copies of a word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.positions.effects import Positional, PositionShape
from attnviz.shapes import KPositions, PositionIds, QPositions

SAME_WORD_FORMULA = (
    "score(i, j) = mean over random words x of turn_i(x + p_i) · turn_j(x + p_j) / √d_head + bias(i, j), "
    "less its value at j = i"
)

PLACES_COMPARED = 4

PairScores = Float[np.ndarray, "q k"]


@dataclass(frozen=True, eq=False)
class Method:
    """A position method ready to be asked about places.

    Attributes
    ----------
    label
        What it is called.
    shape
        Sizes of the layer that it is for.
    effects
        What it does.
    n_places
        How many places it knows; None where it knows all.
    is_drawn
        Whether its numbers are untrained and drawn from the seed.
    """

    label: str
    shape: PositionShape
    effects: Positional
    n_places: int | None = None
    is_drawn: bool = False


@dataclass(frozen=True, eq=False)
class ByDistance:
    """Scores gathered by the distance of the two places.

    Attributes
    ----------
    distance_tokens
        Key minus query, from the farthest key before the query to the farthest after it.
    mean, spread
        Mean over all pairs of places at this distance, and the largest less the smallest of them.
    """

    distance_tokens: Int[np.ndarray, " distance"]
    mean: Float[np.ndarray, " distance"]
    spread: Float[np.ndarray, " distance"]


def are_different(one: Positional, other: Positional) -> bool:
    """Whether two methods add, turn or bias differently at the first places; of two seeds, whether one is drawn from.

    Examples
    --------
    >>> from attnviz.registries import POSITIONS
    >>> first, second = PositionShape(8, 2, seed=0), PositionShape(8, 2, seed=1)
    >>> names = ("sinusoidal", "learned", "alibi", "t5_bias")
    >>> [are_different(POSITIONS[name].function(first), POSITIONS[name].function(second)) for name in names]
    [False, True, False, True]
    """
    places = np.arange(PLACES_COMPARED)
    return (
        _differ(one.add and one.add(places), other.add and other.add(places))
        or _differ(one.rotate and one.rotate.angles(places), other.rotate and other.rotate.angles(places))
        or _differ(one.bias and one.bias(places, places), other.bias and other.bias(places, places))
    )


def _differ(one: Float[np.ndarray, "..."] | None, other: Float[np.ndarray, "..."] | None) -> bool:
    if one is None or other is None:
        return one is not other
    return not np.array_equal(one, other)


def same_word_scores(method: Method, q_positions: QPositions, k_positions: KPositions, *, head: int) -> PairScores:
    """The score between two copies of one word at each pair of places, less that at the query's own place.

    Parameters
    ----------
    method
        The method and the sizes of the layer.
    q_positions, k_positions
        Places of the two copies.
    head
        Whose bias is taken.

    Notes
    -----
    `SAME_WORD_FORMULA`, exactly, for words with independent columns of mean 0 and variance 1, W_Q = W_K = identity.
    Each head sees its own d_head columns of x; the mean over the heads is taken, which is also the mean over random
    W_Q = W_K. Of the word remains Σ a² cos((j - i) θ) over its turning columns, for frequencies θ and the factor a on
    sines and cosines, and 1 for every other column; of what is added, the product of the two turned vectors.

    References
    ----------
    Vaswani et al. 2017, sections 3.2.1 and 3.5; Su et al. 2021, section 3.4.

    Examples
    --------
    >>> from attnviz.registries import POSITIONS
    >>> shape = PositionShape(d_model=8, n_heads=4)
    >>> alibi = Method("ALiBi", shape, POSITIONS["alibi"].function(shape))
    >>> same_word_scores(alibi, np.array([3]), np.arange(4), head=0)
    array([[-0.75, -0.5 , -0.25,  0.  ]])
    """
    effects, root = method.effects, np.sqrt(method.shape.d_head)
    queries = _copies(method, q_positions)
    keys = queries if k_positions is q_positions else _copies(method, k_positions)
    scores = queries @ keys.T / root
    own = np.square(queries).sum(axis=1) / root
    if effects.bias is not None:
        size = (method.shape.n_heads, len(q_positions), len(k_positions))
        scores = scores + np.broadcast_to(effects.bias(q_positions, k_positions), size)[head]
        own_bias = np.broadcast_to(effects.bias(q_positions, q_positions), (*size[:2], size[1]))[head]
        own = own + own_bias.diagonal()
    return scores - own[:, None]


def _copies(method: Method, positions: PositionIds) -> Float[np.ndarray, "place feature"]:
    """A vector for each place, whose dot products are the mean products of two copies of one word."""
    shape, rotation = method.shape, method.effects.rotate
    n_still = shape.d_head
    features: list[np.ndarray] = []
    if rotation is not None:
        angle = rotation.angles(positions)
        n_still -= 2 * angle.shape[1]
        size = rotation.attention_factor * np.sqrt(2.0)
        features += [size * np.cos(angle), size * np.sin(angle)]
    features.append(np.full((len(positions), 1), np.sqrt(n_still)))
    if method.effects.add is not None:
        added = method.effects.add(positions).astype(np.float64)
        of_heads = added.reshape(len(positions), shape.n_heads, shape.d_head).swapaxes(0, 1)
        turned = of_heads if rotation is None else rotation(of_heads, positions)
        features.append(turned.swapaxes(0, 1).reshape(added.shape) / np.sqrt(shape.n_heads))
    return np.concatenate(features, axis=1)


def by_distance(scores: PairScores) -> ByDistance:
    """Scores of places 0, 1, 2... with each other, gathered by distance.

    Examples
    --------
    >>> found = by_distance(np.array([[0.0, 1.0], [3.0, 0.0]]))
    >>> found.distance_tokens, found.mean
    (array([-1,  0,  1]), array([3., 0., 1.]))
    """
    n = scores.shape[0]
    distance = np.arange(1 - n, n)
    diagonals = [scores.diagonal(int(step)) for step in distance]
    return ByDistance(
        distance,
        np.array([line.mean() for line in diagonals]),
        np.array([np.ptp(line) for line in diagonals]),
    )
