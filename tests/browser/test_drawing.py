"""A mask drawn by clicks in the real browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import drawn, drawn_again, settled

pytestmark = pytest.mark.browser
PICTURE = "[data-figure='mask_picture']"


def click_cell(page: Page, row: int, column: int, side: int) -> None:
    """Click a cell of the mask and wait for the picture that answers."""
    box = page.locator(f"{PICTURE} .nsewdrag").bounding_box()
    assert box is not None
    before = drawn(page, "mask_picture")
    page.mouse.click(box["x"] + (column + 0.5) * box["width"] / side, box["y"] + (row + 0.5) * box["height"] / side)
    drawn_again(page, "mask_picture", before)
    settled(page)


def forbidden(page: Page) -> list[list[int]]:
    """Row and column of every cell that is drawn as forbidden."""
    return page.locator(f"{PICTURE} .av-plot").evaluate(
        "plot => plot.data[0].z.flatMap((row, q) => [...row].flatMap((value, k) => (value < 0 ? [[q, k]] : [])))"
    )


def test_cells_and_lines_are_switched_by_clicks_undone_and_kept_in_the_link(
    server: str, open_page: Callable[..., Page]
) -> None:
    open_page(server)  # the first visit to a server runs a page by itself, and the next change draws it anew
    page = open_page(f"{server}/masks?text=a+b+c+d+e")
    before = drawn(page, "mask_picture")
    page.get_by_role("button", name="Draw on this mask").click()
    drawn_again(page, "mask_picture", before)
    settled(page)
    assert forbidden(page) == []

    click_cell(page, 1, 3, 5)
    assert forbidden(page) == [[1, 3]]
    expect(page.locator(f"{PICTURE} .av-tip")).to_contain_text("forbidden by the mask")
    expect(page.locator(f"{PICTURE} .av-answer")).to_contain_text("24 of 25 pairs are allowed")

    page.get_by_role("radio", name="Column").click()
    settled(page)
    click_cell(page, 0, 4, 5)
    assert forbidden(page) == [[0, 4], [1, 3], [1, 4], [2, 4], [3, 4], [4, 4]]

    address = page.url
    assert "mask=drawn" in address
    again = open_page(address)
    assert forbidden(again) == [[0, 4], [1, 3], [1, 4], [2, 4], [3, 4], [4, 4]]

    before = drawn(page, "mask_picture")
    page.get_by_role("button", name="Undo").click()
    drawn_again(page, "mask_picture", before)
    settled(page)
    assert forbidden(page) == [[1, 3]]
