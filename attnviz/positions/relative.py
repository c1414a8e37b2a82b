"""Position methods that add a number for the distance of query and key to the scores."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from attnviz.errors import SettingError, broken_rule
from attnviz.positions.effects import Curve, Positional, PositionShape
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Choice, Range
from attnviz.shapes import Bias, BiasTable, KPositions, PerHead, QPositions

SLOPES = "2^(−8 (head + 1) / n_heads) for a power of two; of other counts see the source"
BUCKETS = "the distance itself up to a quarter of the buckets (causal: half), then a logarithm of it"
TWO_SIDED = "two-sided"
CAUSAL = "causal"


def distances(q_positions: QPositions, k_positions: KPositions) -> Int[np.ndarray, "q k"]:
    """How far each key stands after each query; negative for keys before it.

    >>> distances(np.array([3, 4]), np.array([0, 3, 5]))
    array([[-3,  0,  2],
           [-4, -1,  1]])
    """
    return k_positions[None, :] - q_positions[:, None]


def look_up(table: BiasTable, rows: Int[np.ndarray, "q k"]) -> Bias:
    """The bias `(head, q, k)` that a table with one column a head has in the given rows."""
    return table.T[:, rows]


def alibi_slopes(n_heads: int) -> PerHead:
    """Slope of each head's penalty.

    Notes
    -----
    For a power of two, 2^(-8/n), 2^(-16/n), ...; for any other count those of the power of two below it,
    then every second slope of the power of two above it, as the authors' code does.

    References
    ----------
    Press et al. 2022, section 3.

    Examples
    --------
    >>> alibi_slopes(4)
    array([0.25      , 0.0625    , 0.015625  , 0.00390625])
    """
    power = 1 << (n_heads.bit_length() - 1)
    below = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    above = 2.0 ** (-4.0 * np.arange(1, 2 * power + 1, 2) / power)
    return np.concatenate([below, above[: n_heads - power]])


@POSITIONS.register(label="ALiBi", group="Bias", source="Press et al. 2022, section 3")
def alibi(shape: PositionShape, *, slope: Annotated[float, Range(0, 4, step=0.25)] = 1.0) -> Positional:
    """Lowers each score by the distance times a slope of its own for each head: near keys are favoured.

    Parameters
    ----------
    slope
        Multiplies the slopes of all heads: 1 is as published, 0 takes the penalty away.
    """
    slopes = slope * alibi_slopes(shape.n_heads)

    def bias(q_positions: QPositions, k_positions: KPositions) -> Bias:
        return -slopes[:, None, None] * np.abs(distances(q_positions, k_positions))

    return Positional(
        bias=bias, curves=(Curve("Slope", "per token", "head", np.arange(shape.n_heads), slopes, SLOPES),)
    )


def t5_first_distances(
    n_buckets: int = 32, max_distance: int = 128, direction: str = TWO_SIDED
) -> Int[np.ndarray, " bucket"]:
    """The smallest distance that falls into each bucket of one side.

    Notes
    -----
    Half of a side's buckets hold one distance each. The others grow by the same factor, and the last one holds
    `max_distance` and everything beyond: bucket e + j begins at e (max_distance / e)^(j / m) for e small and m
    growing buckets. Where growth is slower than one token a bucket, two begin at the same distance and the first
    stays empty.

    Raises
    ------
    SettingError
        If there are more buckets than `max_distance`.

    References
    ----------
    Raffel et al. 2020, section 2.1.

    Examples
    --------
    >>> t5_first_distances(32, 128)
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8, 12, 16, 23, 32, 46, 64, 91])
    """
    if n_buckets > max_distance:
        raise SettingError(
            broken_rule(
                "n_buckets",
                "must be at most `max_distance`, or there are more buckets than distances to put into them",
                f"n_buckets={n_buckets}, max_distance={max_distance}",
                f"Try {max_distance} buckets or fewer, or a larger distance.",
            )
        )
    per_side = n_buckets if direction == CAUSAL else max(n_buckets // 2, 1)
    n_small = per_side // 2
    n_growing = per_side - n_small
    growth = (max_distance / max(n_small, 1)) ** (np.arange(n_growing) / n_growing)
    return np.concatenate([np.arange(n_small), np.ceil(n_small * growth - 1e-9).astype(np.int64)])


def t5_buckets(
    distance: Int[np.ndarray, "..."], *, n_buckets: int = 32, max_distance: int = 128, direction: str = TWO_SIDED
) -> Int[np.ndarray, "..."]:
    """Which bucket each distance (key minus query) falls into.

    Parameters
    ----------
    direction
        `two-sided`: the second half of the buckets is for keys after the query. `causal`: all buckets are for keys
        before it, and keys after it share bucket 0.

    Raises
    ------
    SettingError
        If there are more buckets than `max_distance`.

    References
    ----------
    Raffel et al. 2020, section 2.1; their code, `_relative_position_bucket`.

    Examples
    --------
    >>> t5_buckets(np.array([-1000, -8, -1, 0, 1, 8, 1000]))
    array([15,  8,  1,  0, 17, 24, 31])
    """
    first = t5_first_distances(n_buckets, max_distance, direction)
    steps = np.maximum(-distance, 0) if direction == CAUSAL else np.abs(distance)
    bucket = np.searchsorted(first, steps, side="right") - 1
    return bucket if direction == CAUSAL else bucket + np.where(distance > 0, n_buckets // 2, 0)


def t5_table(n_buckets: int, n_heads: int, seed: int) -> BiasTable:
    """Bias of each bucket (row) and head (column): untrained, so standard normal from the seed."""
    return np.random.default_rng([seed, 0x75]).standard_normal((n_buckets, n_heads))


@POSITIONS.register(label="Bucketed relative (T5)", group="Bias", source="Raffel et al. 2020, section 2.1")
def t5_bias(
    shape: PositionShape,
    *,
    n_buckets: Annotated[int, Range(1, 64)] = 32,
    max_distance: Annotated[int, Range(1, 1024, unit="tokens")] = 128,
    direction: Annotated[str, Choice((TWO_SIDED, CAUSAL))] = TWO_SIDED,
) -> Positional:
    """Adds one number for each bucket of distances: near distances have buckets of their own, far ones share.

    Parameters
    ----------
    n_buckets
        How many numbers each head has; here untrained, so they are drawn from the seed.
    max_distance
        All distances from this one on share the last bucket.
    direction
        Whether keys after the query have half of the buckets (two-sided, as in an encoder) or none (causal).
    """
    t5_first_distances(n_buckets, max_distance, direction)
    table = t5_table(n_buckets, shape.n_heads, shape.seed)

    def bias(q_positions: QPositions, k_positions: KPositions) -> Bias:
        distance = distances(q_positions, k_positions)
        buckets = t5_buckets(distance, n_buckets=n_buckets, max_distance=max_distance, direction=direction)
        return look_up(table, buckets)

    steps = np.arange(-max_distance - 8, max_distance + 9)
    bucket = t5_buckets(steps, n_buckets=n_buckets, max_distance=max_distance, direction=direction).astype(float)
    return Positional(
        bias=bias, curves=(Curve("Bucket", "", "distance (key − query, tokens)", steps, bucket, BUCKETS),)
    )


def learned_bias_table(max_distance: int, n_heads: int, seed: int) -> BiasTable:
    """Bias of each distance from `-max_distance` to `max_distance` (row) and head (column), from the seed.

    Notes
    -----
    Standard normal. A larger `max_distance` adds rows at both ends and keeps the others.
    """
    drawn = np.random.default_rng([seed, 0xB1]).standard_normal((2 * max_distance + 1, n_heads))
    distance = np.arange(-max_distance, max_distance + 1)
    return drawn[2 * np.abs(distance) - (distance < 0)]


@POSITIONS.register(
    label="Learned relative",
    group="Bias",
    source="Shaw et al. 2018, section 3.2 (clipping); Raffel et al. 2020, section 2.1 (one number a head)",
)
def learned_bias(shape: PositionShape, *, max_distance: Annotated[int, Range(1, 128, unit="tokens")] = 8) -> Positional:
    """Adds one free number for each distance of key and query; here untrained, so each is drawn from the seed.

    Parameters
    ----------
    max_distance
        Keys further away than this, before or after, share the number of this distance.
    """
    table = learned_bias_table(max_distance, shape.n_heads, shape.seed)

    def bias(q_positions: QPositions, k_positions: KPositions) -> Bias:
        clipped = np.clip(distances(q_positions, k_positions), -max_distance, max_distance)
        return look_up(table, clipped + max_distance)

    return Positional(bias=bias)
