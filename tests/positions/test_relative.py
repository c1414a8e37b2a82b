"""Rotary positions and ALiBi."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import alibi_slopes, build_mask, masked_softmax, rotate, scaled_dot_product_attention
from attnviz.errors import SettingError
from attnviz.positions import PositionShape
from attnviz.registries import MASKS, POSITIONS
from tests.reference import golden, normal

LAYOUTS = ["interleaved", "half-split"]
BASES = st.floats(10, 1e6)
X = np.array([[[1.0, 2.0, 3.0, 4.0]]])


def at(x: np.ndarray, position: int, layout: str, base: float = 10_000.0) -> np.ndarray:
    return rotate(x, np.full(x.shape[1], position), layout=layout, base=base)


@pytest.mark.parametrize(
    ("layout", "turned"),
    [
        ("interleaved", [-1.1426397, 1.9220756, 2.9598507, 4.0297995]),
        ("half-split", [-1.9841106, 1.9599007, 2.4623779, 4.0197997]),
    ],
)
def test_each_layout_turns_its_own_pairs_of_columns(layout: str, turned: list[float]) -> None:
    np.testing.assert_allclose(at(X, 1, layout)[0, 0], turned, atol=1e-6)


@pytest.mark.parametrize(("layout", "score"), [("interleaved", -0.7600022), ("half-split", -1.6155797)])
def test_a_query_at_5_and_a_key_at_2_score_as_at_13_and_10(layout: str, score: float) -> None:
    key = X[..., ::-1]
    for q, k in ((5, 2), (13, 10)):
        assert (at(X, q, layout) * at(key, k, layout)).sum() == pytest.approx(score, abs=1e-6)
    assert (at(X, 7, layout) * at(key, 7, layout)).sum() == pytest.approx(20)


@given(st.integers(0, 500), st.integers(1, 12), BASES)
def test_half_split_on_reordered_columns_is_interleaved(position: int, pairs: int, base: float) -> None:
    x = normal((2, 1, 2 * pairs), position)
    reordered = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
    turned = at(reordered, position, "half-split", base)

    back = np.stack([turned[..., :pairs], turned[..., pairs:]], axis=-1).reshape(x.shape)
    np.testing.assert_allclose(back, at(x, position, "interleaved", base), atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(q=st.integers(0, 300), k=st.integers(0, 300), shift=st.integers(0, 300), pairs=st.integers(1, 12), base=BASES)
def test_scores_depend_on_the_distance_of_query_and_key_only(
    layout: str, q: int, k: int, shift: int, pairs: int, base: float
) -> None:
    query, key = normal((3, 1, 2 * pairs), 1), normal((3, 1, 2 * pairs), 2)
    here, there = ((at(query, q + by, layout, base) * at(key, k + by, layout, base)).sum(axis=-1) for by in (0, shift))

    np.testing.assert_allclose(there, here, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(position=st.integers(0, 100_000), pairs=st.integers(1, 12), base=BASES)
def test_a_rotation_keeps_the_length_of_every_vector(layout: str, position: int, pairs: int, base: float) -> None:
    x = normal((2, 3, 2 * pairs))

    turned = at(x, position, layout, base)

    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-12)
    assert np.square(at(X, position, layout)).sum() == pytest.approx(30)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(first=st.integers(0, 200), second=st.integers(0, 200), pairs=st.integers(1, 8))
def test_position_0_changes_nothing_and_two_turns_are_one_of_their_sum(
    layout: str, first: int, second: int, pairs: int
) -> None:
    x = normal((2, 1, 2 * pairs))

    np.testing.assert_array_equal(at(x, 0, layout), x)
    twice = at(at(x, first, layout), second, layout)
    np.testing.assert_allclose(twice, at(x, first + second, layout), atol=1e-12)


@pytest.mark.parametrize("d_head", [1, 3, 7])
def test_an_odd_width_of_a_head_is_refused_in_words(d_head: int) -> None:
    sentence = f"`d_head` must be even for rotary positions, which turn pairs of columns; got d_head={d_head}. Try"
    for attempt in (
        lambda: rotate(np.zeros((1, 1, d_head)), np.array([0])),
        lambda: POSITIONS["rotary"].function(PositionShape(d_head, 1)),
    ):
        with pytest.raises(SettingError, match=sentence):
            attempt()


def test_half_split_equals_llama() -> None:
    stored = golden("rope_llama")
    query, key = (rotate(stored[name][0], stored["position_ids"], layout="half-split") for name in ("q", "k"))

    np.testing.assert_allclose(query, stored["q_out"][0], atol=1e-12)
    np.testing.assert_allclose(key, stored["k_out"][0], atol=1e-12)
    np.testing.assert_allclose(
        scaled_dot_product_attention(query, key, key, scale=1.0).scores, stored["scores"][0], atol=1e-12
    )


def test_interleaved_equals_gpt_j_whole_and_on_the_first_eight_columns() -> None:
    stored = golden("rope_gptj")
    x, whole, first_eight = (stored[name][0].transpose(1, 0, 2) for name in ("q", "q_out", "q_out_rotary8"))
    positions = np.arange(12)

    np.testing.assert_allclose(rotate(x, positions, layout="interleaved"), whole, atol=1e-12)
    partly = np.concatenate([rotate(x[..., :8], positions, layout="interleaved"), x[..., 8:]], axis=-1)
    np.testing.assert_allclose(partly, first_eight, atol=1e-6)


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
