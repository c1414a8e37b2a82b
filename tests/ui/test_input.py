"""What a page makes of odd input, broken rules and hostile links."""

from __future__ import annotations

import pytest

from attnviz.core.config import divisors
from attnviz.core.text import MAX_WORDS
from attnviz.numbers import THIN_SPACE, counted
from tests.ui.conftest import PAGES, Opener, errors, hints, link_of, ran, toasts
from tests.ui.drawn import pictures, sentences, table_rows

every_page = pytest.mark.parametrize("page_name", PAGES)
TEXTS: dict[str, list[str]] = {
    "word": ["word"],
    "<script>alert(1)</script>": ["<", "script", ">", "alert", "(", "1", ")", "<", "/", "script", ">"],
    "שלום עולם": ["שלום", "עולם"],
    "🙂 👩\u200d💻": ["🙂", "👩\u200d💻"],
    "a\x07b": ["a", "\\x07", "b"],
    "\u202ea \x1b[0m": ["\\u202e", "a", "\\x1b", "[", "0m"],
    "$x$ *d*": ["$", "x", "$", "*", "d", "*"],
    "1 2 3 2024": ["1", "2", "3", "2024"],
}


@every_page
def test_a_page_shows_any_text_literally(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name)

    for text, tokens in TEXTS.items():
        ran(app.text_area(key="text").set_value(text).run())

        assert errors(app) == []
        assert link_of(app)["text"] == text
        assert f"over {counted(len(tokens), 'token')}" in sentences(app)
        if "pattern" in pictures(app):
            assert pictures(app)["pattern"].figure["layout"]["meta"]["cells"]["rows"] == tokens


@every_page
def test_a_text_without_a_word_is_asked_for_in_one_sentence_with_the_settings_kept(
    page_name: str, open_page: Opener
) -> None:
    app = open_page(page_name, {"n_heads": "4"})

    for text in ("", "   ", "\n\t"):
        ran(app.text_area(key="text").set_value(text).run())

        assert errors(app) == []
        assert hints(app) == ["Nothing to show yet: type a sentence of at least one word."]
        assert app.main.markdown[0].value.startswith("# ")
        assert app.selectbox(key="n_heads").value == 4
        assert link_of(app) == {"text": text, "n_heads": "4"}
    ran(app.text_area(key="text").set_value("now there are five words").run())
    assert (errors(app), hints(app)) == ([], [])


@every_page
def test_of_5000_words_the_first_512_are_used_and_that_is_said(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name, {"text": "w " * 5000, "d_model": "8", "n_heads": "1"})

    assert f"The text has 5{THIN_SPACE}000 words; only the first {MAX_WORDS} are used." in sentences(app)
    assert f"over {MAX_WORDS} tokens" in sentences(app)


@every_page
def test_rotary_positions_refuse_an_odd_d_head_in_words_and_keep_the_page(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name, {"d_model": "12", "n_heads": "4", "position": "rotary"})

    assert len(errors(app)) == 1
    assert "even" in errors(app)[0]
    assert "3" in errors(app)[0]
    assert app.selectbox(key="position").value == "rotary"
    ran(app.selectbox(key="n_heads").select(6).run())
    assert errors(app) == []


@every_page
def test_too_many_weights_are_refused_before_they_are_computed(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name, {"input": "vectors", "n_tokens": "32768", "n_heads": "32"})

    assert errors(app) == [
        "`n_heads` times the square of the length must be at most 8,589,934,592 weights; "
        "got n_heads=32, n_tokens=32768. Try 8 heads or fewer, or a shorter length."
    ]


def test_sharpness_0_makes_every_head_uniform(open_page: Opener) -> None:
    app = open_page("playground")

    ran(app.slider(key="sharpness").set_value(0.0).run())

    assert link_of(app) == {"sharpness": "0.0"}
    headings, *rows = table_rows(app)
    entropy = headings.index("Entropy (bits)")
    assert {(row[entropy], row[entropy + 1]) for row in rows} == {("3.46", "3.46")}
    assert "nearly the same map: cosine 1.00" in pictures(app)["redundancy"].header["answer"]


@every_page
def test_a_mask_that_allows_nothing_is_said_and_drawn(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name, {"padding": "padding_left", "padding.padded": "64"})

    assert errors(app) == []
    found = pictures(app)
    if "pattern" in found:
        assert (found["pattern"].trace()["z"] < 0).all()
        assert found["pattern"].header["answer"] == "The mask allows no pair: every weight is 0."
    if "distance" in found:
        assert found["distance"].header["answer"] == "No query has a key it may attend to."


@every_page
def test_one_token_is_not_announced_as_heads_that_do_the_same(page_name: str, open_page: Opener) -> None:
    found = pictures(open_page(page_name, {"text": "alone"}))

    if "redundancy" in found:
        assert found["redundancy"].header["answer"] == (
            "With one token every head has the same map: too short to tell heads apart."
        )


def test_the_heads_offered_are_those_that_divide_the_width_and_follow_it(open_app: Opener) -> None:
    app = open_app(page="heads")

    for width, heads in ((12, 6), (32, 4), (2, 2), (64, 2)):
        ran(app.selectbox(key="d_model").select(width).run())
        assert app.selectbox(key="n_heads").options == [str(number) for number in divisors(width)]
        assert app.selectbox(key="n_heads").value == heads
        assert errors(app) == []


def test_a_link_with_heads_that_do_not_divide_the_width_opens_and_says_so(open_app: Opener) -> None:
    app = open_app({"n_heads": "3", "d_model": "32", "seed": "7"}, page="heads")

    assert len(toasts(app)) == 1
    assert toasts(app)[0].endswith(
        "`n_heads` must divide `d_model`; got n_heads=3, d_model=32. Try 1, 2, 4, 8, 16 or 32. Shown with n_heads=2."
    )
    assert link_of(app) == {"d_model": "32", "n_heads": "2", "seed": "7"}
    ran(app.run())
    assert toasts(app) == [], "said once"


@every_page
def test_a_hostile_link_opens_and_everything_ignored_is_named_once_and_literally(
    page_name: str, open_page: Opener
) -> None:
    link = {
        "<script>x</script>": "1",
        "mask": "<b>bold</b>",
        "d_model": "9" * 400,
        "sharpness": "nan",
        "seed": "$x$",
        "layer.x": "1",
        "text": "to be or not to be",
    }

    app = open_page(page_name, link)

    assert len(toasts(app)) == 1
    for part in (
        "<script>x</script> is not a setting",
        "<b>bold</b>",
        "`d_model`",
        "sharpness=nan",
        "seed=$x$",
        "`layer`",
    ):
        assert part in toasts(app)[0]
    raw = app.toast[0].value
    assert not set("<>$") & set(raw)
    assert link_of(app) == {"text": "to be or not to be"}
    assert errors(app) == []
