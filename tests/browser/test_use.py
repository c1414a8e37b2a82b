"""The app used as a stranger would: small screens, the keyboard, odd input."""

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settled

pytestmark = pytest.mark.browser
SIZES = [(1440, 900), (1024, 768), (390, 844)]


@pytest.mark.parametrize("path", ["/", "/heads"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_nothing_is_wider_than_the_screen(
    server: str, open_page: Callable[..., Page], path: str, width: int, height: int
) -> None:
    page = open_page(f"{server}{path}?mask=causal&n_heads=16", width=width, height=height)
    main = page.get_by_test_id("stMain")
    assert main.evaluate("node => node.scrollWidth <= node.clientWidth")
    too_wide = page.locator(".av-figure").evaluate_all(
        "nodes => nodes.filter(node => node.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert too_wide == 0


def test_row_labels_do_not_run_into_the_axis_title(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/?{urlencode({'text': 'internationalisation of incomprehensibilities matters'})}")
    overlap = page.locator("[data-figure='pattern']").evaluate(
        """node => {
            const title = node.querySelector('.av-title-y').getBoundingClientRect();
            const texts = [...node.querySelectorAll('.av-row')].map(row => {
                const range = document.createRange();
                range.selectNodeContents(row);
                return range.getBoundingClientRect().left;
            });
            return Math.min(...texts) < title.right;
        }"""
    )
    assert not overlap


def test_heads_query_and_key_can_be_chosen_with_the_keyboard(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    page.get_by_role("combobox", name="Head", exact=False).last.focus()
    page.keyboard.type("3 · first")
    page.keyboard.press("Enter")
    page.wait_for_url("**head=3*")
    settled(page)
    expect(page.locator("[data-figure='pattern'] h3")).to_have_text("Which keys does head 3 (first token) look at?")


def test_a_sharper_softmax_moves_the_picture(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/?sharpness=0.0")
    expect(page.get_by_text("0 of 8 heads give at least half")).to_be_visible()
    page.get_by_role("slider", name="Sharpness").focus()
    page.keyboard.press("End")
    page.wait_for_url("**sharpness=8*")
    expect(page.get_by_text("7 of 8 heads give at least half")).to_be_visible()


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_sentence_asks_for_words_and_keeps_the_settings(
    server: str, open_page: Callable[..., Page], text: str
) -> None:
    page = open_page(f"{server}/?{urlencode({'text': text, 'n_heads': '4'})}", waits=False)
    said = page.get_by_role("main").get_by_role("status")
    expect(said).to_have_text("Nothing to show yet: type a sentence of at least one word.")
    page.get_by_role("textbox", name="Sentence").fill("hello there")
    page.keyboard.press("Control+Enter")
    settled(page)
    expect(page.get_by_text("4 heads of 16 dimensions over 2 tokens")).to_be_visible()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("word", 1),
        ("\u0007bell \u0000 nul", 4),
        ("שלום עולם", 2),
        ("🙂 👩‍👩‍👧 ok", 3),
        ("<script>alert(1)</script>", 11),
    ],
)
def test_odd_text_gives_a_clear_page(server: str, open_page: Callable[..., Page], text: str, words: int) -> None:
    page = open_page(f"{server}/?{urlencode({'text': text})}")
    expect(page.get_by_text(f"over {words} token")).to_be_visible()


def test_a_text_of_five_thousand_words_is_cut_and_said_so(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    page.get_by_role("textbox", name="Sentence").fill("la " * 5000)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("only the first 512 are used")).to_be_visible()


@pytest.mark.model
def test_trained_heads_read_the_sentence(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    page.get_by_role("radio", name="Trained").click()
    page.wait_for_url("**input=trained*")
    settled(page)
    expect(page.get_by_text("Layer 0 of all-MiniLM-L6-v2: 12 heads of 32 dimensions over 13 tokens")).to_be_visible()
    expect(page.get_by_role("combobox", name="d_model")).to_be_disabled()


def test_the_pickers_follow_a_text_of_as_many_other_words(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    page.get_by_role("textbox", name="Sentence").fill("Dogs bark and the dogs run because they are glad now")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("What does query 4 “dogs” look at?")).to_be_visible()
    settled(page)
    expect(page.get_by_role("combobox", name="Query (row)")).to_have_value("4 dogs")
    expect(page.get_by_role("combobox", name="Key (column)")).to_have_value("0 Dogs")
