"""Tokens as they are shown: every character visible, none of them markup."""

from __future__ import annotations

import html
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.figures.labels import LONGEST, escaped, short, tick, token_axis, visible
from tests.figures.traces import NASTY

any_text = st.text(max_size=30) | st.sampled_from(NASTY)


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("", "∅"),
        (" ", "␣"),
        ("\n", "\\n"),
        ("\t", "\\t"),
        ("\r", "\\r"),
        ("\u00a0", "␣"),
        ("\x00", "\\x00"),
        ("\u202e", "\\u202e"),
        ("\u2028", "\\u2028"),
        ("\ud83d", "\\ud83d"),
        ("Ġthe", "Ġthe"),
        ("▁the", "▁the"),
        ("日本", "日本"),
        ("🙂", "🙂"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("שלום", "שלום"),
        ("<s>", "<s>"),
    ],
)
def test_a_token_is_shown_with_its_blanks_and_control_characters_written_out(token: str, shown: str) -> None:
    assert visible(token) == shown


@given(any_text)
def test_nothing_of_a_token_is_invisible(token: str) -> None:
    shown = visible(token)

    assert shown
    for character in shown:
        assert not character.isspace()
        assert character in "\u200c\u200d" or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    shown.encode("utf-8")


@given(any_text)
def test_escaped_text_holds_no_markup_and_reads_as_the_text(text: str) -> None:
    made = escaped(text)

    assert not set("<>$") & set(made)
    assert re.sub(r"&(amp|lt|gt|#36);", "", made).count("&") == 0
    assert html.unescape(made) == text


@given(st.text("<>&$;abc#1lt", max_size=20))
def test_text_that_looks_like_an_entity_reads_as_itself(text: str) -> None:
    read = escaped(text)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&#36;", "$"), ("&amp;", "&")):
        read = read.replace(entity, character)

    assert read == text


@given(any_text)
def test_a_long_token_is_cut_before_it_is_escaped_so_that_no_entity_is_broken(token: str) -> None:
    assert len(short(token)) <= LONGEST
    assert tick(token) == escaped(short(token))
    if len(visible(token)) > LONGEST:
        assert short(token) == f"{visible(token)[: LONGEST - 1]}…"
    else:
        assert short(token) == visible(token)


def test_an_axis_of_tokens_is_linear_with_the_tokens_as_text_at_their_places() -> None:
    axis = token_axis(["1", "<s>", "1"], [0, 1, 2], {1: "⊘ "})

    assert axis == {"type": "linear", "tickmode": "array", "tickvals": [0, 1, 2], "ticktext": ["1", "⊘ &lt;s&gt;", "1"]}
