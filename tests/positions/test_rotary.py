"""Rotary positions: turned pairs of columns."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import rotate, scaled_dot_product_attention
from attnviz.errors import SettingError
from attnviz.positions import PositionShape, rotary_frequencies, turn_pairs
from attnviz.positions.rotary import turning_columns
from attnviz.registries import POSITIONS
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
    with pytest.raises(SettingError, match=sentence):
        rotate(np.zeros((1, 1, d_head)), np.array([0]))


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
    effects = POSITIONS["rotary_partial"].function(PositionShape(64, 4), share=0.5, layout="interleaved")
    assert effects.rotate is not None
    np.testing.assert_allclose(effects.rotate(x, positions), first_eight, atol=1e-6)
    np.testing.assert_array_equal(effects.rotate(x, positions)[..., 8:], x[..., 8:])


def test_given_sines_and_cosines_turn_as_llama_and_gpt_j_turn_with_theirs() -> None:
    llama, gpt_j = golden("rope_llama"), golden("rope_gptj")

    turned = turn_pairs(llama["q"][0], llama["cos"][0, :, :8], llama["sin"][0, :, :8], layout="half-split")
    np.testing.assert_allclose(turned, llama["q_out"][0], atol=1e-12)
    turned = turn_pairs(gpt_j["q"][0].transpose(1, 0, 2), gpt_j["cos"][0], gpt_j["sin"][0], layout="interleaved")
    np.testing.assert_allclose(turned, gpt_j["q_out"][0].transpose(1, 0, 2), atol=1e-12)


def test_angles_are_those_of_llama() -> None:
    stored = golden("rope_llama")
    angle = np.tile(stored["position_ids"][:, None] * rotary_frequencies(16), 2)

    np.testing.assert_allclose(np.cos(angle), stored["cos"][0], atol=1e-12)
    np.testing.assert_allclose(np.sin(angle), stored["sin"][0], atol=1e-12)
    np.testing.assert_allclose(np.cos(angle), stored["cos_library_f32"][0], atol=1e-6)
    np.testing.assert_allclose(np.sin(angle), stored["sin_library_f32"][0], atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1e-6), (np.float16, 4e-3)])
def test_angles_are_float64_and_only_the_result_has_the_dtype_of_the_input(
    layout: str, dtype: type, error: float
) -> None:
    x = normal((2, 3, 8))
    far = np.array([99_991, 100_003, 131_071])

    turned = rotate(x.astype(dtype), far, layout=layout)

    assert turned.dtype == dtype
    np.testing.assert_allclose(turned, rotate(x, far, layout=layout), atol=error)


@pytest.mark.parametrize("layout", LAYOUTS)
@given(pairs=st.integers(1, 8), n=st.integers(1, 70), base=BASES)
def test_a_share_of_1_is_plain_rotary_and_a_share_of_0_changes_nothing(
    layout: str, pairs: int, n: int, base: float
) -> None:
    shape, x = PositionShape(2 * pairs, 1), normal((1, n, 2 * pairs))
    plain = POSITIONS["rotary"].function(shape, base=base, layout=layout).rotate
    partial = POSITIONS["rotary_partial"].function
    whole, nothing = (partial(shape, share=share, base=base, layout=layout).rotate for share in (1.0, 0.0))
    assert plain is not None
    assert whole is not None
    assert nothing is not None

    np.testing.assert_array_equal(whole(x, np.arange(n)), plain(x, np.arange(n)))
    np.testing.assert_array_equal(nothing(x, np.arange(n)), x)


@given(st.integers(1, 64), st.floats(0, 1))
def test_a_share_turns_an_even_number_of_columns_or_is_refused_in_words(pairs: int, share: float) -> None:
    d_head = 2 * pairs
    wanted = int(d_head * share + 1e-9)

    if wanted % 2:
        with pytest.raises(SettingError, match="`share` must turn an even number of columns, because they turn in"):
            turning_columns(d_head, share)
    else:
        assert turning_columns(d_head, share) == wanted


def test_the_way_out_of_an_odd_share_is_a_share_that_works() -> None:
    with pytest.raises(SettingError, match=r"got share=0\.4, d_head=8 \(3 columns\)\. Try 0\.25 or 0\.5\."):
        POSITIONS["rotary_partial"].function(PositionShape(16, 2), share=0.4)

    assert [turning_columns(8, share) for share in (0.25, 0.5)] == [2, 4]


@pytest.mark.parametrize("name", POSITIONS.names("Rotary"))
@pytest.mark.parametrize("d_head", [1, 3, 7])
def test_every_rotary_method_refuses_an_odd_width_of_a_head_in_words(name: str, d_head: int) -> None:
    with pytest.raises(SettingError, match=rf"`n_heads` must leave an even d_head.*\(d_head={d_head}\)\. Try 1"):
        POSITIONS[name].function(PositionShape(2 * d_head, 2))


@pytest.mark.parametrize(
    ("d_model", "n_heads", "way_out"),
    [
        (12, 4, "Try 1, 2, 3 or 6 heads."),
        (2, 2, "Try 1 head."),
        (5, 1, "Try d_model=4 or 6."),
        (25, 5, "Try d_model=20 or 30."),
        (3, 3, "Try d_model=6."),
    ],
)
def test_the_way_out_of_an_odd_width_of_a_head_is_a_number_of_heads_or_a_width_that_works(
    d_model: int, n_heads: int, way_out: str
) -> None:
    with pytest.raises(SettingError) as refused:
        POSITIONS["rotary"].function(PositionShape(d_model, n_heads))

    found, _, told = str(refused.value).partition("). ")
    assert found.endswith(f"n_heads={n_heads}, d_model={d_model} (d_head={d_model // n_heads}")
    assert told == way_out
    for number in map(int, re.findall(r"\d+", told)):
        shape = PositionShape(number, n_heads) if "d_model" in told else PositionShape(d_model, number)
        assert POSITIONS["rotary"].function(shape).rotate is not None


def test_more_frequencies_than_pairs_and_an_unknown_layout_are_refused_in_words() -> None:
    with pytest.raises(SettingError, match="two columns for each pair that turns; got d_head=4, 3 pairs"):
        rotate(X, np.array([0]), frequencies=rotary_frequencies(6))
    with pytest.raises(SettingError, match="`layout` must be interleaved or half-split; got layout=split"):
        rotate(X, np.array([0]), layout="split")


def test_half_split_on_columns_0_2_1_3_scores_as_interleaved() -> None:
    query, key = X[..., [0, 2, 1, 3]], X[..., ::-1][..., [0, 2, 1, 3]]

    assert (at(query, 5, "half-split") * at(key, 2, "half-split")).sum() == pytest.approx(-0.7600022, abs=1e-6)
