"""Scaled dot-product attention: small cases by eye, slow loops, and what may never change a result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from attnviz import build_mask, masked_softmax, merge_heads, scaled_dot_product_attention, split_heads
from attnviz.core import tiles as tiles_module
from attnviz.errors import SettingError
from attnviz.registries import MASKS
from tests import reference
from tests.reference import TINY_KEYS, TINY_VALUES, normal
from tests.strategies import Inputs, attention_inputs, seeds

CAUSAL = np.tril(np.ones((3, 3), dtype=bool))


def test_the_tiny_case_gives_the_published_scores_weights_and_context() -> None:
    scores, weights, context = scaled_dot_product_attention(TINY_KEYS, TINY_KEYS, TINY_VALUES)

    r = 0.7071068
    np.testing.assert_allclose(scores[0], [[r, 0, r], [0, r, r], [r, r, 2 * r]], atol=1e-6)
    np.testing.assert_allclose(
        weights[0],
        [[0.4011121, 0.1977758, 0.4011121], [0.1977758, 0.4011121, 0.4011121], [0.2482551, 0.2482551, 0.5034898]],
        atol=1e-6,
    )
    np.testing.assert_allclose(context[0], [[1.2033363, 1], [1, 1.2033363], [1.2552348, 1.2552348]], atol=1e-6)


def test_the_tiny_case_under_a_causal_mask_gives_the_published_weights_and_context() -> None:
    scores, weights, context = scaled_dot_product_attention(TINY_KEYS, TINY_KEYS, TINY_VALUES, mask=CAUSAL)

    assert scores[0, 0, 2] == pytest.approx(0.7071068, abs=1e-6), "scores are those before the mask"
    np.testing.assert_allclose(
        weights[0], [[1, 0, 0], [0.3302385, 0.6697615, 0], [0.2482551, 0.2482551, 0.5034898]], atol=1e-6
    )
    np.testing.assert_allclose(context[0], [[1, 0], [0.3302385, 0.6697615], [1.2552348, 1.2552348]], atol=1e-6)


@given(attention_inputs())
def test_it_equals_the_slow_loops_for_any_shapes_mask_bias_scale_and_grouped_heads(inputs: Inputs) -> None:
    fast = scaled_dot_product_attention(**inputs.but())
    slow = reference.attention(*inputs)

    for name in ("scores", "weights", "context"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), atol=1e-12, err_msg=name)


@given(attention_inputs(), st.integers(1, 40))
def test_tiles_of_any_size_give_the_same_result(inputs: Inputs, cells: int) -> None:
    whole = scaled_dot_product_attention(**inputs.but())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_module, "TILE_CELLS", cells)
        tiled = scaled_dot_product_attention(**inputs.but())

    for one, other in zip(whole, tiled, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_large_input_that_is_computed_in_threaded_tiles_equals_its_small_pieces() -> None:
    n_heads, n_q, n_k = 4, 300, 2100
    query, key, value = normal((n_heads, n_q, 8), 1), normal((2, n_k, 8), 2), normal((2, n_k, 5), 3)
    bias, mask = normal((n_heads, 1, n_k), 4), np.random.default_rng(5).random((n_q, n_k)) < 0.5
    mask[7] = False
    assert n_heads * n_q * n_k > tiles_module.TILE_CELLS > 50 * n_k
    assert len(tiles_module.tiles(n_heads, n_q, n_k)) == 2 * n_heads

    large = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias)

    for head in range(n_heads):
        kv = slice(head // 2, head // 2 + 1)
        for start in range(0, n_q, 50):
            rows = slice(start, start + 50)
            small = scaled_dot_product_attention(
                query[head : head + 1, rows], key[kv], value[kv], mask=mask[rows], bias=bias[head : head + 1]
            )
            for one, other in zip(large, small, strict=True):
                np.testing.assert_allclose(one[head, rows], other[0], atol=1e-12)
    assert not large.weights[:, 7].any()
    assert not large.context[:, 7].any()


@given(st.data(), st.integers(1, 8), st.integers(1, 8), seeds)
def test_float16_32_and_64_give_the_same_weights_for_the_same_allowed_set(
    data: st.DataObject, n_q: int, n_k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    query, key = (rng.integers(-4, 5, (2, n, 4)) / 4 for n in (n_q, n_k))
    mask = build_mask(
        [MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=data.draw(st.integers(1, 8)))], n_q, n_k
    )
    right = reference.attention(query, key, key, mask).weights

    for dtype, tolerance in ((np.float16, 1e-3), (np.float32, 1e-6), (np.float64, 1e-12)):
        q, k = query.astype(dtype), key.astype(dtype)
        attention = scaled_dot_product_attention(q, k, k, mask=mask)
        assert {array.dtype for array in attention} == {np.dtype(dtype)}
        np.testing.assert_allclose(attention.weights, right, atol=tolerance)
        assert not attention.weights[:, ~mask].any()
        assert np.isfinite(attention.context).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_scores_do_not_overflow(dtype: type) -> None:
    weights = masked_softmax(np.array([1000, 999, 0], dtype=dtype))

    np.testing.assert_allclose(weights, [0.7310586, 0.2689414, 0], atol=1e-6)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.integers(-1000, 1000), st.data())
def test_adding_a_constant_to_a_row_of_scores_changes_nothing(
    row: list[int], constant: int, data: st.DataObject
) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(row), max_size=len(row))))
    scores = np.array(row, dtype=np.float64)

    np.testing.assert_array_equal(masked_softmax(scores + constant, mask), masked_softmax(scores, mask))


@given(attention_inputs(), st.floats(-50, 50))
def test_a_bias_that_is_the_same_for_every_key_changes_nothing(inputs: Inputs, constant: float) -> None:
    plain = scaled_dot_product_attention(**inputs.but(bias=None))
    shifted = scaled_dot_product_attention(**inputs.but(bias=np.full((1, 1, 1), constant)))

    np.testing.assert_allclose(shifted.weights, plain.weights, atol=1e-12)


def test_grouped_heads_share_a_key_value_head_with_their_neighbours() -> None:
    value = np.repeat(np.arange(2.0), 3).reshape(2, 3, 1)
    context = scaled_dot_product_attention(normal((8, 3, 4)), normal((2, 3, 4)), value).context

    np.testing.assert_allclose(context[:, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], atol=1e-15)


def test_as_many_key_value_heads_as_query_heads_is_plain_multi_head_attention() -> None:
    query, key, value = normal((8, 5, 4), 1), normal((8, 6, 4), 2), normal((8, 6, 3), 3)
    grouped = scaled_dot_product_attention(query, key, value)

    for head in range(8):
        alone = slice(head, head + 1)
        single = scaled_dot_product_attention(query[alone], key[alone], value[alone])
        np.testing.assert_allclose(grouped.context[head], single.context[0], atol=1e-15)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_grouped_heads_equal_key_value_heads_written_out_one_by_one(n_kv_heads: int) -> None:
    query, key, value = normal((8, 5, 4), 1), normal((n_kv_heads, 6, 4), 2), normal((n_kv_heads, 6, 3), 3)
    written_out = (np.repeat(array, 8 // n_kv_heads, axis=0) for array in (key, value))

    grouped, plain = scaled_dot_product_attention(query, key, value), scaled_dot_product_attention(query, *written_out)

    for one, other in zip(grouped, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_heads_that_cannot_be_grouped_are_refused_with_both_numbers() -> None:
    with pytest.raises(SettingError, match="`n_kv_heads` must divide `n_heads`; got n_heads=8, n_kv_heads=3"):
        scaled_dot_product_attention(normal((8, 2, 4)), normal((3, 2, 4)), normal((3, 2, 4)))


@given(attention_inputs(), st.randoms(use_true_random=False))
def test_reordering_keys_with_their_values_reorders_the_weights_and_keeps_the_context(inputs: Inputs, random) -> None:
    order = list(range(inputs.key.shape[1]))
    random.shuffle(order)
    plain = scaled_dot_product_attention(**inputs.but(mask=None, bias=None))
    moved = scaled_dot_product_attention(
        **inputs.but(mask=None, bias=None, key=inputs.key[:, order], value=inputs.value[:, order])
    )

    np.testing.assert_allclose(moved.weights, plain.weights[..., order], atol=1e-12)
    np.testing.assert_allclose(moved.context, plain.context, atol=1e-12)


def test_a_scale_of_0_makes_every_row_uniform_over_its_allowed_keys() -> None:
    x = normal((2, 3, 4))
    weights = scaled_dot_product_attention(x, x, x, mask=CAUSAL, scale=0.0).weights

    np.testing.assert_allclose(weights, [[[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]] * 2, atol=1e-15)


def test_the_inputs_are_left_as_they_were() -> None:
    query, key, value, bias = normal((2, 3, 4)), normal((2, 3, 4), 1), normal((2, 3, 4), 2), normal((2, 3, 3), 3)
    before = [array.copy() for array in (query, key, value, bias)]
    for array in (query, key, value, bias):
        array.flags.writeable = False

    scaled_dot_product_attention(query, key, value, mask=CAUSAL, bias=bias)

    for array, old in zip((query, key, value, bias), before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_neighbouring_columns_go_to_the_same_head() -> None:
    x = np.array([[0.0, 1, 2, 3], [4, 5, 6, 7]])
    heads = split_heads(x, 2)

    assert heads.tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    np.testing.assert_array_equal(merge_heads(heads), x)


@given(st.integers(1, 9), st.integers(1, 6), st.integers(1, 6))
def test_merging_undoes_splitting(n: int, n_heads: int, d_head: int) -> None:
    x = normal((n, n_heads * d_head))

    assert split_heads(x, n_heads).shape == (n_heads, n, d_head)
    np.testing.assert_array_equal(merge_heads(split_heads(x, n_heads)), x)


def test_the_test_run_checks_shapes_at_run_time() -> None:
    with pytest.raises(TypeCheckError):
        split_heads(np.zeros(3), 1)
    with pytest.raises(TypeCheckError):
        scaled_dot_product_attention(normal((1, 2, 4)), normal((1, 3, 4)), normal((1, 2, 4)))
