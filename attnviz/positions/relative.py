"""Position methods that act on the distance between query and key."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from attnviz.errors import SettingError, broken_rule
from attnviz.positions.effects import Positional, PositionShape
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Choice, Range
from attnviz.shapes import Bias, PerHead, PositionIds, Queries

INTERLEAVED = "interleaved"
HALF_SPLIT = "half-split"


def rotate(x: Queries, positions: PositionIds, *, base: float = 10_000.0, layout: str = HALF_SPLIT) -> Queries:
    """Queries or keys with each pair of columns turned by position times the pair's frequency.

    Parameters
    ----------
    x
        Array `(head, token, d_head)`.
    positions
        Position of each token.
    base
        Pair i turns by position / base^(2i / d_head) radians.
    layout
        `interleaved` pairs neighbours (0-1, 2-3: GPT-J, the paper), `half-split` pairs column i with
        column i + d_head / 2 (Llama, GPT-NeoX).

    Raises
    ------
    SettingError
        If d_head is odd.

    References
    ----------
    Su et al. 2021, section 3.4.

    Examples
    --------
    >>> rotate(np.array([[[1.0, 2, 3, 4]]]), np.array([1]), layout="interleaved").round(4)
    array([[[-1.1426,  1.9221,  2.9599,  4.0298]]])
    """
    d_head = x.shape[-1]
    _check_even(d_head)
    angle = positions[:, None] / base ** (np.arange(0, d_head, 2) / d_head)
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    first, second = (
        (x[..., 0::2], x[..., 1::2]) if layout == INTERLEAVED else (x[..., : d_head // 2], x[..., d_head // 2 :])
    )
    turned = (first * cos - second * sin, first * sin + second * cos)
    if layout == INTERLEAVED:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def _check_even(d_head: int) -> None:
    if d_head % 2:
        raise SettingError(
            broken_rule(
                "d_head",
                "must be even for rotary positions, which turn pairs of columns",
                f"d_head={d_head}",
                "Try another number of heads or another `d_model`.",
            )
        )


@POSITIONS.register(label="Rotary (RoPE)", group="Relative", source="Su et al. 2021, section 3.4")
def rotary(
    shape: PositionShape,
    *,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
    layout: Annotated[str, Choice((HALF_SPLIT, INTERLEAVED))] = HALF_SPLIT,
) -> Positional:
    """Turns query and key by an angle that grows with position, so that scores depend on the distance only.

    Parameters
    ----------
    base
        Sets the slowest turn, down to one in 2π times as many tokens: the larger, the longer a text whose places
        differ.
    layout
        Which two columns are turned together: column i with column i + d_head / 2 (half-split, as in Llama) or each
        with its neighbour (interleaved, as in the paper).
    """
    _check_even(shape.d_head)
    return Positional(rotate=lambda x, positions: rotate(x, positions, base=base, layout=layout))


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


@POSITIONS.register(label="ALiBi", group="Relative", source="Press et al. 2022, section 3")
def alibi(shape: PositionShape) -> Positional:
    """Lowers each score by the distance times a slope of its own for each head: near keys are favoured."""

    def bias(q_positions: Int[np.ndarray, " q"], k_positions: Int[np.ndarray, " k"]) -> Bias:
        distance = np.abs(q_positions[:, None] - k_positions[None, :])
        return -alibi_slopes(shape.n_heads)[:, None, None] * distance

    return Positional(bias=bias)
