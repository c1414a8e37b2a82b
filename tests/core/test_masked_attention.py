"""Masks inside attention: forbidden keys weigh exactly nothing, whatever they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import build_mask, masked_softmax, scaled_dot_product_attention
from attnviz.core.pairs import pairs_of
from attnviz.core.rows import streamed
from attnviz.core.tiles import scorer
from attnviz.masks import rows_without_keys
from attnviz.registries import MASKS
from tests.reference import normal
from tests.strategies import Inputs, attention_inputs

CAUSAL = np.tril(np.ones((3, 3), dtype=bool))


def test_a_fully_masked_row_gives_zero_weights_and_zero_context_and_is_named() -> None:
    mask = np.ones((1, 10, 10), dtype=bool)
    mask[0, 5] = False
    x = normal((3, 10, 4))

    attention = scaled_dot_product_attention(x, x, x, mask=mask)

    assert attention.weights[:, 5].tolist() == [[0.0] * 10] * 3
    assert attention.context[:, 5].tolist() == [[0.0] * 4] * 3
    np.testing.assert_allclose(np.delete(attention.weights, 5, axis=1).sum(axis=-1), 1, atol=1e-12)
    assert np.isfinite(attention.scores).all()
    assert rows_without_keys(mask) == [5]


def test_one_fully_masked_head_is_zero_and_leaves_the_others_untouched() -> None:
    x = normal((3, 6, 4))
    mask = np.ones((3, 6, 6), dtype=bool)
    mask[1] = False

    attention, free = scaled_dot_product_attention(x, x, x, mask=mask), scaled_dot_product_attention(x, x, x)

    assert not attention.weights[1].any()
    assert not attention.context[1].any()
    for head in (0, 2):
        np.testing.assert_array_equal(attention.weights[head], free.weights[head])
        np.testing.assert_array_equal(attention.context[head], free.context[head])
    assert rows_without_keys(mask) == []


def test_true_means_may_attend() -> None:
    assert masked_softmax(np.zeros(3), np.array([True, True, False])).tolist() == [0.5, 0.5, 0.0]


def test_the_mask_comes_before_the_softmax_so_that_a_row_still_sums_to_1() -> None:
    weights = masked_softmax(np.zeros((4, 4)), np.tril(np.ones((4, 4), dtype=bool)))

    assert weights[1].tolist() == [0.5, 0.5, 0.0, 0.0]


def test_equal_scores_under_a_causal_mask_are_shared_among_the_keys_so_far() -> None:
    weights = masked_softmax(np.full((5, 5), 3.7), np.tril(np.ones((5, 5), dtype=bool)))

    for row in range(5):
        np.testing.assert_allclose(weights[row], [1 / (row + 1)] * (row + 1) + [0] * (4 - row), atol=1e-15)


def test_left_padding_under_a_causal_mask_leaves_only_the_real_tokens() -> None:
    mask = build_mask([MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=3)], 5, 5)
    weights = masked_softmax(np.zeros((5, 5)), mask)

    assert np.argwhere(mask).tolist() == [[3, 3], [4, 3], [4, 4]]
    assert weights[3:].tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0.5, 0.5]]
    assert not weights[:3].any()
    assert rows_without_keys(mask[None]) == [0, 1, 2]


def test_a_bias_that_forbids_every_key_gives_zeros_like_a_mask() -> None:
    x = normal((1, 3, 2))
    attention = scaled_dot_product_attention(x, x, x, bias=np.full((1, 1, 1), -np.inf))

    assert not attention.weights.any()
    assert not attention.context.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_bias_that_forbids_some_keys_gives_them_exactly_0_like_a_mask(dtype: type) -> None:
    x = normal((2, 3, 2), dtype=dtype)
    bias = np.where(CAUSAL, 0, -np.inf).astype(dtype)[None]

    biased, masked = (
        scaled_dot_product_attention(x, x, x, bias=bias),
        scaled_dot_product_attention(x, x, x, mask=CAUSAL),
    )

    assert not biased.weights[:, ~CAUSAL].any()
    np.testing.assert_allclose(biased.weights, masked.weights, rtol=0, atol=1e-6 if dtype is np.float32 else 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_entropy_of_rows_with_keys_at_minus_infinity_is_that_of_the_others(dtype: type) -> None:
    x = normal((2, 3, 2), dtype=dtype)
    bias = np.where(CAUSAL, 0, -np.inf).astype(dtype)[None]
    bias[:, 0] = -np.inf
    made = scorer(x, x, scale=1.0, pairs=pairs_of(3, 3, None, bias), softcap=None, sinks=None)

    ((weights, nats),) = streamed(made, lambda rows, _: (rows.weights.astype(np.float64), rows.entropy_nats()))

    logs = np.log(np.where(weights > 0, weights, 1))
    np.testing.assert_allclose(nats, np.abs((weights * logs).sum(axis=-1)), rtol=0, atol=1e-6)
    assert nats[:, 0].tolist() == [0, 0], "a query without keys"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("highest", [3.0, 80.0, 1000.0])
def test_a_masked_softmax_in_every_precision_gives_the_same_weights(dtype: type, highest: float) -> None:
    scores = np.array([[highest, highest - 1, highest - 2, 0.0], [0.0, -1.0, highest, 1.0]])
    mask = np.array([[True, True, False, True], [False] * 4])

    weights = masked_softmax(scores.astype(dtype), mask)

    assert weights.dtype == dtype
    np.testing.assert_allclose(
        weights, masked_softmax(scores, mask), rtol=0, atol=1e-3 if dtype is np.float16 else 1e-6
    )
    assert not weights[~mask].any()


@pytest.mark.parametrize("junk", [1e10, 1e30, 1e38, 3e38])
def test_a_huge_key_that_one_query_may_not_attend_to_has_no_effect_on_it_if_another_may(junk: float) -> None:
    query, key = normal((2, 3, 4), 1, np.float32), normal((2, 3, 4), 2, np.float32)
    spoilt = key.copy()
    spoilt[:, 2] = junk

    clean, dirty = (scaled_dot_product_attention(query, keys, key, mask=CAUSAL) for keys in (key, spoilt))

    np.testing.assert_allclose(dirty.weights[:, :2], clean.weights[:, :2], rtol=0, atol=1e-6)


@given(attention_inputs(dtype=np.float32))
def test_rows_sum_to_1_or_to_0_and_masked_weights_are_exactly_0(inputs: Inputs) -> None:
    weights = scaled_dot_product_attention(**inputs.but()).weights
    allowed = np.broadcast_to(True if inputs.mask is None else inputs.mask, weights.shape)

    np.testing.assert_allclose(weights.sum(axis=-1), allowed.any(axis=-1).astype(float), atol=1e-6)
    assert not weights[~allowed].any()
    assert weights.min() >= 0


@given(attention_inputs(), st.sampled_from([np.nan, np.inf, -np.inf, 1e10]), st.data())
def test_what_a_masked_key_holds_has_no_effect(inputs: Inputs, junk: float, data: st.DataObject) -> None:
    masked = data.draw(st.integers(0, inputs.key.shape[1] - 1))
    n_heads, n_q, n_k = inputs.query.shape[0], inputs.query.shape[1], inputs.key.shape[1]
    mask = np.broadcast_to(True if inputs.mask is None else inputs.mask, (n_heads, n_q, n_k)).copy()
    mask[..., masked] = False
    clean = scaled_dot_product_attention(**inputs.but(mask=mask))

    key, value = inputs.key.copy(), inputs.value.copy()
    key[:, masked] = value[:, masked] = junk
    dirty = scaled_dot_product_attention(**inputs.but(mask=mask, key=key, value=value))

    np.testing.assert_array_equal(dirty.weights, clean.weights)
    np.testing.assert_array_equal(dirty.context, clean.context)


@pytest.mark.parametrize("junk", [np.nan, np.inf])
def test_a_value_that_is_not_finite_reaches_the_rows_that_may_attend_to_it_and_no_other(junk: float) -> None:
    x = normal((2, 4, 3))
    mask = np.tril(np.ones((2, 4, 4), dtype=bool))
    mask[0, 3, 2] = False
    clean = scaled_dot_product_attention(x, x, x, mask=mask)
    value = x.copy()
    value[:, 2, 0] = junk

    dirty = scaled_dot_product_attention(x, x, value, mask=mask)

    np.testing.assert_array_equal(dirty.weights, clean.weights)
    hit = np.argwhere(~np.isfinite(dirty.context)).tolist()
    assert hit == [[0, 2, 0], [1, 2, 0], [1, 3, 0]], "head, row, column"
    untouched = np.isfinite(dirty.context)
    np.testing.assert_allclose(dirty.context[untouched], clean.context[untouched], atol=1e-15)


def test_a_value_that_is_not_finite_reaches_only_the_query_heads_that_share_it() -> None:
    query, key, value = normal((4, 2, 3), 1), normal((2, 2, 3), 2), normal((2, 2, 1), 3)
    value[1, 0] = np.nan

    context = scaled_dot_product_attention(query, key, value).context

    assert np.isfinite(context[:2]).all()
    assert np.isnan(context[2:]).all()


@pytest.mark.parametrize("junk", [np.nan, np.inf])
def test_an_allowed_key_that_is_not_finite_spoils_the_rows_that_may_attend_to_it_and_no_other(junk: float) -> None:
    x = normal((1, 3, 2))
    key = x.copy()
    key[0, 2] = junk

    attention = scaled_dot_product_attention(x, key, x, mask=CAUSAL)

    np.testing.assert_array_equal(np.isfinite(attention.context).all(axis=-1)[0], [True, True, False])
    np.testing.assert_allclose(attention.weights[0, :2].sum(axis=-1), 1)
