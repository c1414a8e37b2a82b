"""Rotary positions: pairs of columns of query and key turn with the position, so that scores see the distance only."""

from __future__ import annotations

from attnviz.errors import SettingError, broken_rule, listed
from attnviz.positions.effects import Positional, PositionShape
from attnviz.positions.frequencies import rotary_frequencies
from attnviz.positions.layouts import HALF_SPLIT, INTERLEAVED
from attnviz.positions.turning import Rotation, check_even, check_even_heads
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Choice, Range


def turning_columns(d_head: int, share: float) -> int:
    """How many columns turn when a share of them does, rounded down.

    Raises
    ------
    SettingError
        If d_head or the number of columns is odd.

    Examples
    --------
    >>> turning_columns(16, 0.5)
    8
    >>> turning_columns(4, 0.25)
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `share` must turn an even number of columns, because they turn in pairs; \
got share=0.25, d_head=4 (1 column). Try 0 or 0.5.
    """
    check_even(d_head)
    n_columns = int(d_head * share + 1e-9)
    if n_columns % 2:
        near = [f"{even / d_head:g}" for even in (n_columns - 1, n_columns + 1)]
        columns = "1 column" if n_columns == 1 else f"{n_columns} columns"
        raise SettingError(
            broken_rule(
                "share",
                "must turn an even number of columns, because they turn in pairs",
                f"share={share:g}, d_head={d_head} ({columns})",
                f"Try {listed(near)}.",
            )
        )
    return n_columns


@POSITIONS.register(label="Rotary (RoPE)", group="Rotary", source="Su et al. 2021, section 3.4")
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
    check_even_heads(shape.d_model, shape.n_heads)
    return Positional(rotate=Rotation(rotary_frequencies(shape.d_head, base=base), layout))


@POSITIONS.register(label="Rotary (partial)", group="Rotary", source="Black et al. 2022 (GPT-NeoX-20B), section 2.1.1")
def rotary_partial(
    shape: PositionShape,
    *,
    share: Annotated[float, Range(0, 1, step=0.25)] = 0.5,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
    layout: Annotated[str, Choice((HALF_SPLIT, INTERLEAVED))] = HALF_SPLIT,
) -> Positional:
    """Turns only the first columns of query and key; the others compare words wherever they stand.

    Parameters
    ----------
    share
        Which part of the columns of a head turns: 1 is plain rotary, 0 is no positions.
    base
        Sets the slowest turn, down to one in 2π times as many tokens: the larger, the longer a text whose places
        differ.
    layout
        Which two of the columns that turn are turned together: column i with one half of them further on (half-split,
        as in GPT-NeoX) or each with its neighbour (interleaved, as in GPT-J).
    """
    check_even_heads(shape.d_model, shape.n_heads)
    frequencies = rotary_frequencies(turning_columns(shape.d_head, share), base=base)
    return Positional(rotate=Rotation(frequencies, layout))
