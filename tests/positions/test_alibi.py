"""ALiBi: a penalty for distance, with a slope of its own for each head."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import (
    AttentionConfig,
    alibi_slopes,
    attend,
    build_mask,
    masked_softmax,
    scaled_dot_product_attention,
)
from attnviz.positions import PositionShape
from attnviz.registries import MASKS, POSITIONS
from tests.reference import golden


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [
        (1, [0.00390625]),
        (3, [0.0625, 0.00390625, 0.25]),
        (4, [0.25, 0.0625, 0.015625, 0.00390625]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (8, [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]),
        (12, [*(0.5**i for i in range(1, 9)), 0.7071068, 0.3535534, 0.1767767, 0.0883883]),
    ],
)
def test_alibi_slopes_are_those_of_the_authors_code(n_heads: int, slopes: list[float]) -> None:
    np.testing.assert_allclose(alibi_slopes(n_heads), slopes, atol=1e-7)


@pytest.mark.parametrize("library", ["bloom", "mpt"])
@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 8, 12, 16, 20])
def test_alibi_slopes_equal_two_libraries_for_every_number_of_heads(n_heads: int, library: str) -> None:
    np.testing.assert_allclose(alibi_slopes(n_heads), golden("alibi")[f"{library}_slopes_{n_heads}"], atol=1e-7)


def test_alibi_attention_equals_bloom() -> None:
    stored = golden("alibi")
    query, key, value = (stored[name][0] for name in ("q", "k", "v"))
    mask = build_mask([MASKS["causal"].spec()], 9, 9)

    from_first_key = stored["bloom_12"][:, None, :]
    theirs = scaled_dot_product_attention(query, key, value, mask=mask, bias=from_first_key)
    np.testing.assert_allclose(theirs.weights, stored["w"][0], atol=1e-12)
    np.testing.assert_allclose(theirs.context, stored["y"][0], atol=1e-12)

    effects = POSITIONS["alibi"].function(PositionShape(96, 12))
    assert effects.bias is not None
    by_distance = effects.bias(np.arange(9), np.arange(9))
    ours = scaled_dot_product_attention(query, key, value, mask=mask, bias=by_distance)
    np.testing.assert_allclose(ours.weights, stored["w"][0], atol=1e-6)


@pytest.mark.parametrize("n_heads", [1, 2, 3, 4, 6, 8, 12, 16, 20])
def test_the_last_query_has_the_biases_of_two_libraries_up_to_a_constant(n_heads: int) -> None:
    stored = golden("alibi")
    effects = POSITIONS["alibi"].function(PositionShape(n_heads, n_heads))
    assert effects.bias is not None
    last = effects.bias(np.array([8]), np.arange(9))[:, 0]

    np.testing.assert_allclose(last, stored[f"mpt_{n_heads}"], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(last - last[:, :1], stored[f"bloom_{n_heads}"], rtol=1e-7, atol=1e-7)


@given(st.integers(1, 24), st.floats(0, 4), st.integers(0, 99), st.integers(0, 99))
def test_the_bias_is_minus_slope_times_distance_in_either_direction(n_heads: int, slope: float, q: int, k: int) -> None:
    effects = POSITIONS["alibi"].function(PositionShape(n_heads, n_heads), slope=slope)
    assert effects.bias is not None

    right = [-slope * of_head * abs(q - k) for of_head in alibi_slopes(n_heads)]
    np.testing.assert_allclose(effects.bias(np.array([q]), np.array([k]))[:, 0, 0], right, atol=1e-12)


def test_a_slope_of_0_is_no_position_method() -> None:
    tokens = tuple("abcdefg")
    flat = attend(AttentionConfig(tokens, position=POSITIONS["alibi"].spec(slope=0.0)))
    none = attend(AttentionConfig(tokens, position=POSITIONS["none"].spec()))

    np.testing.assert_array_equal(flat.weights, none.weights)
    np.testing.assert_array_equal(flat.output, none.output)


def test_the_first_of_eight_alibi_heads_favours_near_keys_as_published() -> None:
    effects = POSITIONS["alibi"].function(PositionShape(64, 8))
    assert effects.bias is not None
    bias = effects.bias(np.arange(4), np.arange(4))

    assert bias[0, 3].tolist() == [-1.5, -1.0, -0.5, 0.0]
    weights = masked_softmax(bias, build_mask([MASKS["causal"].spec()], 4, 4))
    np.testing.assert_allclose(weights[0, 3], [0.1015363, 0.1674051, 0.2760043, 0.4550542], atol=1e-6)


@given(st.integers(1, 64))
def test_alibi_has_one_positive_slope_a_head_none_above_one_and_no_two_alike(n_heads: int) -> None:
    slopes = alibi_slopes(n_heads)

    assert slopes.shape == (n_heads,)
    assert 0 < slopes.min() <= slopes.max() < 1
    assert len(set(slopes.round(12).tolist())) == n_heads


@given(st.integers(1, 5))
def test_a_power_of_two_of_alibi_heads_is_a_geometric_series_that_ends_at_a_256th(power: int) -> None:
    slopes = alibi_slopes(2**power)

    np.testing.assert_allclose(slopes[1:] / slopes[:-1], slopes[0], rtol=1e-12)
    assert slopes[-1] == pytest.approx(1 / 256)
