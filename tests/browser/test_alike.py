"""The Alike view in a real browser: a pair is chosen by a click, and no name lies on another."""

from collections.abc import Callable
from itertools import combinations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import drawn, drawn_again, settled

pytestmark = pytest.mark.browser
SIZES = [(1440, 900), (1024, 768), (390, 844)]


def figure(page: Page, name: str) -> Locator:
    found = page.locator(f"[data-figure='{name}']")
    found.scroll_into_view_if_needed()
    found.locator("[data-drawn]").wait_for()
    return found


def test_a_click_on_a_pair_compares_its_two_heads(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/heads")
    pairs = figure(page, "pair_map")
    settled(page)
    before = drawn(page, "pair_map")

    dots = pairs.locator(".scatterlayer .trace").nth(1).locator(".point")
    assert dots.count() == 21, "head 5 writes the same for every query"
    marked = pairs.locator(".scatterlayer .trace").nth(3).locator(".point").first.bounding_box()
    assert marked is not None
    page.mouse.move(marked["x"] + marked["width"] / 2, marked["y"] + marked["height"] / 2)
    expect(pairs.locator(".hoverlayer")).to_contain_text("heads 1 and 3")
    page.mouse.click(marked["x"] + marked["width"] / 2, marked["y"] + marked["height"] / 2)

    page.wait_for_url("**other=3*")
    drawn_again(page, "pair_map", before)
    settled(page)
    assert "head=1" in page.url
    title = page.locator("[data-figure='difference'] h3")
    expect(title).to_have_text("What does head 1 do differently from head 3?")


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("link", ["", "n_heads=16", "input=trained&scope=all"])
def test_no_name_of_a_picture_lies_on_another_or_is_cut_off(
    link: str, width: int, height: int, server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/heads?{link}", width=width, height=height)

    for name in ("alike_matrix", "head_map", "pair_map"):
        shown = figure(page, name)
        settled(page)
        around = shown.bounding_box()
        boxes = [one.bounding_box() for one in shown.locator(".av-text").all()]
        assert around is not None
        assert boxes, name
        for box in boxes:
            assert box is not None
            assert around["x"] <= box["x"]
            assert box["x"] + box["width"] <= around["x"] + around["width"] + 1, name
        for one, other in combinations(boxes, 2):
            assert one is not None
            assert other is not None
            across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
            down = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
            assert across <= 1 or down <= 3, name
