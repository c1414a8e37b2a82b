"""Designed heads do what their labels say, and nothing without the positions they read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend
from attnviz.core.columns import content_columns
from attnviz.core.config import divisors
from attnviz.core.designed import design_heads, role_of
from attnviz.registries import MASKS, POSITIONS, RECIPES

SAME_WORD, PREVIOUS, NEXT, FIRST, NEAR, UNIFORM = range(6)
WIDE = [(32, 2), (64, 4), (96, 6), (128, 8), (192, 12), (512, 8)]


def weights(
    n: int, d_model: int, n_heads: int, *, mask: str = "full", position: str = "sinusoidal", content: str = "words"
) -> np.ndarray:
    config = AttentionConfig(
        tokens=tuple(f"word{i}" for i in range(n)),
        d_model=d_model,
        n_heads=n_heads,
        masks=(MASKS[mask].spec(),),
        position=POSITIONS[position].spec(),
        content=content,
    )
    return attend(config).weights


def uniform(n: int, mask: str) -> np.ndarray:
    allowed = np.tril(np.ones((n, n))) if mask == "causal" else np.ones((n, n))
    return allowed / allowed.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("content", ["words", "vectors"])
@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("n", [2, 9, 128])
@pytest.mark.parametrize(("d_model", "n_heads"), WIDE)
def test_the_previous_token_head_puts_more_than_nine_tenths_there(
    d_model: int, n_heads: int, n: int, mask: str, content: str
) -> None:
    head = weights(n, d_model, n_heads, mask=mask, content=content)[PREVIOUS]

    assert np.diagonal(head, -1).min() > 0.9


@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("n", [9, 128])
@pytest.mark.parametrize(("d_model", "n_heads"), WIDE)
def test_without_positions_the_previous_token_head_knows_nothing(d_model: int, n_heads: int, n: int, mask: str) -> None:
    head = weights(n, d_model, n_heads, mask=mask, position="none")[PREVIOUS]

    np.testing.assert_allclose(head, uniform(n, mask), atol=0.02)
    np.testing.assert_allclose(np.diagonal(head, -1), np.diagonal(uniform(n, mask), -1), atol=1e-6)


@pytest.mark.parametrize("position", ["none", "alibi"])
@pytest.mark.parametrize("head", [PREVIOUS, NEXT, FIRST, NEAR])
def test_without_positions_in_x_no_position_head_scores_any_key_above_another(head: int, position: str) -> None:
    config = AttentionConfig(tuple("abcdefgh"), masks=(), position=POSITIONS[position].spec())

    assert not attend(config).scores[head].any()


@pytest.mark.parametrize("n", [9, 128])
@pytest.mark.parametrize(("d_model", "n_heads"), WIDE[1:])
def test_the_next_token_head_puts_more_than_nine_tenths_there_where_it_may(d_model: int, n_heads: int, n: int) -> None:
    assert np.diagonal(weights(n, d_model, n_heads)[NEXT], 1).min() > 0.9
    assert not np.triu(weights(n, d_model, n_heads, mask="causal")[NEXT], 1).any()


@pytest.mark.parametrize("mask", ["full", "causal"])
@pytest.mark.parametrize("n", [9, 128])
@pytest.mark.parametrize(("d_model", "n_heads"), WIDE[1:])
def test_the_first_token_head_looks_there_from_every_place(d_model: int, n_heads: int, n: int, mask: str) -> None:
    to_first = weights(n, d_model, n_heads, mask=mask)[FIRST][:, 0]

    assert to_first.mean() > 0.95
    assert to_first.min() > 0.8


@pytest.mark.parametrize(("d_model", "n_heads"), [(96, 6), (128, 8), (512, 8)])
def test_the_near_neighbours_head_prefers_its_own_place_and_falls_off_on_both_sides(d_model: int, n_heads: int) -> None:
    head = weights(32, d_model, n_heads)[NEAR]

    for place in range(2, 30):
        row = head[place]
        assert row.argmax() == place
        assert row[place] > row[place - 1] > row[place - 2]
        assert row[place] > row[place + 1] > row[place + 2]
        np.testing.assert_allclose(row[place - 1], row[place + 1], rtol=1e-3)
        assert row[place] < 0.9, "a few tokens, not one"
        assert row[place - 2 : place + 3].sum() > 0.5 > 4 * 5 / 32 * 0.5


@pytest.mark.parametrize("mask", ["full", "causal"])
def test_the_uniform_head_gives_every_allowed_key_the_same(mask: str) -> None:
    np.testing.assert_allclose(weights(12, 96, 6, mask=mask)[UNIFORM], uniform(12, mask), atol=1e-6)


@pytest.mark.parametrize(("d_model", "n_heads"), [(64, 4), (128, 8), (512, 8)])
def test_the_same_word_head_finds_a_repeated_word_whatever_its_case(d_model: int, n_heads: int) -> None:
    tokens = ("The", "cat", "saw", "the", "dog", "and", "ran")
    head = attend(AttentionConfig(tokens, d_model, n_heads, masks=())).weights[SAME_WORD]

    for place in range(7):
        twins = [0, 3] if place in (0, 3) else [place]
        assert head[place, twins].sum() > 0.95
        np.testing.assert_allclose(head[place, twins], 1 / len(twins), atol=0.06)


@pytest.mark.parametrize("position", POSITIONS.names("Absolute")[:2])
def test_the_same_word_head_needs_no_positions(position: str) -> None:
    tokens = ("buy", "low", "sell", "low")
    config = AttentionConfig(tokens, 128, 4, masks=(), position=POSITIONS[position].spec())

    np.testing.assert_allclose(
        attend(config).weights[SAME_WORD], [[1, 0, 0, 0], [0, 0.5, 0, 0.5], [0, 0, 1, 0], [0, 0.5, 0, 0.5]], atol=0.05
    )


@pytest.mark.parametrize("content", ["words", "vectors"])
@pytest.mark.parametrize("d_model", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 33])
def test_every_width_works_however_it_is_divided(d_model: int, content: str) -> None:
    for n_heads in divisors(d_model):
        head_weights = weights(5, d_model, n_heads, content=content)
        assert head_weights.shape == (n_heads, 5, 5)
        np.testing.assert_allclose(head_weights.sum(axis=-1), 1, atol=1e-6)


@given(st.integers(1, 80), st.data())
def test_the_matrices_of_designed_heads_are_finite_and_of_full_size(d_model: int, data: st.DataObject) -> None:
    n_heads = data.draw(st.sampled_from(divisors(d_model)))
    for matrix in design_heads(d_model, n_heads):
        assert matrix.shape == (d_model, d_model)
        assert matrix.dtype == np.float32
        assert np.isfinite(matrix).all()


def test_the_roles_of_heads_follow_each_other_over_and_over() -> None:
    assert [role_of(head) for head in range(8)] == [
        "same word",
        "previous token",
        "next token",
        "first token",
        "near neighbours",
        "uniform",
        "same word (2)",
        "previous token (2)",
    ]
    assert role_of(4 * len(RECIPES)) == "same word (5)"


def test_a_second_head_of_a_recipe_does_the_same_work_with_other_columns() -> None:
    head_weights = weights(32, 192, 12)
    query, _ = design_heads(192, 12)

    for role in (SAME_WORD, PREVIOUS, NEXT, FIRST):
        again = role + len(RECIPES)
        np.testing.assert_allclose(head_weights[again], head_weights[role], atol=0.1)
        first, second = query[:, role * 16 : role * 16 + 16], query[:, again * 16 : again * 16 + 16]
        assert not np.array_equal(first, second)


def test_position_heads_read_no_content_but_the_slow_cosines() -> None:
    query, key = design_heads(96, 6)
    content = content_columns(96)

    for role in (PREVIOUS, NEXT, NEAR):
        columns = slice(role * 16, role * 16 + 16)
        assert not query[content, columns].any()
        assert not key[content, columns].any()
    assert not key[content, FIRST * 16 : FIRST * 16 + 16].any()
    assert not query[:, UNIFORM * 16 :].any()


@pytest.mark.parametrize(
    ("d_model", "content"),
    [(1, slice(0, 1)), (2, slice(1, 2)), (3, slice(2, 3)), (5, slice(4, 5)), (8, slice(4, 8)), (64, slice(32, 64))],
)
def test_content_lives_in_the_last_half_and_never_in_no_column(d_model: int, content: slice) -> None:
    assert content_columns(d_model) == content
