"""A mask chosen from the gallery in the real browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import drawn, drawn_again, settled

pytestmark = pytest.mark.browser
GALLERY = "[data-figure='gallery']"


def test_a_click_on_a_mask_of_the_gallery_puts_it_on_screen_and_into_the_link(
    server: str, open_page: Callable[..., Page]
) -> None:
    open_page(server)  # the first visit to a server runs a page by itself, and the next change draws it anew
    page = open_page(f"{server}/masks?text=a+b+c+d+e")
    page.locator(GALLERY).scroll_into_view_if_needed()
    drawn(page, "gallery")
    title = page.locator(f"{GALLERY} .av-text", has_text="Sliding window")
    expect(title).to_be_visible()
    title.scroll_into_view_if_needed()
    box = title.bounding_box()
    assert box is not None

    place = (box["x"] + 30, box["y"] + box["height"] + 30)
    page.mouse.move(*place)
    expect(page.locator(f"{GALLERY} .av-tip")).to_contain_text("Sparsity: Sliding window")
    before = drawn(page, "mask_picture")
    page.mouse.click(*place)
    drawn_again(page, "mask_picture", before)
    settled(page)

    assert page.url.endswith("sparsity=sliding_window")
    answer = page.locator("[data-figure='mask_picture'] .av-answer")
    expect(answer).to_contain_text("23 of 25 pairs are allowed")
    assert page.locator(f"{GALLERY} .av-text").count() >= 20
