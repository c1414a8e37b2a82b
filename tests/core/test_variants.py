"""The variants of a layer: grouped heads, cross-attention, soft cap, sinks, dropout, values of another width."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.core.dropout import dropped
from attnviz.core.projections import make_projections
from attnviz.errors import SettingError
from attnviz.registries import MASKS, POSITIONS
from tests.strategies import configs, seeds

WORDS = ("the", "cat", "sat", "on", "the", "mat")
PLAIN = AttentionConfig(WORDS, masks=(MASKS["full"].spec(),))


def same(one: AttentionTrace, other: AttentionTrace) -> bool:
    return np.array_equal(one.weights, other.weights) and np.array_equal(one.output, other.output)


def test_a_key_value_head_for_each_head_is_plain_attention() -> None:
    assert same(attend(replace(PLAIN, n_kv_heads=8)), attend(PLAIN))


def test_a_designed_key_head_is_the_mean_of_those_of_the_heads_it_serves() -> None:
    whole, grouped = (make_projections("designed", 16, 4, 3, n_kv_heads=count) for count in (4, 2))

    np.testing.assert_allclose(grouped.W_K[:, :4], (whole.W_K[:, :4] + whole.W_K[:, 4:8]) / 2, atol=1e-6)
    np.testing.assert_array_equal(grouped.W_Q, whole.W_Q)


def test_random_grouped_matrices_keep_their_spread() -> None:
    grouped = make_projections("random", 128, 8, 3, n_kv_heads=2)

    assert grouped.W_K.shape == grouped.W_V.shape == (128, 32)
    assert grouped.W_K.std() == pytest.approx(1 / np.sqrt(128), rel=0.03)
    assert grouped.W_V.std() == pytest.approx(1 / np.sqrt(128), rel=0.03)


def test_consecutive_heads_share_a_key_value_head() -> None:
    trace = attend(replace(PLAIN, n_kv_heads=2, projections="random"))

    assert trace.key.shape == trace.value.shape == (2, 6, 8)
    assert [trace.kv_head(head) for head in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("count", [0, 3, 16])
def test_key_value_heads_that_do_not_divide_the_heads_are_refused_with_those_that_do(count: int) -> None:
    with pytest.raises(SettingError, match=f"n_heads=8, n_kv_heads={count}. Try 1, 2, 4 or 8."):
        replace(PLAIN, n_kv_heads=count)


def test_cross_attention_to_the_same_tokens_is_self_attention() -> None:
    assert same(attend(replace(PLAIN, key_tokens=WORDS)), attend(PLAIN))


def test_in_cross_attention_keys_and_values_come_from_the_other_tokens_alone() -> None:
    config = replace(PLAIN, key_tokens=("a", "red", "mat"))
    trace, moved = attend(config), attend(replace(config, tokens=("old", *WORDS[1:])))

    assert trace.weights.shape == (8, 6, 3)
    assert trace.output.shape == (6, 64)
    np.testing.assert_array_equal(trace.key, moved.key)
    np.testing.assert_array_equal(trace.value, moved.value)
    assert trace.weights[0, 5].argmax() == 2, "head 0 finds “mat” among the keys"


def test_without_the_scale_the_scores_are_the_root_of_d_head_times_as_large() -> None:
    np.testing.assert_allclose(
        attend(replace(PLAIN, is_scaled=False)).scores, np.sqrt(8) * attend(PLAIN).scores, rtol=1e-5, atol=1e-5
    )


def test_a_soft_cap_keeps_every_score_within_it_and_a_large_one_does_nothing() -> None:
    sharp = replace(PLAIN, sharpness=8.0)
    capped = attend(replace(sharp, softcap=2.0))

    ratio = capped.weights.max(axis=-1) / capped.weights.min(axis=-1)
    assert ratio.max() <= np.exp(4) * (1 + 1e-5)
    np.testing.assert_array_equal(capped.scores, attend(sharp).scores)
    np.testing.assert_allclose(attend(replace(PLAIN, softcap=1e6)).weights, attend(PLAIN).weights, atol=1e-5)


def test_a_sink_takes_the_same_share_of_every_weight_of_a_row() -> None:
    plain, sunk = attend(PLAIN), attend(replace(PLAIN, sinks=True))
    left = sunk.weights.sum(axis=-1, keepdims=True)

    assert left.max() <= 1 + 1e-6
    assert left.min() < 0.9
    np.testing.assert_allclose(sunk.weights, plain.weights * left, atol=1e-6)
    assert sunk.sinks is not None
    assert sunk.sinks.shape == (8,)


def test_values_may_have_another_width_than_queries() -> None:
    trace, plain = attend(replace(PLAIN, d_value=3)), attend(PLAIN)

    assert trace.context.shape == (8, 6, 3)
    assert trace.output.shape == plain.output.shape
    np.testing.assert_array_equal(trace.weights, plain.weights)


@given(configs())
def test_the_weights_are_those_before_dropout_whatever_it_is(config: AttentionConfig) -> None:
    trace = attend(config)

    np.testing.assert_array_equal(trace.weights, attend(replace(config, dropout=0.0)).weights)
    if config.dropout == 0:
        assert trace.in_training().weights is trace.weights


def test_dropout_leaves_0_or_the_weight_over_the_share_kept() -> None:
    weights = attend(PLAIN).weights
    after = dropped(weights, 0.2, seed=1)
    kept = after != 0

    np.testing.assert_allclose(after[kept], (weights / np.float32(0.8))[kept], rtol=1e-6)
    assert 0.15 < 1 - kept.mean() < 0.25
    np.testing.assert_array_equal(after, dropped(weights, 0.2, seed=1))


@given(
    seeds,
    st.floats(0, 0.9),
    st.tuples(st.integers(1, 6), st.integers(1, 12), st.integers(1, 40)),
    st.sampled_from([np.float32, np.float64]),
    st.data(),
)
def test_what_is_dropped_of_a_part_is_what_is_dropped_of_it_in_the_whole(
    seed: int, p: float, shape: tuple[int, int, int], dtype: type, data: st.DataObject
) -> None:
    weights = np.random.default_rng(seed).random(shape).astype(dtype)
    heads, rows, keys = (
        range(start := data.draw(st.integers(0, n - 1)), data.draw(st.integers(start + 1, n))) for n in shape
    )
    part = weights[heads.start : heads.stop, rows.start : rows.stop, keys.start : keys.stop]
    before = part.copy()

    found = dropped(part, p, seed, heads=heads, rows=rows, keys=np.array(keys), n_k=shape[2])

    whole = dropped(weights, p, seed)
    np.testing.assert_array_equal(
        found, whole[heads.start : heads.stop, rows.start : rows.stop, keys.start : keys.stop]
    )
    assert found.dtype == whole.dtype == dtype
    np.testing.assert_array_equal(part, before)


def test_heads_and_queries_of_one_length_lose_different_weights() -> None:
    is_dropped = dropped(np.ones((4, 50, 50)), 0.5, seed=3) == 0

    rows = {row.tobytes() for row in is_dropped.reshape(-1, 50)}
    assert len(rows) == 200
    assert abs(np.corrcoef(is_dropped.reshape(4, -1)) - np.eye(4)).max() < 0.1


def test_a_part_that_is_named_by_its_rows_alone_has_all_keys_and_the_first_heads() -> None:
    weights = np.ones((3, 8, 10))

    np.testing.assert_array_equal(dropped(weights[:, 3:5], 0.4, 7, rows=range(3, 5)), dropped(weights, 0.4, 7)[:, 3:5])
    np.testing.assert_array_equal(dropped(weights[1:2], 0.4, 7, heads=range(1, 2)), dropped(weights, 0.4, 7)[1:2])


@pytest.mark.parametrize("p", [-0.1, 1.0, float("nan")])
def test_a_share_that_cannot_be_dropped_is_refused(p: float) -> None:
    with pytest.raises(SettingError, match="`dropout` must be from 0 to less than 1"):
        dropped(np.ones((1, 1, 1)), p, seed=0)


def test_positions_of_queries_and_keys_are_counted_apart() -> None:
    config = AttentionConfig(("a",) * 3, key_tokens=("a",) * 5, position=POSITIONS["alibi"].spec(), masks=())

    np.testing.assert_allclose(attend(config).bias[0] / 0.5, -np.abs(np.arange(3)[:, None] - np.arange(5)[None]))
