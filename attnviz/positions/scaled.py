"""Rotary positions for texts longer than a model was trained on: the same turn, at other speeds.

`original_length` is short by default, so that a sentence on screen is already longer than what was trained on.
"""

from __future__ import annotations

from attnviz.positions.effects import Positional, PositionShape
from attnviz.positions.frequencies import (
    dynamic_ntk_frequencies,
    linear_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)
from attnviz.positions.turning import Rotation, check_even_heads
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Range


@POSITIONS.register(label="Rotary (linear scaling)", group="Rotary", source="Chen et al. 2023, section 2.3")
def rotary_linear(
    shape: PositionShape,
    *,
    factor: Annotated[float, Range(1, 64)] = 4.0,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
) -> Positional:
    """Counts positions in smaller steps, so that a longer text fits into the angles known from training.

    Parameters
    ----------
    factor
        How many times slower every pair of columns turns; 1 is plain rotary.
    base
        Sets how much slower each pair turns than the one before it.
    """
    check_even_heads(shape.d_model, shape.n_heads)
    return Positional(rotate=Rotation(linear_frequencies(shape.d_head, factor=factor, base=base)))


@POSITIONS.register(label="Rotary (NTK scaling)", group="Rotary", source="Peng et al. 2023, section 3.1")
def rotary_ntk(
    shape: PositionShape,
    *,
    factor: Annotated[float, Range(1, 64)] = 4.0,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
) -> Positional:
    """Slows the slow pairs of columns for a longer text and leaves the fast ones, which tell neighbours apart.

    Parameters
    ----------
    factor
        How many times slower the slowest pair of columns turns; 1 is plain rotary.
    base
        Sets how much slower each pair turns than the one before it, before scaling.
    """
    check_even_heads(shape.d_model, shape.n_heads)
    return Positional(rotate=Rotation(ntk_frequencies(shape.d_head, factor=factor, base=base)))


@POSITIONS.register(label="Rotary (dynamic NTK scaling)", group="Rotary", source="Peng et al. 2023, section 3.3")
def rotary_dynamic(
    shape: PositionShape,
    *,
    factor: Annotated[float, Range(1, 64)] = 4.0,
    original_length: Annotated[int, Range(1, 131_072, unit="tokens")] = 8,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
) -> Positional:
    """Is plain rotary up to the length trained on, and slows the slow pairs of columns as the text grows past it.

    Parameters
    ----------
    factor
        How fast the slowing grows with each further text of the original length.
    original_length
        How long a text may be before anything is slowed.
    base
        Sets how much slower each pair turns than the one before it, before scaling.
    """
    check_even_heads(shape.d_model, shape.n_heads)
    return Positional(
        rotate=Rotation(
            dynamic_ntk_frequencies(
                shape.d_head, factor=factor, original_length=original_length, length=shape.n_positions, base=base
            )
        )
    )


@POSITIONS.register(label="Rotary (YaRN)", group="Rotary", source="Peng et al. 2023, section 3.4")
def rotary_yarn(
    shape: PositionShape,
    *,
    factor: Annotated[float, Range(1, 64)] = 4.0,
    original_length: Annotated[int, Range(1, 131_072, unit="tokens")] = 8,
    beta_fast: Annotated[float, Range(8, 128)] = 32.0,
    beta_slow: Annotated[float, Range(0.25, 8, step=0.25)] = 1.0,
    truncate: bool = True,
    base: Annotated[float, Range(10, 1_000_000)] = 10_000.0,
) -> Positional:
    """Slows only pairs of columns that turn seldom within the length trained on, and sharpens all scores a little.

    Parameters
    ----------
    factor
        How many times slower the slow pairs turn; the larger, the more all scores are sharpened; 1 is plain rotary.
    original_length
        Length of text trained on, in which turns are counted.
    beta_fast
        A pair that turns at least so many times within the original length keeps its speed.
    beta_slow
        A pair that turns at most so many times within the original length is slowed by the whole factor.
    truncate
        Rounds both limits outwards to whole pairs, as the authors' code does.
    base
        Sets how much slower each pair turns than the one before it, before scaling.

    Notes
    -----
    Sines and cosines are multiplied by 1 + 0.1 ln(factor), so that scores grow by its square.
    """
    check_even_heads(shape.d_model, shape.n_heads)
    frequencies = yarn_frequencies(
        shape.d_head,
        factor=factor,
        original_length=original_length,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
        base=base,
    )
    return Positional(rotate=Rotation(frequencies, attention_factor=yarn_attention_factor(factor)))


@POSITIONS.register(
    label="Rotary (Llama 3 scaling)",
    group="Rotary",
    source="Grattafiori et al. 2024, section 3.2; llama-models, apply_scaling",
)
def rotary_llama3(
    shape: PositionShape,
    *,
    factor: Annotated[float, Range(1, 64)] = 8.0,
    original_length: Annotated[int, Range(1, 131_072, unit="tokens")] = 8,
    low_freq_factor: Annotated[float, Range(0.25, 4, step=0.25)] = 1.0,
    high_freq_factor: Annotated[float, Range(4, 32)] = 4.0,
    base: Annotated[float, Range(10, 1_000_000)] = 500_000.0,
) -> Positional:
    """Slows only pairs of columns whose wave is long beside the length trained on; short waves keep their speed.

    Parameters
    ----------
    factor
        How many times slower the pairs with long waves turn; 1 is plain rotary.
    original_length
        Length of text trained on, with which waves are compared.
    low_freq_factor
        A wave that fits at most so many times into the original length is slowed by the whole factor.
    high_freq_factor
        A wave that fits at least so many times into the original length keeps its speed.
    base
        Sets how much slower each pair turns than the one before it, before scaling.
    """
    check_even_heads(shape.d_model, shape.n_heads)
    return Positional(
        rotate=Rotation(
            llama3_frequencies(
                shape.d_head,
                factor=factor,
                original_length=original_length,
                low_freq_factor=low_freq_factor,
                high_freq_factor=high_freq_factor,
                base=base,
            )
        )
    )
