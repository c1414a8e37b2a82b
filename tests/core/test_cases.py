"""What people reported wrong in other implementations of attention, each as a test of its whole kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import attend, masked_softmax, scaled_dot_product_attention
from attnviz.core import AttentionConfig
from attnviz.core.config import CONTENTS, PROJECTIONS
from attnviz.core.dropout import dropped
from attnviz.errors import SettingError
from attnviz.masks import rows_without_keys
from attnviz.positions import alibi_slopes
from attnviz.registries import MASKS, POSITIONS
from tests import reference
from tests.reference import normal
from tests.strategies import Inputs, attention_inputs, configs, mask_specs, seeds, specs

SENTENCE = ("the", "cat", "sat", "on", "the", "mat")
CAUSAL = MASKS["causal"].spec()
LITERAL = (
    *("<s>", "a<b<c", "<b>x</b>", "$x$", "&amp;", "", " ", "\n", "\t", "Ġthe", "▁the", "日本", "🙂", "\ud83d", "שלום"),
    *("1", "2", "3", "+", "2024-01-01", "the", "the"),
)


def variants(n_heads: int) -> st.SearchStrategy[dict[str, Any]]:
    """Soft cap and sinks, each given or not."""
    return st.fixed_dictionaries(
        {},
        optional={
            "softcap": st.floats(0.1, 50),
            "sinks": st.lists(st.floats(-5, 5), min_size=n_heads, max_size=n_heads).map(np.array),
        },
    )


@given(attention_inputs(), st.data())
def test_a_row_without_keys_is_zero_in_every_variant_and_the_only_one(inputs: Inputs, data: st.DataObject) -> None:
    n_heads, n_q, n_k = len(inputs.query), inputs.query.shape[1], inputs.key.shape[1]
    empty = data.draw(st.integers(0, n_q - 1))
    mask = np.ones((n_heads, n_q, n_k), dtype=bool)
    mask[:, empty] = False

    attention = scaled_dot_product_attention(**inputs.but(mask=mask), **data.draw(variants(n_heads)))

    assert not attention.weights[:, empty].any()
    assert not attention.context[:, empty].any()
    assert np.isfinite(attention.context).all()
    assert (np.delete(attention.weights, empty, axis=1).sum(axis=-1) > 0).all()
    assert rows_without_keys(mask) == [empty]


@pytest.mark.parametrize("position", POSITIONS.names())
def test_padding_as_long_as_the_text_gives_a_layer_of_zeros_and_no_nan(position: str) -> None:
    config = AttentionConfig(
        SENTENCE, masks=(CAUSAL, MASKS["padding_left"].spec(padded=6)), position=POSITIONS[position].spec()
    )
    trace = attend(config)

    assert not trace.weights.any()
    assert not trace.output.any()


@given(attention_inputs(), st.sampled_from([np.nan, np.inf, -np.inf, 1e10]), st.data())
def test_what_a_masked_key_holds_has_no_effect_in_any_variant(inputs: Inputs, junk: float, data: st.DataObject) -> None:
    n_heads, n_q, n_k = len(inputs.query), inputs.query.shape[1], inputs.key.shape[1]
    masked = data.draw(st.integers(0, n_k - 1))
    mask = np.ones((n_heads, n_q, n_k), dtype=bool)
    mask[..., masked] = False
    variant = data.draw(variants(n_heads))
    bias = normal((n_heads, n_q, n_k))
    clean = scaled_dot_product_attention(**inputs.but(mask=mask, bias=bias), **variant)

    key, value, spoilt = inputs.key.copy(), inputs.value.copy(), bias.copy()
    key[:, masked] = value[:, masked] = spoilt[..., masked] = junk
    dirty = scaled_dot_product_attention(**inputs.but(mask=mask, key=key, value=value, bias=spoilt), **variant)

    np.testing.assert_allclose(dirty.weights, clean.weights, rtol=0, atol=1e-14)
    np.testing.assert_allclose(dirty.context, clean.context, rtol=0, atol=1e-13)


@given(attention_inputs(), st.data())
def test_a_sink_is_one_more_key_that_takes_its_part_and_a_cap_comes_before_bias_and_mask(
    inputs: Inputs, data: st.DataObject
) -> None:
    n_heads, n_q, n_k = len(inputs.query), inputs.query.shape[1], inputs.key.shape[1]
    softcap = data.draw(st.floats(0.1, 50))
    sinks = np.array(data.draw(st.lists(st.floats(-5, 5), min_size=n_heads, max_size=n_heads)))
    mask = np.broadcast_to(True if inputs.mask is None else inputs.mask, (n_heads, n_q, n_k))
    bias = np.broadcast_to(0.0 if inputs.bias is None else inputs.bias, mask.shape)

    attention = scaled_dot_product_attention(**inputs.but(), softcap=softcap, sinks=sinks)

    capped = softcap * np.tanh(attention.scores / softcap) + bias
    logits = np.concatenate([capped, np.broadcast_to(sinks[:, None, None], (n_heads, n_q, 1))], axis=2)
    right = masked_softmax(logits, np.concatenate([mask, mask.any(axis=2, keepdims=True)], axis=2))[..., :-1]
    np.testing.assert_allclose(attention.weights, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float16, 1e-3), (np.float32, 1e-6), (np.float64, 1e-12)])
def test_every_variant_gives_the_same_weights_in_every_precision(dtype: type, tolerance: float) -> None:
    query, key = (np.random.default_rng(seed).integers(-4, 5, (2, 6, 4)) / 4 for seed in (1, 2))
    mask = np.tril(np.ones((6, 6), dtype=bool))
    variant: dict[str, Any] = {"mask": mask, "softcap": 2.0, "sinks": np.array([0.5, -1.0])}
    right = scaled_dot_product_attention(query, key, key, **variant).weights

    weights = scaled_dot_product_attention(*(array.astype(dtype) for array in (query, key, key)), **variant).weights

    assert weights.dtype == dtype
    np.testing.assert_allclose(weights, right, rtol=0, atol=tolerance)
    assert not weights[:, ~mask].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_that_overflow_a_plain_exponential_do_not(dtype: type) -> None:
    query = np.array([[[1.0]]], dtype=dtype)
    key = np.array([[[1000.0], [999.0], [0.0]]], dtype=dtype)
    attention = scaled_dot_product_attention(query, key, key, scale=1.0)
    with_a_sink = scaled_dot_product_attention(query, key, key, scale=1.0, sinks=np.array([1000.0]))

    np.testing.assert_allclose(attention.weights[0, 0], [0.7310586, 0.2689414, 0], atol=1e-6)
    np.testing.assert_allclose(with_a_sink.weights[0, 0], [0.4223188, 0.1553624, 0], atol=1e-6)
    assert np.isfinite(attention.context).all()


@pytest.mark.parametrize(("n_kv_heads", "served"), [(2, [0, 0, 0, 0, 1, 1, 1, 1]), (8, [*range(8)]), (1, [0] * 8)])
def test_a_layer_gives_each_key_value_head_to_consecutive_query_heads(n_kv_heads: int, served: list[int]) -> None:
    trace = attend(
        AttentionConfig(SENTENCE, n_kv_heads=n_kv_heads, projections="random", position=POSITIONS["none"].spec())
    )

    assert trace.key.shape == trace.value.shape == (n_kv_heads, 6, 8)
    assert [trace.kv_head(head) for head in range(8)] == served
    for head, kv_head in enumerate(served):
        np.testing.assert_allclose(trace.context[head], trace.weights[head] @ trace.value[kv_head], rtol=0, atol=1e-5)
        np.testing.assert_allclose(
            trace.scores[head], trace.query[head] @ trace.key[kv_head].T / np.sqrt(8), rtol=0, atol=1e-4
        )


def test_as_many_key_value_heads_as_heads_is_the_layer_without_groups() -> None:
    config = AttentionConfig(SENTENCE, projections="random")
    plain, grouped = attend(config), attend(replace(config, n_kv_heads=8))

    np.testing.assert_array_equal(grouped.weights, plain.weights)
    np.testing.assert_array_equal(grouped.output, plain.output)


def test_a_layer_refuses_groups_that_do_not_fit_with_both_numbers_and_those_that_do() -> None:
    with pytest.raises(SettingError, match=r"n_heads=8, n_kv_heads=3\. Try 1, 2, 4 or 8\."):
        AttentionConfig(SENTENCE, n_heads=8, n_kv_heads=3)


@given(st.sampled_from([0.1, 0.2, 0.5]), seeds)
def test_dropout_on_one_key_leaves_0_or_its_weight_over_1_minus_p(p: float, seed: int) -> None:
    weights = np.ones((4, 5, 1))
    after = dropped(weights, p, seed)

    np.testing.assert_allclose(after[after != 0], {0.1: 1.1111111, 0.2: 1.25, 0.5: 2.0}[p], atol=1e-7)
    np.testing.assert_array_equal(weights, 1)
    np.testing.assert_array_equal(dropped(weights, p, seed), after)


@given(configs(), st.floats(0.01, 0.9))
def test_weights_shown_are_those_before_dropout_and_those_after_stand_beside(config: AttentionConfig, p: float) -> None:
    plain, trained = attend(replace(config, dropout=0.0)), attend(replace(config, dropout=p))

    np.testing.assert_array_equal(trained.weights, plain.weights)
    np.testing.assert_array_equal(plain.in_training().weights, plain.weights)
    after = trained.in_training().weights
    kept = after != 0
    np.testing.assert_allclose(after[kept], plain.weights[kept] / (1 - p), rtol=1e-5)


def test_dropout_drops_the_share_it_says_and_keeps_the_mean() -> None:
    weights = np.full((8, 100, 100), 0.01)
    after = dropped(weights, 0.2, seed=0)

    assert (after == 0).mean() == pytest.approx(0.2, abs=0.005)
    assert after.mean() == pytest.approx(0.01, rel=0.01)
    assert (after != dropped(weights, 0.2, seed=1)).any()


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, float("nan")])
def test_dropout_that_would_leave_nothing_is_refused(p: float) -> None:
    with pytest.raises(SettingError, match="`dropout` must be from 0 to less than 1"):
        dropped(np.ones((1, 1, 1)), p, seed=0)


@pytest.mark.parametrize("content", CONTENTS)
def test_a_trace_carries_every_token_literally_and_in_order(content: str) -> None:
    trace = attend(AttentionConfig(LITERAL, masks=(), content=content))

    assert trace.query_tokens == trace.key_tokens == LITERAL
    assert trace.weights.shape == (8, len(LITERAL), len(LITERAL))
    np.testing.assert_allclose(trace.weights.sum(axis=-1), 1, atol=1e-6)


@given(st.data(), st.sampled_from(CONTENTS), st.sampled_from(PROJECTIONS), seeds)
@pytest.mark.parametrize("position", POSITIONS.names())
def test_one_token_attends_to_itself_and_the_first_of_two_causal_ones_too(
    position: str, data: st.DataObject, content: str, projections: str, seed: int
) -> None:
    chosen: dict[str, Any] = {
        "position": data.draw(specs(POSITIONS[position])),
        "content": content,
        "projections": projections,
        "seed": seed,
        "masks": (CAUSAL,),
    }

    assert attend(AttentionConfig(("a",), **chosen)).weights.tolist() == [[[1.0]]] * 8
    assert attend(AttentionConfig(("a", "b"), **chosen)).weights[:, 0].tolist() == [[1.0, 0.0]] * 8


@given(configs(), st.data())
def test_one_row_of_scores_computed_alone_is_that_of_the_whole(config: AttentionConfig, data: st.DataObject) -> None:
    trace = attend(config)
    head, query = data.draw(st.integers(0, trace.n_heads - 1)), data.draw(st.integers(0, trace.n_q - 1))

    np.testing.assert_allclose(trace.row_of_scores(head, query), trace.scores[head, query], rtol=1e-5, atol=1e-5)


@given(mask_specs("Structure", "Sparsity"), st.integers(1, 5))
def test_alibi_inside_any_sparse_mask_with_padding_on_the_left_equals_the_slow_loops(masks, padded: int) -> None:
    config = AttentionConfig(
        ("<pad>",) * padded + SENTENCE,
        masks=(*masks, MASKS["padding_left"].spec(padded=padded)),
        position=POSITIONS["alibi"].spec(),
        projections="random",
    )
    trace = attend(config)

    place = np.maximum(np.arange(len(config.tokens)) - padded, 0)
    bias = -alibi_slopes(8)[:, None, None] * np.abs(place[:, None] - place[None, :])
    slow = reference.attention(trace.query, trace.key, trace.value, trace.mask, bias)
    np.testing.assert_allclose(trace.weights, slow.weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(trace.scores, slow.scores, rtol=0, atol=1e-4)
    assert not trace.weights[np.broadcast_to(~trace.mask, trace.weights.shape)].any()
