"""What holds for every registered position method, with every parameter of its range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.positions import Positional, PositionShape
from attnviz.registries import POSITIONS
from tests.reference import normal
from tests.strategies import head_shapes, lengths, seeds, specs


def method(data: st.DataObject, name: str, seed: int = 0) -> tuple[PositionShape, Positional]:
    d_model, n_heads = data.draw(head_shapes(name))
    shape = PositionShape(d_model, n_heads, seed)
    spec = data.draw(specs(POSITIONS[name]))
    return shape, POSITIONS[name].function(shape, **dict(spec.params))


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data(), n_q=lengths, n_k=lengths, seed=seeds)
def test_each_effect_has_the_right_shape_and_is_finite(
    name: str, data: st.DataObject, n_q: int, n_k: int, seed: int
) -> None:
    shape, effects = method(data, name, seed)
    q, k = np.arange(n_q), np.arange(n_k)

    if effects.add is not None:
        added = effects.add(q)
        assert added.shape == (n_q, shape.d_model)
        assert np.isfinite(added).all()
    if effects.rotate is not None:
        for dtype in (np.float32, np.float64):
            x = normal((shape.n_heads, n_q, shape.d_head), dtype=dtype)
            turned = effects.rotate(x, q)
            assert (turned.shape, turned.dtype) == (x.shape, x.dtype)
            assert np.isfinite(turned).all()
    if effects.bias is not None:
        bias = effects.bias(q, k)
        assert np.broadcast_shapes(bias.shape, (shape.n_heads, n_q, n_k)) == (shape.n_heads, n_q, n_k)
        assert np.isfinite(bias).all()


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data())
def test_a_method_has_exactly_the_effects_of_its_group(name: str, data: st.DataObject) -> None:
    _, effects = method(data, name)
    has = {effect for effect in ("add", "rotate", "bias") if getattr(effects, effect) is not None}

    if name == "none":
        assert has == set()
    elif POSITIONS[name].group == "Absolute":
        assert has == {"add"}
    else:
        assert len(has & {"rotate", "bias"}) == 1
        assert "add" not in has


@pytest.mark.parametrize("name", POSITIONS.names())
@given(data=st.data(), order=st.permutations(range(9)))
def test_what_a_token_gets_depends_on_its_own_position_only(name: str, data: st.DataObject, order: list[int]) -> None:
    shape, effects = method(data, name)
    places, x = np.arange(9), normal((shape.n_heads, 9, shape.d_head))

    if effects.add is not None:
        np.testing.assert_array_equal(effects.add(places[order]), effects.add(places)[order])
    if effects.rotate is not None:
        turned = effects.rotate(x[:, order], places[order])
        np.testing.assert_allclose(turned, effects.rotate(x, places)[:, order], atol=1e-12)
    if effects.bias is not None:
        moved = effects.bias(places[order], places[order])
        np.testing.assert_array_equal(moved, effects.bias(places, places)[:, order][:, :, order])


@pytest.mark.parametrize("name", POSITIONS.names("Relative"))
@given(data=st.data(), shift=st.integers(0, 200))
def test_a_relative_method_sees_only_the_distance(name: str, data: st.DataObject, shift: int) -> None:
    shape, effects = method(data, name)
    places = np.arange(6)

    if effects.bias is not None:
        np.testing.assert_array_equal(effects.bias(places + shift, places + shift), effects.bias(places, places))
    if effects.rotate is not None:
        query, key = normal((shape.n_heads, 6, shape.d_head), 1), normal((shape.n_heads, 6, shape.d_head), 2)
        here, there = (
            effects.rotate(query, places + by) @ effects.rotate(key, places + by).swapaxes(1, 2) for by in (0, shift)
        )
        np.testing.assert_allclose(there, here, atol=1e-9)
