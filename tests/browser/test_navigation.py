"""Links, pages, back and reload in a real browser."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settled

pytestmark = pytest.mark.browser
SETTING = {"n_heads": "4", "mask": "causal", "position": "rotary", "text": "one two three four five"}


def link_of(page: Page) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(urlsplit(page.url).query).items()}


def path_of(page: Page) -> str:
    return urlsplit(page.url).path


def test_a_cold_deep_link_opens_its_page_with_its_settings_and_the_menu(
    fresh_server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{fresh_server}/heads?{urlencode(SETTING)}")
    expect(page.get_by_role("heading", level=1)).to_have_text("Heads")
    expect(
        page.get_by_text("4 heads of 16 dimensions over 5 tokens, causal mask, rotary (RoPE) positions")
    ).to_be_visible()
    expect(page.get_by_test_id("stPageLink")).to_contain_text(["Playground", "Heads"])
    assert link_of(page) == SETTING


def test_page_switch_back_forward_and_reload_keep_the_scenario(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/?{urlencode(SETTING)}")
    sentence = "4 heads of 16 dimensions over 5 tokens, causal mask, rotary (RoPE) positions"

    page.get_by_test_id("stPageLink").filter(has_text="Heads").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Heads")
    settled(page)
    expect(page.get_by_text(sentence)).to_be_visible()
    assert (path_of(page), link_of(page)) == ("/heads", SETTING)

    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Playground")
    settled(page)
    expect(page.get_by_text(sentence)).to_be_visible()
    assert (path_of(page), link_of(page)) == ("/", SETTING)

    page.go_forward()
    expect(page.get_by_role("heading", level=1)).to_have_text("Heads")
    page.reload()
    settled(page)
    expect(page.get_by_text(sentence)).to_be_visible()
    assert (path_of(page), link_of(page)) == ("/heads", SETTING)


def test_a_query_chosen_on_one_page_is_chosen_in_a_view_of_another_that_is_opened_later(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/?query=7")

    page.get_by_test_id("stPageLink").filter(has_text="Heads").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Heads")
    settled(page)
    page.get_by_text("Adaptive", exact=True).click()
    expect(page.locator("[data-figure=gate_map]")).to_be_visible()
    settled(page)

    assert link_of(page) == {"query": "7", "heads_view": "adaptive"}
    expect(page.get_by_text("Query 7 “it” uses")).to_be_visible()


def test_back_undoes_a_changed_setting(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    page.get_by_role("radio", name="Random").click()
    page.wait_for_url("**weights=random*")
    settled(page)
    page.go_back()
    expect(page.get_by_role("radio", name="Designed")).to_be_checked()
    settled(page)
    assert link_of(page) == {}


def test_a_hostile_link_opens_the_app_with_one_toast_naming_what_was_ignored(
    server: str, open_page: Callable[..., Page]
) -> None:
    hostile = {
        "n_heads": "3",
        "d_model": "32",
        "n_tokens": "9" * 400,
        "seed": "many",
        "mask": "<img src=x onerror=alert(1)>",
        "<script>": "alert(1)",
        "sparsity": "sliding_window",
        "sparsity.window": "1e99",
    }
    page = open_page(f"{server}/?{urlencode(hostile)}")
    toast = page.get_by_test_id("stToast")
    expect(toast).to_have_count(1)
    expect(toast).to_contain_text(
        "n_heads must divide d_model; got n_heads=3, d_model=32. Try 1, 2, 4, 8, 16 or 32. Shown with n_heads=2."
    )
    for word in ("n_tokens", "seed", "<img src=x onerror=alert(1)>", "<script>", "window"):
        expect(toast).to_contain_text(word)
    assert page.locator("img[src=x]").count() == 0
    expect(page.get_by_text("2 heads of 16 dimensions")).to_be_visible()
    assert link_of(page) == {"n_heads": "2", "d_model": "32", "sparsity": "sliding_window"}
