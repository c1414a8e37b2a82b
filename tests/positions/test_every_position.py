"""What holds for every registered position method, with every parameter of its range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.positions import Positional, PositionShape, yarn_attention_factor
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec
from tests.reference import normal
from tests.strategies import head_shapes, lengths, seeds, specs

EFFECTS = {"Absolute": {"add"}, "Rotary": {"rotate"}, "Bias": {"bias"}}
ELEVEN = ("the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "very", "tired")
some_places = st.lists(st.integers(0, 300), min_size=1, max_size=12).map(np.array)


def method(
    data: st.DataObject, name: str, seed: int = 0, n_positions: int = 0
) -> tuple[PositionShape, Positional, Spec]:
    d_model, n_heads = data.draw(head_shapes(name))
    shape = PositionShape(d_model, n_heads, seed, n_positions)
    spec = data.draw(specs(POSITIONS[name]))
    return shape, POSITIONS[name].function(shape, **dict(spec.params)), spec


def attention_factor(spec: Spec) -> float:
    return yarn_attention_factor(float(spec["factor"])) if spec.name == "rotary_yarn" else 1.0


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data(), n_q=lengths, n_k=lengths, seed=seeds)
def test_each_effect_has_the_right_shape_and_dtype_and_is_finite(
    name: str, data: st.DataObject, n_q: int, n_k: int, seed: int
) -> None:
    shape, effects, _ = method(data, name, seed, max(n_q, n_k))
    q, k = np.arange(n_q), np.arange(n_k)

    if effects.add is not None:
        added = effects.add(q)
        assert (added.shape, added.dtype) == ((n_q, shape.d_model), np.float64)
        assert np.isfinite(added).all()
    if effects.rotate is not None:
        for dtype in (np.float16, np.float32, np.float64):
            x = normal((shape.n_heads, n_q, shape.d_head), dtype=dtype)
            turned = effects.rotate(x, q)
            assert (turned.shape, turned.dtype) == (x.shape, x.dtype)
            assert np.isfinite(turned).all()
    if effects.bias is not None:
        bias = effects.bias(q, k)
        assert (bias.shape, bias.dtype) == ((shape.n_heads, n_q, n_k), np.float64)
        assert np.isfinite(bias).all()


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data())
def test_a_method_has_exactly_the_effect_of_its_group(name: str, data: st.DataObject) -> None:
    _, effects, _ = method(data, name)
    has = {effect for effect in ("add", "rotate", "bias") if getattr(effects, effect) is not None}

    assert has == (set() if name == "none" else EFFECTS[POSITIONS[name].group])


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data(), order=st.permutations(range(9)))
def test_what_a_token_gets_depends_on_its_own_position_only(name: str, data: st.DataObject, order: list[int]) -> None:
    shape, effects, _ = method(data, name)
    places, x = np.arange(9), normal((shape.n_heads, 9, shape.d_head))

    if effects.add is not None:
        np.testing.assert_array_equal(effects.add(places[order]), effects.add(places)[order])
    if effects.rotate is not None:
        turned = effects.rotate(x[:, order], places[order])
        np.testing.assert_allclose(turned, effects.rotate(x, places)[:, order], atol=1e-12)
    if effects.bias is not None:
        moved = effects.bias(places[order], places[order])
        np.testing.assert_array_equal(moved, effects.bias(places, places)[:, order][:, :, order])


@pytest.mark.parametrize("name", POSITIONS.names("Bias"))
@given(data=st.data(), q=some_places, k=some_places)
def test_the_bias_of_any_queries_and_keys_is_their_part_of_the_whole_square(
    name: str, data: st.DataObject, q: np.ndarray, k: np.ndarray
) -> None:
    _, effects, _ = method(data, name)
    assert effects.bias is not None
    whole = effects.bias(np.arange(301), np.arange(301))

    np.testing.assert_array_equal(effects.bias(q, k), whole[:, q][:, :, k])


@pytest.mark.parametrize("name", [name for name in POSITIONS.names("Bias") if name != "grid_bias"])
@given(data=st.data(), q=some_places, k=some_places, shift=st.integers(0, 200))
def test_a_bias_along_a_line_sees_only_the_distance(
    name: str, data: st.DataObject, q: np.ndarray, k: np.ndarray, shift: int
) -> None:
    _, effects, _ = method(data, name)
    assert effects.bias is not None

    np.testing.assert_array_equal(effects.bias(q + shift, k + shift), effects.bias(q, k))


@pytest.mark.parametrize("name", POSITIONS.names("Rotary"))
@given(data=st.data(), q=some_places, k=some_places, shift=st.integers(0, 200))
def test_scores_after_a_rotation_depend_on_the_distance_of_query_and_key_only(
    name: str, data: st.DataObject, q: np.ndarray, k: np.ndarray, shift: int
) -> None:
    shape, effects, _ = method(data, name, n_positions=501)
    query = normal((shape.n_heads, len(q), shape.d_head), 1)
    key = normal((shape.n_heads, len(k), shape.d_head), 2)
    assert effects.rotate is not None

    here, there = (effects.rotate(query, q + by) @ effects.rotate(key, k + by).swapaxes(1, 2) for by in (0, shift))
    np.testing.assert_allclose(there, here, atol=1e-9)


@pytest.mark.parametrize("name", POSITIONS.names("Rotary"))
@given(data=st.data(), places=some_places)
def test_a_rotation_keeps_the_length_of_a_vector_times_the_attention_factor(
    name: str, data: st.DataObject, places: np.ndarray
) -> None:
    shape, effects, spec = method(data, name, n_positions=301)
    x = normal((shape.n_heads, len(places), shape.d_head))
    assert effects.rotate is not None
    turned = effects.rotate(x, places)

    right = attention_factor(spec) * np.linalg.norm(x, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), right, rtol=1e-12)
    np.testing.assert_array_equal(effects.rotate(x, 0 * places), attention_factor(spec) * x)


@pytest.mark.parametrize("projections", ["designed", "random"])
@pytest.mark.parametrize("name", [name for name in POSITIONS.names() if name != "none"])
def test_with_its_defaults_every_method_changes_what_eleven_words_show(name: str, projections: str) -> None:
    shown, bare = (
        attend(AttentionConfig(ELEVEN, position=POSITIONS[position].spec(), projections=projections)).weights
        for position in (name, "none")
    )

    assert np.abs(shown - bare).max() > 0.05


@pytest.mark.parametrize("name", [name for name in POSITIONS.names("Rotary") if name != "rotary"])
def test_with_its_defaults_every_variant_of_rotary_differs_from_the_plain_one_on_eleven_words(name: str) -> None:
    variant, plain = (
        attend(AttentionConfig(ELEVEN, position=POSITIONS[position].spec(), projections="random")).weights
        for position in (name, "rotary")
    )

    assert np.abs(variant - plain).max() > 0.02


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data(), padded=st.integers(1, 20))
def test_padding_on_the_left_moves_no_real_token(name: str, data: st.DataObject, padded: int) -> None:
    d_model, n_heads = data.draw(head_shapes(name))
    position, causal = data.draw(specs(POSITIONS[name])), MASKS["causal"].spec()
    alone = attend(AttentionConfig(ELEVEN, d_model, n_heads, masks=(causal,), position=position))
    padding = MASKS["padding_left"].spec(padded=padded)
    batch = AttentionConfig(("-",) * padded + ELEVEN, d_model, n_heads, masks=(causal, padding), position=position)

    np.testing.assert_allclose(attend(batch).weights[:, padded:, padded:], alone.weights, atol=1e-5)
