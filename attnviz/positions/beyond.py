"""What a position method does past the longest text that a model was trained on, effect by effect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from attnviz.positions.similarity import Method, same_word_scores
from attnviz.positions.turning import Rotation

TIMES_LONGER = 4
MOST_STEPS = 512
NEARLY_ZERO = 1e-9
FARTHEST = 1100
ROOM = 8


@dataclass(frozen=True, eq=False)
class FarScores:
    """Scores of the last query of a long text with the keys before it.

    Attributes
    ----------
    distance_tokens
        Query minus key.
    scores
        See `same_word_scores`.
    """

    distance_tokens: Int[np.ndarray, " distance"]
    scores: Float[np.ndarray, " distance"]


@dataclass(frozen=True)
class BiasBeyond:
    """The bias of one head for a key as far back as the trained length, and at the longest distance.

    Attributes
    ----------
    at_length, at_end
        The two values, less that of the query's own place, as in `same_word_scores`.
    step
        What each further token changes; None where that is not always the same.
    same_from
        Distance from which all have one value; None where the last two differ.
    """

    at_length: float
    at_end: float
    step: float | None
    same_from: int | None


def far_scores(method: Method, length: int, *, head: int) -> FarScores:
    """Scores of the query at the last place of a text, for every distance back to its start.

    Parameters
    ----------
    method
        The method, for a text of `length + 1` tokens.
    length
        Place of the query, and the longest distance; where it is above 512, 513 distances are taken.
    head
        Whose bias is taken.
    """
    distance = np.unique(np.rint(np.linspace(0, length, min(length, MOST_STEPS) + 1)).astype(np.int64))
    return FarScores(distance, same_word_scores(method, np.array([length]), length - distance, head=head)[0])


def nearest_seen(method: Method, trained_length: int, length: int) -> Float[np.ndarray, " place"]:
    """Cosine of the vector added at each place from the trained length on with the most alike one before it.

    Notes
    -----
    At most 512 of the places beyond are looked at, evenly spread. A vector of zeros is like no other.
    """
    assert method.effects.add is not None
    beyond = np.unique(np.rint(np.linspace(trained_length, length, MOST_STEPS)).astype(np.int64))
    seen, unseen = (
        _unit(method.effects.add(places).astype(np.float64)) for places in (np.arange(trained_length), beyond)
    )
    return (unseen @ seen.T).max(axis=1)


def _unit(vectors: Float[np.ndarray, "place column"]) -> Float[np.ndarray, "place column"]:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), NEARLY_ZERO)


def pairs_at_new_angles(trained: Rotation, used: Rotation, trained_length: int, length: int) -> int:
    """How many pairs of columns never complete a turn in training and turn further in the long text.

    Parameters
    ----------
    trained, used
        The rotation in a text of the trained length, and in the long one: dynamic scaling tells them apart.
    trained_length, length
        Longest distances of both, in tokens.

    Notes
    -----
    A pair of frequency θ has turned by θ times the distance; from one whole turn on it has met every angle.

    References
    ----------
    Peng et al. 2023, section 3.2.
    """
    met = trained.frequencies * trained_length
    return int(((met < 2 * np.pi) & (used.frequencies * length > met * (1 + NEARLY_ZERO))).sum())


def bias_beyond(method: Method, trained_length: int, length: int, *, head: int) -> BiasBeyond:
    """The bias of one head past the trained length, less that of the own place, for the last query of the long text."""
    assert method.effects.bias is not None
    distance = np.unique(np.rint(np.linspace(trained_length, length, MOST_STEPS)).astype(np.int64))
    given = method.effects.bias(np.array([length]), np.append(length - distance, length))
    *far, own = np.broadcast_to(given, (method.shape.n_heads, 1, len(distance) + 1))[head, 0]
    values = np.array(far) - own
    steps = np.diff(values) / np.diff(distance)
    is_even = bool(np.ptp(steps) < NEARLY_ZERO) if steps.size else False
    changing = np.flatnonzero(np.abs(steps) > NEARLY_ZERO)
    first_same = int(changing[-1]) + 1 if changing.size else 0
    return BiasBeyond(
        at_length=float(values[0]),
        at_end=float(values[-1]),
        step=float(steps[0]) if is_even else None,
        same_from=int(distance[first_same]) if first_same < steps.size else None,
    )


def bias_reach(method: Method, least: int) -> int:
    """Distance, in tokens, up to which a bias is worth drawing.

    Notes
    -----
    At least `least`; farther where the bias goes on changing and then stays, up to 1,100 tokens.

    Examples
    --------
    >>> from attnviz.positions.effects import PositionShape
    >>> from attnviz.registries import POSITIONS
    >>> shape = PositionShape(d_model=8, n_heads=2)
    >>> [bias_reach(Method(name, shape, POSITIONS[name].function(shape)), 63) for name in ("alibi", "t5_bias")]
    [63, 99]
    """
    assert method.effects.bias is not None
    distance = np.arange(-FARTHEST, FARTHEST + 1)
    bias = method.effects.bias(np.array([FARTHEST]), FARTHEST + distance)
    changes = (np.abs(np.diff(bias, axis=-1)) > NEARLY_ZERO).any(axis=(0, 1))
    last = int(np.maximum(np.abs(distance[1:]), np.abs(distance[:-1]))[changes].max(initial=0))
    return least if last == FARTHEST else max(least, last + ROOM)
