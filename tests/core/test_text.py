"""From any sentence to tokens and vectors."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.core.columns import content_columns
from attnviz.core.text import MAX_WORDS, embed, split_words, words_of
from attnviz.errors import NothingYetError
from tests.strategies import seeds, words


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The cat sat.", "The|cat|sat|."),
        ("  two   blanks\tand\nlines \r\n", "two|blanks|and|lines"),
        ("snake_case x2 3.14", "snake_case|x2|3|.|14"),
        ("no\u00a0break\u2009thin\u3000wide", "no|break|thin|wide"),
        # markup
        ("<s> a<b<c", "<|s|>|a|<|b|<|c"),
        ("<script>alert('x')</script>", "<|script|>|alert|(|'|x|'|)|<|/|script|>"),
        ("$x$ &amp; **b**", "$|x|$|&|amp|;|*|*|b|*|*"),
        ("Ġthe ▁the", "Ġthe|▁|the"),
        # apostrophes
        ("It wasn't, wasn’t it?", "It|wasn't|,|wasn’t|it|?"),
        ("rock'n'roll 'tis dogs' it's''x", "rock'n'roll|'|tis|dogs|'|it's|'|'|x"),
        # emoji: one picture is one token
        ("good 🙂🙂", "good|🙂|🙂"),
        ("👩\u200d💻 👍🏽 ❤\ufe0f", "👩\u200d💻|👍🏽|❤\ufe0f"),
        ("👨\u200d👩\u200d👧x", "👨\u200d👩\u200d👧|x"),
        # scripts
        ("שלום עולם!", "שלום|עולם|!"),
        ("مرحبا\u200cبك، هنا", "مرحبا\u200cبك|،|هنا"),
        ("日本語 テスト。", "日本語|テスト|。"),
        ("नमस्ते दुनिया", "नमस्ते|दुनिया"),
        ("e\u0301te\u0301 été", "e\u0301te\u0301|été"),
        # control characters are kept, so that a reader can see that they are there
        ("a\x00b\x07", "a|\x00|b|\x07"),
        ("a\u200bb", "a|\u200b|b"),
        ("\u202eabc", "\u202e|abc"),
        ("\ud83d!", "\ud83d|!"),
    ],
)
def test_a_text_is_split_into_words_and_marks(text: str, tokens: str) -> None:
    assert split_words(text) == tuple(tokens.split("|"))


@given(st.text(max_size=40))
def test_splitting_loses_nothing_but_the_space_between_words(text: str) -> None:
    tokens = split_words(text)

    assert "".join(tokens) == "".join(text.split())
    assert all(token and not any(character.isspace() for character in token) for token in tokens)


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12))
def test_letters_and_digits_are_never_taken_apart(word: str) -> None:
    assert split_words(f" {word}, ({word})") == (word, ",", "(", word, ")")


@given(st.text(max_size=40))
def test_no_token_starts_with_a_mark_that_belongs_to_the_character_before_it(text: str) -> None:
    visible = "x" + "".join(text.split())

    assert not any(unicodedata.category(token[0])[0] == "M" for token in split_words(visible))


@given(st.lists(words.map(lambda word: "w" + "".join(c for c in word if c.isalnum())), max_size=12))
def test_the_words_of_joined_words_are_those_words(tokens: list[str]) -> None:
    assert split_words(" ".join(tokens)) == tuple(tokens)


def test_at_most_512_words_are_kept_and_their_number_is_told() -> None:
    assert words_of("word " * 600) == (("word",) * MAX_WORDS, 600)
    assert words_of("word " * 512) == (("word",) * 512, 512)
    assert words_of("one two") == (("one", "two"), 2)


@pytest.mark.parametrize("text", ["", " \n\t\u3000"])
def test_a_text_without_words_is_refused_with_a_request_for_one(text: str) -> None:
    with pytest.raises(NothingYetError, match=r"^Nothing to show yet: type a sentence of at least one word\.$"):
        words_of(text)


@given(st.lists(words, min_size=1, max_size=10), st.integers(1, 70), seeds)
def test_only_content_columns_are_filled_and_only_with_plus_and_minus_1(
    tokens: list[str], d_model: int, seed: int
) -> None:
    x = embed(tuple(tokens), d_model, seed=seed)
    content = content_columns(d_model)

    assert (x.shape, x.dtype) == ((len(tokens), d_model), np.float32)
    assert not x[:, : content.start].any()
    np.testing.assert_array_equal(np.abs(x[:, content]), 1)


@given(words, st.lists(words, max_size=5), st.integers(1, 70), seeds)
def test_a_word_has_the_same_vector_at_every_place_in_every_run(
    word: str, others: list[str], d_model: int, seed: int
) -> None:
    alone = embed((word,), d_model)[0]

    np.testing.assert_array_equal(embed((*others, word), d_model, seed=seed)[-1], alone)
    np.testing.assert_array_equal(embed((word, *others), d_model)[0], alone)


def test_upper_and_lower_case_share_a_vector_and_different_words_do_not() -> None:
    x = embed(("The", "the", "THE", "cat", "straße", "STRASSE"), 64)

    np.testing.assert_array_equal(x[0], x[1])
    np.testing.assert_array_equal(x[0], x[2])
    np.testing.assert_array_equal(x[4], x[5])
    assert not np.array_equal(x[0], x[3])


def test_the_vector_of_a_word_is_the_same_in_every_version() -> None:
    signs = "".join("+" if sign > 0 else "-" for sign in embed(("cat",), 32)[0, 16:])

    assert signs == "---+--+-++++++--"


def test_different_words_are_about_as_often_alike_as_coins_are() -> None:
    x = embed(tuple(f"word{i}" for i in range(200)), 128)
    cosine = x @ x.T / 64

    assert np.diagonal(cosine).tolist() == [1.0] * 200
    off_diagonal = cosine[~np.eye(200, dtype=bool)]
    assert abs(off_diagonal.mean()) < 0.01
    assert off_diagonal.std() == pytest.approx(1 / np.sqrt(64), rel=0.05)


def test_vectors_are_drawn_from_the_seed_for_each_place_whatever_the_words() -> None:
    x = embed(("a", "a", "b"), 64, content="vectors", seed=7)

    assert not np.array_equal(x[0], x[1])
    np.testing.assert_array_equal(embed(("x", "y", "z"), 64, content="vectors", seed=7), x)
    np.testing.assert_array_equal(embed(("a", "a"), 64, content="vectors", seed=7), x[:2])
    assert not np.array_equal(embed(("a", "a", "b"), 64, content="vectors", seed=8), x)
    assert embed(("a",) * 500, 64, content="vectors")[:, 32:].std() == pytest.approx(1, abs=0.02)
