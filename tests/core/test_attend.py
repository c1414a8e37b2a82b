"""One whole layer: what its arrays must satisfy in any setting, and what a setting may not touch."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, masked_softmax, merge_heads, split_heads
from attnviz.core.projections import Projections, make_projections
from attnviz.core.text import embed
from attnviz.errors import SettingError
from attnviz.positions import sinusoidal_table
from attnviz.registries import MASKS, POSITIONS
from tests.reference import normal
from tests.strategies import configs, head_shapes, mask_specs, specs

SENTENCE = ("the", "cat", "sat", "on", "the", "mat")


@given(configs())
def test_in_any_setting_rows_sum_to_1_or_0_and_forbidden_weights_are_exactly_0(config: AttentionConfig) -> None:
    trace = attend(config)
    allowed = np.broadcast_to(trace.mask, trace.weights.shape)
    totals = trace.weights.sum(axis=-1, dtype=np.float64)

    if config.sinks:
        assert (totals <= 1 + 1e-6).all()
        assert not totals[~allowed.any(axis=-1)].any()
    else:
        np.testing.assert_allclose(totals, allowed.any(axis=-1).astype(float), atol=1e-6)
    assert not trace.weights[~allowed].any()
    assert all(np.isfinite(array).all() for array in (trace.x, trace.scores, trace.weights, trace.output))


@given(configs())
def test_in_any_setting_each_array_follows_from_the_ones_before_it(config: AttentionConfig) -> None:
    trace = attend(config)
    made = make_projections(
        config.projections,
        config.d_model,
        config.n_heads,
        config.seed,
        n_kv_heads=config.n_kv_heads,
        d_value=config.d_value,
    )
    group = config.n_heads // config.kv_heads
    value = np.repeat(trace.value, group, axis=0)

    np.testing.assert_array_equal(trace.value, split_heads(trace.key_x @ made.W_V, config.kv_heads))
    scores = config.scale * trace.query.astype(np.float64) @ np.repeat(trace.key, group, axis=0).transpose(0, 2, 1)
    largest = max(1.0, float(np.abs(scores).max()))
    np.testing.assert_allclose(trace.scores, scores, atol=2e-6 * largest)
    capped = config.softcap * np.tanh(scores / config.softcap) if config.softcap else scores
    sinks = np.broadcast_to(
        np.full((1, 1, 1), -np.inf) if trace.sinks is None else trace.sinks[:, None, None], (*scores.shape[:2], 1)
    )
    beside = np.broadcast_to(trace.mask.any(axis=-1, keepdims=True), sinks.shape)
    mask = np.concatenate([np.broadcast_to(trace.mask, scores.shape), beside], axis=-1)
    with_sink = masked_softmax(np.concatenate([capped + trace.bias, sinks], axis=-1), mask)
    np.testing.assert_allclose(trace.weights, with_sink[..., :-1], atol=1e-6)
    np.testing.assert_allclose(trace.context, trace.weights @ value, atol=1e-5)
    np.testing.assert_array_equal(trace.output, merge_heads(trace.gated) @ made.W_O)


@given(configs())
def test_the_same_setting_gives_the_same_numbers_again(config: AttentionConfig) -> None:
    np.testing.assert_array_equal(attend(config).output, attend(replace(config)).output)


@given(configs(), mask_specs("Structure", "Sparsity"))
def test_changing_only_the_mask_keeps_query_key_value_and_scores_bit_identical(config: AttentionConfig, masks) -> None:
    one, other = attend(replace(config, masks=())), attend(replace(config, masks=masks))

    for name in ("x", "query", "key", "value", "scores"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@given(configs(), mask_specs("Padding"))
def test_without_positions_padding_too_keeps_query_key_and_value_bit_identical(config: AttentionConfig, masks) -> None:
    config = replace(config, position=POSITIONS["none"].spec())
    one, other = attend(replace(config, masks=())), attend(replace(config, masks=masks))

    for name in ("x", "query", "key", "value", "scores"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


def test_content_and_projections_know_neither_mask_nor_position() -> None:
    assert list(inspect.signature(make_projections).parameters) == [
        "kind",
        "d_model",
        "n_heads",
        "seed",
        "n_kv_heads",
        "d_value",
    ]
    assert list(inspect.signature(embed).parameters) == ["tokens", "d_model", "content", "seed", "are_others"]


@pytest.mark.parametrize("content", ["words", "vectors"])
@pytest.mark.parametrize("position", POSITIONS.names())
def test_changing_only_the_position_method_keeps_the_content_bit_identical(position: str, content: str) -> None:
    config = AttentionConfig(SENTENCE, content=content, position=POSITIONS[position].spec(), seed=3)
    words = embed(SENTENCE, 64, content=content, seed=3)
    trace, bare = attend(config), attend(replace(config, position=POSITIONS["none"].spec()))

    np.testing.assert_array_equal(bare.x, words)
    if position == "sinusoidal":
        np.testing.assert_array_equal(trace.x, words + sinusoidal_table(np.arange(6), 64).astype(np.float32))
    elif position == "learned":
        assert not np.array_equal(trace.x, words)
    else:
        np.testing.assert_array_equal(trace.x, words)
        np.testing.assert_array_equal(trace.value, bare.value)


@given(st.permutations(range(7)), head_shapes(), st.sampled_from(["designed", "random"]), st.integers(0, 99))
def test_without_positions_permuting_the_tokens_permutes_the_output(
    order: list[int], shape: tuple[int, int], projections: str, seed: int
) -> None:
    tokens = tuple("abcdefg")
    d_model, n_heads = shape
    config = AttentionConfig(
        tokens, d_model, n_heads, masks=(), position=POSITIONS["none"].spec(), projections=projections, seed=seed
    )
    plain, moved = attend(config), attend(replace(config, tokens=tuple(tokens[i] for i in order)))

    np.testing.assert_allclose(moved.output, plain.output[order], atol=1e-5)
    np.testing.assert_allclose(moved.weights, plain.weights[:, order][:, :, order], atol=1e-5)


@pytest.mark.parametrize("position", [name for name in POSITIONS.names() if name != "none"])
def test_with_positions_the_order_of_the_tokens_matters(position: str) -> None:
    config = AttentionConfig(SENTENCE, masks=(), position=POSITIONS[position].spec(), projections="random")
    order = [2, 0, 1, 3, 4, 5]
    moved = replace(config, tokens=tuple(SENTENCE[i] for i in order))

    assert np.abs(attend(moved).weights - attend(config).weights[:, order][:, :, order]).max() > 0.01


@pytest.mark.parametrize("sparsity", MASKS.names("Sparsity"))
@pytest.mark.parametrize("projections", ["designed", "random"])
@pytest.mark.parametrize("position", POSITIONS.names())
def test_a_causal_picture_is_really_causal_in_every_head(position: str, projections: str, sparsity: str) -> None:
    config = AttentionConfig(
        SENTENCE,
        masks=(MASKS["causal"].spec(), MASKS[sparsity].spec()),
        position=POSITIONS[position].spec(),
        projections=projections,
    )
    trace = attend(config)
    weights = trace.weights

    assert np.triu(weights, k=1).sum(axis=(1, 2)).tolist() == [0.0] * 8
    np.testing.assert_array_equal(weights[:, 0, 0], np.broadcast_to(trace.mask[:, 0, 0], 8))


def test_a_full_head_shows_its_upper_triangle_too() -> None:
    weights = attend(AttentionConfig(SENTENCE, masks=(MASKS["full"].spec(),), projections="random")).weights

    assert (weights > 0).all()


BY_DISTANCE = (("full", "causal"), ("dense", "sliding_window", "dilated_window", "nothing"))


@given(st.data(), st.integers(1, 5))
@pytest.mark.parametrize("position", POSITIONS.names())
def test_padding_on_the_left_changes_nothing_for_the_real_tokens_where_masks_go_by_distance(
    position: str, data: st.DataObject, padded: int
) -> None:
    d_model, n_heads = data.draw(head_shapes(position))
    structure = tuple(
        data.draw(st.sampled_from(names).flatmap(lambda name: specs(MASKS[name]))) for names in BY_DISTANCE
    )
    bare = AttentionConfig(
        SENTENCE, d_model, n_heads, structure, data.draw(specs(POSITIONS[position])), projections="random"
    )
    batch = replace(
        bare,
        tokens=("<pad>",) * padded + SENTENCE,
        masks=(*structure, MASKS["padding_left"].spec(padded=padded)),
    )
    alone, among = attend(bare), attend(batch)

    np.testing.assert_allclose(among.x[padded:], alone.x, atol=1e-6)
    if dict(structure[0].params).get("align") != "top-left":
        np.testing.assert_allclose(among.weights[:, padded:, padded:], alone.weights, atol=1e-5)
        np.testing.assert_allclose(among.output[padded:], alone.output, atol=1e-5)


def test_alibi_with_slope_0_is_no_position_method(monkeypatch: pytest.MonkeyPatch) -> None:
    config = AttentionConfig(SENTENCE, position=POSITIONS["alibi"].spec())
    none = attend(replace(config, position=POSITIONS["none"].spec()))
    assert not np.array_equal(attend(config).weights, none.weights)

    monkeypatch.setattr("attnviz.positions.relative.alibi_slopes", lambda n_heads: np.zeros(n_heads))
    flat = attend(config)

    np.testing.assert_array_equal(flat.weights, none.weights)
    np.testing.assert_array_equal(flat.output, none.output)


def test_a_bias_acts_inside_a_mask_and_forbidden_cells_stay_forbidden() -> None:
    masks = (MASKS["causal"].spec(), MASKS["sliding_window"].spec(window=3))
    trace = attend(AttentionConfig(SENTENCE, masks=masks, position=POSITIONS["alibi"].spec(), sharpness=0.0))

    slopes = 0.5 ** np.arange(1, 9)
    for head, slope in enumerate(slopes):
        powers = np.exp([-2 * slope, -slope, 0])
        np.testing.assert_allclose(trace.weights[head, 4, 2:5], powers / powers.sum(), atol=1e-6)
    assert not trace.weights[:, 4, [0, 1, 5]].any()


def test_sharpness_multiplies_the_scores_and_0_makes_every_row_uniform() -> None:
    config = AttentionConfig(SENTENCE, projections="random")
    plain, sharp, flat = (attend(replace(config, sharpness=sharpness)) for sharpness in (1.0, 2.0, 0.0))

    np.testing.assert_allclose(sharp.scores, 2 * plain.scores, rtol=1e-5)
    for row in range(6):
        np.testing.assert_allclose(flat.weights[:, row, : row + 1], 1 / (row + 1), atol=1e-6)


def test_one_token_attends_to_itself_and_two_causal_tokens_start_with_1_0() -> None:
    assert attend(AttentionConfig(("hello",))).weights.tolist() == [[[1.0]]] * 8
    assert attend(AttentionConfig(("hello", "world"))).weights[:, 0].tolist() == [[1.0, 0.0]] * 8


def test_given_projections_are_used_and_carry_the_values_through() -> None:
    identity = np.eye(4, dtype=np.float32)
    zero = np.zeros((4, 4), dtype=np.float32)
    config = AttentionConfig(("a", "b"), d_model=4, n_heads=2, masks=(), content="vectors")

    trace = attend(config, Projections(zero, zero, identity, identity))

    assert trace.weights.tolist() == [[[0.5, 0.5], [0.5, 0.5]]] * 2
    np.testing.assert_allclose(trace.output, [trace.x.mean(axis=0)] * 2, atol=1e-6)


def test_the_layer_keeps_float32_throughout() -> None:
    for position in POSITIONS.names():
        trace = attend(AttentionConfig(SENTENCE, position=POSITIONS[position].spec()))
        arrays = (trace.x, trace.query, trace.key, trace.value, trace.scores, trace.bias, trace.weights, trace.output)
        assert {array.dtype for array in arrays} == {np.dtype(np.float32)}, position


def test_rotary_positions_refuse_an_odd_width_of_a_head_in_words() -> None:
    with pytest.raises(SettingError, match=r"`n_heads` must leave an even d_head .*\(d_head=3\)\. Try 1 or 3 heads"):
        attend(AttentionConfig(SENTENCE, d_model=6, n_heads=2, position=POSITIONS["rotary"].spec()))


def test_random_projections_have_variance_1_over_d_model_and_depend_on_the_seed_alone() -> None:
    made, again, other = (make_projections("random", 128, 4, seed) for seed in (1, 1, 2))

    for name in ("W_Q", "W_K", "W_V", "W_O"):
        assert getattr(made, name).std() == pytest.approx(1 / np.sqrt(128), rel=0.02)
        np.testing.assert_array_equal(getattr(made, name), getattr(again, name))
        assert not np.array_equal(getattr(made, name), getattr(other, name))


def test_designed_projections_share_values_and_output_with_the_random_ones() -> None:
    designed, random = make_projections("designed", 32, 4, 5), make_projections("random", 32, 4, 5)

    np.testing.assert_array_equal(designed.W_V, random.W_V)
    np.testing.assert_array_equal(designed.W_O, random.W_O)
    assert not np.array_equal(designed.W_Q, random.W_Q)


def test_projections_are_read_only() -> None:
    made = make_projections("random", 8, 2, 0)

    for matrix in (made.W_Q, made.W_K, made.W_V, made.W_O):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0, 0] = 1.0


def test_a_head_sees_only_its_own_columns_of_the_projections() -> None:
    config = AttentionConfig(SENTENCE, d_model=16, n_heads=4, content="vectors", projections="random")
    made = make_projections("random", 16, 4, 0)
    changed = made.W_Q.copy()
    changed[:, 8:12] = normal((16, 4), 9, np.float32)

    one, other = attend(config, made), attend(config, replace(made, W_Q=changed))

    same = [bool(np.array_equal(one.weights[head], other.weights[head])) for head in range(4)]
    assert same == [True, True, False, True]


def test_tokens_in_another_order_give_the_same_output_in_that_order_where_there_are_no_positions() -> None:
    config = AttentionConfig(("to", "be", "or", "not"), masks=(), position=POSITIONS["none"].spec())
    order = [2, 0, 3, 1]

    plain, shuffled = attend(config), attend(config, order=order)

    assert shuffled.query_tokens == shuffled.key_tokens == ("or", "to", "not", "be")
    np.testing.assert_allclose(shuffled.output, plain.output[order], rtol=0, atol=1e-6)


def test_in_cross_attention_the_keys_are_put_into_another_order_and_the_queries_are_not() -> None:
    config = AttentionConfig(
        ("to", "be"), key_tokens=("or", "not"), masks=(), position=POSITIONS["none"].spec(), content="vectors"
    )

    plain, shuffled = attend(config), attend(config, order=[1, 0])

    assert (shuffled.query_tokens, shuffled.key_tokens) == (("to", "be"), ("not", "or"))
    np.testing.assert_array_equal(shuffled.x, plain.x)
    np.testing.assert_array_equal(shuffled.key_x, plain.key_x[[1, 0]])


@given(configs())
def test_the_keys_of_cross_attention_are_other_vectors_than_the_queries(config: AttentionConfig) -> None:
    trace = attend(
        replace(
            config,
            content="vectors",
            key_tokens=config.tokens,
            position=POSITIONS["none"].spec(),
            d_model=32,
            n_heads=2,
            n_kv_heads=None,
        )
    )

    assert not np.isin(trace.x[trace.x != 0], trace.key_x).any()


@given(configs())
def test_x_and_the_output_follow_from_the_origin(config: AttentionConfig) -> None:
    trace = attend(config)
    origin = trace.origin

    np.testing.assert_array_equal(sum(part.rows for part in origin.query_parts), trace.x)
    np.testing.assert_array_equal(sum(part.rows for part in origin.key_parts), trace.key_x)
    np.testing.assert_array_equal(origin.to_output(merge_heads(trace.gated)), trace.output)
    key = split_heads(origin.to_key(trace.key_x), config.kv_heads)
    turned = key if origin.rotation is None else origin.rotation(key, origin.k_positions)
    np.testing.assert_array_equal(turned, trace.key)
