"""How fast each pair of columns turns, in radians a token: as published, and slowed for texts longer than trained on.

Every function returns one frequency a pair, fastest first. Pair i of n columns turns plainly by base^(-2i / n); the
scalings divide that by up to `factor`, each pair by its own share.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from attnviz.errors import SettingError, broken_rule
from attnviz.shapes import Frequencies

NARROWEST_RAMP = 0.001


def rotary_frequencies(n_columns: int, *, base: float = 10_000.0) -> Frequencies:
    """The plain frequencies.

    Parameters
    ----------
    n_columns
        How many columns of a head turn.
    base
        Pair i turns by base^(-2i / n_columns) radians a token.

    Raises
    ------
    SettingError
        If the number of columns is odd.

    References
    ----------
    Su et al. 2021, section 3.4.2.

    Examples
    --------
    >>> rotary_frequencies(8)
    array([1.   , 0.1  , 0.01 , 0.001])
    """
    if n_columns % 2:
        raise SettingError(
            broken_rule(
                "n_columns",
                "must be even, because columns turn in pairs",
                f"n_columns={n_columns}",
                f"Try {n_columns - 1} or {n_columns + 1}.",
            )
        )
    return base ** (-np.arange(0, n_columns, 2) / n_columns)


def linear_frequencies(n_columns: int, *, factor: float, base: float = 10_000.0) -> Frequencies:
    """All pairs turn `factor` times slower, so that `factor` times as many tokens fit into the angles known.

    References
    ----------
    Chen et al. 2023, section 2.3.
    """
    return rotary_frequencies(n_columns, base=base) / factor


def ntk_frequencies(n_columns: int, *, factor: float, base: float = 10_000.0) -> Frequencies:
    """The fastest pair keeps its speed, the slowest turns `factor` times slower, those between in steps.

    Notes
    -----
    The base grows to base * factor^(n / (n - 2)) for n columns; a single pair stays as it is.

    References
    ----------
    Peng et al. 2023, section 3.1.
    """
    plain = rotary_frequencies(n_columns, base=base)
    return plain * factor ** -np.linspace(0, 1, plain.size)


def dynamic_ntk_frequencies(
    n_columns: int, *, factor: float, original_length: int, length: int, base: float = 10_000.0
) -> Frequencies:
    """NTK scaling that starts when the text grows past `original_length`, and grows with it.

    Notes
    -----
    The factor of `ntk_frequencies` is 1 + factor (length / original_length - 1) for a text of `length` positions.
    Past the original length it is above 1 even for a factor of 1.

    References
    ----------
    Peng et al. 2023, section 3.3; transformers, `dynamic` of `ROPE_INIT_FUNCTIONS`.
    """
    excess = max(length / original_length - 1.0, 0.0)
    return ntk_frequencies(n_columns, factor=1.0 + factor * excess, base=base)


def yarn_frequencies(
    n_columns: int,
    *,
    factor: float,
    original_length: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    base: float = 10_000.0,
) -> Frequencies:
    """Fast pairs keep their speed, slow pairs turn `factor` times slower, with a ramp between.

    Parameters
    ----------
    beta_fast, beta_slow
        A pair that turns at least `beta_fast` times within `original_length` is kept; one that turns at most
        `beta_slow` times is slowed by the whole factor.
    truncate
        Round the ends of the ramp outwards to whole pairs.

    Notes
    -----
    The ramp is linear in the number of the pair. Where it would end before it starts (an original length of few
    tokens, or one so large that every pair turns often), it becomes a step.

    References
    ----------
    Peng et al. 2023, sections 3.2 and 3.4; transformers, `yarn` of `ROPE_INIT_FUNCTIONS`.
    """

    def pair_that_turns(times: float) -> float:
        return n_columns * math.log(original_length / (2 * math.pi * times)) / (2 * math.log(base))

    start, end = pair_that_turns(beta_fast), pair_that_turns(beta_slow)
    if truncate:
        start, end = math.floor(start), math.ceil(end)
    start = max(start, 0)
    end = max(min(end, n_columns - 1), start + NARROWEST_RAMP)
    plain = rotary_frequencies(n_columns, base=base)
    return _slowed(plain, kept=(end - np.arange(plain.size)) / (end - start), factor=factor)


def yarn_attention_factor(factor: float) -> float:
    """What YaRN multiplies sines and cosines by, so that scores grow by its square.

    References
    ----------
    Peng et al. 2023, section 3.4.

    Examples
    --------
    >>> round(yarn_attention_factor(4), 4)
    1.1386
    """
    return 1.0 + 0.1 * math.log(max(factor, 1.0))


def llama3_frequencies(
    n_columns: int,
    *,
    factor: float,
    original_length: int,
    low_freq_factor: float = 1.0,
    high_freq_factor: float = 4.0,
    base: float = 500_000.0,
) -> Frequencies:
    """Pairs with short waves keep their speed, pairs with long waves turn `factor` times slower, with a ramp between.

    Parameters
    ----------
    low_freq_factor, high_freq_factor
        A wave that fits at least `high_freq_factor` times into `original_length` is kept; one that fits at most
        `low_freq_factor` times is slowed by the whole factor.

    Notes
    -----
    The ramp is linear in how often the wave fits.

    References
    ----------
    Grattafiori et al. 2024; Meta's llama-models, `apply_scaling`; transformers, `llama3` of `ROPE_INIT_FUNCTIONS`.
    """
    plain = rotary_frequencies(n_columns, base=base)
    fits = original_length * plain / (2 * math.pi)
    width = max(high_freq_factor - low_freq_factor, NARROWEST_RAMP)
    return _slowed(plain, kept=(fits - low_freq_factor) / width, factor=factor)


def _slowed(plain: Frequencies, *, kept: Float[np.ndarray, " pair"], factor: float) -> Frequencies:
    """Each pair keeps a share (cut to 0...1) of its speed; the rest is divided by the factor."""
    share = np.clip(kept, 0.0, 1.0)
    return plain * (share + (1.0 - share) / factor)
