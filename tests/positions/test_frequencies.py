"""How fast pairs of columns turn, plain and scaled for longer texts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, rotate
from attnviz.errors import SettingError
from attnviz.positions import (
    PositionShape,
    dynamic_ntk_frequencies,
    linear_frequencies,
    llama3_frequencies,
    ntk_frequencies,
    rotary_frequencies,
    yarn_attention_factor,
    yarn_frequencies,
)
from attnviz.registries import POSITIONS
from tests.reference import golden, normal

PUBLISHED: dict[str, Callable[[], np.ndarray]] = {
    "linear": lambda: linear_frequencies(64, factor=4),
    "dynamic": lambda: dynamic_ntk_frequencies(64, factor=2, original_length=256, length=512),
    "yarn": lambda: yarn_frequencies(64, factor=4, original_length=64),
    "llama3": lambda: llama3_frequencies(64, factor=8, original_length=64, base=10_000),
}
PARAMS: dict[str, dict[str, float]] = {
    "linear": {"factor": 4.0},
    "dynamic": {"factor": 2.0, "original_length": 256},
    "yarn": {"factor": 4.0, "original_length": 64},
    "llama3": {"factor": 8.0, "original_length": 64, "base": 10_000.0},
}
columns = st.integers(1, 32).map(lambda pairs: 2 * pairs)
factors = st.floats(1, 64)
originals = st.integers(1, 131_072)
bases = st.floats(10, 1e6)


@pytest.mark.parametrize("scaling", PUBLISHED)
def test_scaled_frequencies_equal_those_of_transformers(scaling: str) -> None:
    np.testing.assert_allclose(PUBLISHED[scaling](), golden("rope_llama")[f"invfreq_{scaling}"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("scaling", PUBLISHED)
def test_the_attention_factor_equals_that_of_transformers(scaling: str) -> None:
    ours = yarn_attention_factor(4) if scaling == "yarn" else 1.0

    assert ours == pytest.approx(float(golden("rope_llama")[f"attscale_{scaling}"]), abs=1e-12)


@pytest.mark.parametrize("scaling", PUBLISHED)
def test_each_registered_scaling_turns_by_the_frequencies_and_attention_factor_of_transformers(scaling: str) -> None:
    stored = golden("rope_llama")
    entry = POSITIONS[f"rotary_{scaling}"]
    effects = entry.function(PositionShape(128, 2, 0, 512), **dict(entry.spec(**PARAMS[scaling]).params))
    x, positions = normal((2, 70, 64)), np.arange(70)
    assert effects.rotate is not None

    right = rotate(
        x,
        positions,
        frequencies=stored[f"invfreq_{scaling}"],
        attention_factor=float(stored[f"attscale_{scaling}"]),
    )
    np.testing.assert_allclose(effects.rotate(x, positions), right, atol=2e-5)


@given(columns, bases)
def test_the_first_pair_turns_by_1_radian_a_token_and_each_next_by_the_same_factor_less(n: int, base: float) -> None:
    frequencies = rotary_frequencies(n, base=base)

    assert frequencies.shape == (n // 2,)
    np.testing.assert_allclose(frequencies, [1 / base ** (2 * i / n) for i in range(n // 2)], rtol=1e-12)


@given(columns, bases, originals)
def test_with_factor_1_every_scaling_but_the_dynamic_one_is_plain(n: int, base: float, original: int) -> None:
    plain = rotary_frequencies(n, base=base)
    scaled = (
        linear_frequencies(n, factor=1, base=base),
        ntk_frequencies(n, factor=1, base=base),
        yarn_frequencies(n, factor=1, original_length=original, base=base),
        llama3_frequencies(n, factor=1, original_length=original, base=base),
    )

    for frequencies in scaled:
        np.testing.assert_allclose(frequencies, plain, rtol=1e-14)
    assert yarn_attention_factor(1) == 1


@pytest.mark.parametrize("name", ["rotary_linear", "rotary_ntk", "rotary_yarn", "rotary_llama3"])
def test_attention_with_factor_1_is_that_of_plain_rotary(name: str) -> None:
    tokens = tuple("abcdefghijk")
    same = POSITIONS[name].spec(factor=1.0, base=10_000.0)
    scaled = attend(AttentionConfig(tokens, position=same, projections="random"))
    plain = attend(AttentionConfig(tokens, position=POSITIONS["rotary"].spec(), projections="random"))

    np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-6)


@given(columns, factors, originals, st.floats(0, 1), bases)
def test_dynamic_scaling_is_plain_up_to_the_original_length(
    n: int, factor: float, original: int, part: float, base: float
) -> None:
    length = int(part * original)
    frequencies = dynamic_ntk_frequencies(n, factor=factor, original_length=original, length=length, base=base)

    np.testing.assert_allclose(frequencies, rotary_frequencies(n, base=base), rtol=1e-14)


@given(columns.filter(lambda n: n > 2), factors, originals, st.floats(1, 8), bases)
def test_past_the_original_length_dynamic_scaling_is_the_published_change_of_base(
    n: int, factor: float, original: int, times: float, base: float
) -> None:
    length = math.ceil(times * original)
    larger = base * (factor * length / original - (factor - 1)) ** (n / (n - 2))

    frequencies = dynamic_ntk_frequencies(n, factor=factor, original_length=original, length=length, base=base)

    np.testing.assert_allclose(frequencies, rotary_frequencies(n, base=larger), rtol=1e-9)
    fixed = ntk_frequencies(n, factor=factor, base=base)
    np.testing.assert_allclose(fixed, rotary_frequencies(n, base=base * factor ** (n / (n - 2))), rtol=1e-9)


@given(
    n=columns,
    factor=factors,
    original=originals,
    base=bases,
    beta_fast=st.floats(8, 128),
    beta_slow=st.floats(0.25, 8),
    truncate=st.booleans(),
)
def test_yarn_slows_no_pair_beyond_the_factor_and_slow_pairs_at_least_as_much_as_fast_ones(
    n: int, factor: float, original: int, base: float, beta_fast: float, beta_slow: float, truncate: bool
) -> None:
    slowing = rotary_frequencies(n, base=base) / yarn_frequencies(
        n,
        factor=factor,
        original_length=original,
        beta_fast=beta_fast,
        beta_slow=beta_slow,
        truncate=truncate,
        base=base,
    )

    assert (np.diff(slowing) >= -1e-9).all()
    assert 1 - 1e-9 <= slowing.min() <= slowing.max() <= factor + 1e-9


@given(columns, factors, originals, bases, st.floats(0.25, 4), st.floats(4, 32))
def test_llama_3_keeps_short_waves_and_slows_long_ones_by_the_whole_factor(
    n: int, factor: float, original: int, base: float, low: float, high: float
) -> None:
    plain = rotary_frequencies(n, base=base)
    scaled = llama3_frequencies(
        n, factor=factor, original_length=original, low_freq_factor=low, high_freq_factor=high, base=base
    )

    for before, after in zip(plain, scaled, strict=True):
        fits = original * before / (2 * math.pi)
        if fits >= high + 0.001:
            assert after == pytest.approx(before)
        elif fits <= low:
            assert after == pytest.approx(before / factor)
        else:
            assert before / factor * (1 - 1e-12) <= after <= before * (1 + 1e-12)


def test_yarn_without_rounding_begins_and_ends_its_ramp_inside_a_pair() -> None:
    start, end = (64 * math.log(4096 / (turns * 2 * math.pi)) / (2 * math.log(10_000)) for turns in (32, 1))
    frequencies = yarn_frequencies(64, factor=16, original_length=4096, truncate=False)

    ramp = [min(max((i - start) / (end - start), 0), 1) for i in range(32)]
    plain = rotary_frequencies(64)
    np.testing.assert_allclose(frequencies, [w * (1 - r + r / 16) for w, r in zip(plain, ramp, strict=True)])
    assert not np.allclose(frequencies, yarn_frequencies(64, factor=16, original_length=4096))


def test_a_text_longer_than_the_original_length_is_slowed_in_a_whole_layer_and_a_shorter_one_is_not() -> None:
    def weights(n: int, position: str, **params: object) -> np.ndarray:
        spec = POSITIONS[position].spec(**params)
        return attend(AttentionConfig(tuple("abcdefghijkl"[:n]), position=spec, projections="random")).weights

    dynamic = {"position": "rotary_dynamic", "original_length": 8}
    np.testing.assert_array_equal(weights(8, **dynamic), weights(8, "rotary"))
    assert np.abs(weights(12, **dynamic) - weights(12, "rotary")).max() > 0.01


def test_an_odd_number_of_columns_is_refused_in_words() -> None:
    with pytest.raises(SettingError, match=r"`n_columns` must be even.*got n_columns=7\. Try 6 or 8"):
        rotary_frequencies(7)
