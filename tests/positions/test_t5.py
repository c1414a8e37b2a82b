"""Bucketed relative biases as T5 has them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, build_mask, merge_heads, scaled_dot_product_attention, split_heads
from attnviz.errors import SettingError
from attnviz.positions import PositionShape, look_up, t5_buckets, t5_first_distances, t5_table
from attnviz.positions.relative import distances
from attnviz.registries import MASKS, POSITIONS
from tests.reference import golden
from tests.strategies import BUCKETS_THAT_FIT, lengths, seeds

DIRECTIONS = ["two-sided", "causal"]


@pytest.mark.parametrize(("n_buckets", "max_distance"), [(32, 128), (16, 64)])
@pytest.mark.parametrize(("direction", "name"), [("two-sided", "bi"), ("causal", "causal")])
def test_buckets_equal_those_of_transformers(n_buckets: int, max_distance: int, direction: str, name: str) -> None:
    stored = golden("t5_relative")
    buckets = t5_buckets(stored["rel"], n_buckets=n_buckets, max_distance=max_distance, direction=direction)

    np.testing.assert_array_equal(buckets, stored[f"bucket_{name}_{n_buckets}_{max_distance}"])


TWO_SIDED_CASES = {
    0: 0, -1: 1, -7: 7, -8: 8, -11: 8, -12: 9, -15: 9, -16: 10, -22: 10, -23: 11, -32: 12, -46: 13, -64: 14, -91: 15,
    -127: 15, -128: 15, -1000: 15, 1: 17, 7: 23, 8: 24, 16: 26, 64: 30, 128: 31, 1000: 31,
}  # fmt: skip
CAUSAL_CASES = {
    1: 0, 1000: 0, 0: 0, -15: 15, -16: 16, -18: 16, -19: 17, -21: 18, -24: 19, -31: 21, -64: 26, -113: 31, -1000: 31,
}  # fmt: skip


@pytest.mark.parametrize(("direction", "cases"), [("two-sided", TWO_SIDED_CASES), ("causal", CAUSAL_CASES)])
def test_distances_fall_into_the_published_buckets_and_far_ones_never_into_those_of_the_future(
    direction: str, cases: dict[int, int]
) -> None:
    buckets = t5_buckets(np.array(list(cases)), n_buckets=32, max_distance=128, direction=direction)

    assert dict(zip(cases, buckets.tolist(), strict=True)) == cases


def test_the_growing_buckets_begin_at_the_published_distances() -> None:
    assert t5_first_distances(32, 128)[8:].tolist() == [8, 12, 16, 23, 32, 46, 64, 91]


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(fitting=BUCKETS_THAT_FIT, distance=st.integers(-3000, 3000))
def test_every_bucket_is_the_formula_of_the_paper_written_out(
    direction: str, fitting: dict[str, int], distance: int
) -> None:
    n_buckets, most = fitting["n_buckets"], fitting["max_distance"]
    bucket = int(t5_buckets(np.array([distance]), **fitting, direction=direction)[0])

    per_side = n_buckets if direction == "causal" else max(n_buckets // 2, 1)
    steps = max(-distance, 0) if direction == "causal" else abs(distance)
    side = n_buckets // 2 if direction == "two-sided" and distance > 0 else 0
    small = per_side // 2
    within = steps
    if steps >= small:
        grown = math.log(steps / small) / math.log(most / small) * (per_side - small) if small else 0
        within = min(small + math.floor(grown + 1e-9), per_side - 1)
    assert bucket == side + within
    assert 0 <= bucket < n_buckets


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_more_buckets_than_the_largest_distance_are_refused_in_words(direction: str) -> None:
    sentence = "`n_buckets` must be at most `max_distance`.*got n_buckets=64, max_distance=32. Try 32 buckets or fewer"
    with pytest.raises(SettingError, match=sentence):
        POSITIONS["t5_bias"].function(PositionShape(8, 1), n_buckets=64, max_distance=32, direction=direction)


def test_refused_buckets_are_refused_before_anything_is_computed_in_a_whole_layer() -> None:
    spec = POSITIONS["t5_bias"].spec(n_buckets=64, max_distance=8)
    with pytest.raises(SettingError, match="`n_buckets` must be at most `max_distance`"):
        attend(AttentionConfig(("a", "b"), position=spec))


@pytest.mark.parametrize(("part", "direction"), [("enc", "two-sided"), ("dec", "causal")])
def test_a_whole_attention_layer_equals_t5(part: str, direction: str) -> None:
    stored = golden("t5_relative")
    x, places = stored[f"{part}_x"][0], np.arange(20)
    query, key, value = (split_heads(x @ stored[f"{part}_{name}__weight"].T, 3) for name in "qkv")
    buckets = t5_buckets(distances(places, places), n_buckets=8, max_distance=16, direction=direction)
    bias = look_up(stored[f"{part}_relative_attention_bias__weight"], buckets)
    mask = build_mask([MASKS["causal"].spec()], 20, 20) if direction == "causal" else None

    attention = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias, scale=1.0)

    np.testing.assert_array_equal(bias, stored[f"{part}_bias"][0])
    np.testing.assert_allclose(attention.weights, stored[f"{part}_w"][0], rtol=0, atol=2e-6)
    output = merge_heads(attention.context) @ stored[f"{part}_o__weight"].T
    np.testing.assert_allclose(output, stored[f"{part}_y"][0], rtol=0, atol=2e-6)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(fitting=BUCKETS_THAT_FIT, n_q=lengths, n_k=lengths, seed=seeds)
def test_the_bias_of_a_pair_is_the_number_of_its_bucket_in_the_table_on_show(
    direction: str, fitting: dict[str, int], n_q: int, n_k: int, seed: int
) -> None:
    effects = POSITIONS["t5_bias"].function(PositionShape(6, 3, seed), **fitting, direction=direction)
    assert effects.bias is not None
    bias = effects.bias(np.arange(n_q), np.arange(n_k))
    table = t5_table(fitting["n_buckets"], 3, seed)

    for q, k in ((0, 0), (n_q - 1, 0), (0, n_k - 1), (n_q // 2, n_k // 3)):
        bucket = t5_buckets(np.array([k - q]), **fitting, direction=direction)[0]
        assert bias[:, q, k].tolist() == table[bucket].tolist()


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_one_bucket_is_a_constant_and_no_position_method(direction: str) -> None:
    tokens = tuple("abcdefg")
    one = POSITIONS["t5_bias"].spec(n_buckets=1, direction=direction)
    constant = attend(AttentionConfig(tokens, position=one, projections="random"))
    none = attend(AttentionConfig(tokens, position=POSITIONS["none"].spec(), projections="random"))

    assert [len(np.unique(head)) for head in constant.bias] == [1] * 8
    np.testing.assert_allclose(constant.weights, none.weights, atol=1e-6)
