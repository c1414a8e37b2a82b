"""The arithmetic of one weight in the real browser: by click, by selector, stage by stage, by itself."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import drawn, drawn_again, settled

pytestmark = pytest.mark.browser
ROW = "[data-figure='query_row'] .av-answer"
STAGES = ["input", "projection", "dot", "scale", "mask", "softmax", "context", "output"]


def link_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def said(page: Page) -> str:
    """Everything that the page says of the stage: words, formulas, what is marked."""
    block = page.locator("[data-testid='stMarkdown']", has=page.locator(".katex")).first
    return f"{block.inner_text()} {page.locator('[data-figure=arrays] .av-answer').inner_text()}"


def click_cell(page: Page, figure: str, row: int, column: int, side: int) -> None:
    area = page.locator(f"[data-figure='{figure}'] .nsewdrag")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    before = drawn(page, figure)
    page.mouse.click(box["x"] + (column + 0.5) * box["width"] / side, box["y"] + (row + 0.5) * box["height"] / side)
    drawn_again(page, figure, before)
    settled(page)


def test_a_clicked_cell_and_the_same_cell_by_selector_open_the_same_arithmetic_with_the_same_link(
    server: str, open_page: Callable[..., Page]
) -> None:
    open_page(server)  # the first visit to a server runs a page by itself, and the next change draws it anew
    clicked = open_page(f"{server}/?head=4")
    click_cell(clicked, "pattern", 8, 7, 11)
    expect(clicked.locator(ROW)).to_contain_text("Its arithmetic: q·k")
    clicked.get_by_role("link", name="Every step of this number").click()
    clicked.locator("[data-figure='arrays'] [data-drawn]").wait_for()
    settled(clicked)

    chosen = open_page(f"{server}/step_by_step")
    choose(chosen, "Head", "4 · near neighbours")
    choose(chosen, "Query (row)", "8 was")
    choose(chosen, "Key (column)", "7 it")

    marked = "[data-figure='arrays'] .av-answer"
    expect(chosen.locator(marked)).to_have_text(clicked.locator(marked).inner_text())
    assert link_of(clicked) == link_of(chosen) == {"head": ["4"], "query": ["8"], "key": ["7"]}
    assert urlsplit(clicked.url).path == urlsplit(chosen.url).path == "/step_by_step"
    assert said(clicked) == said(chosen)


def test_a_click_on_a_picture_of_pairs_goes_to_the_arithmetic_of_that_pair(
    server: str, open_page: Callable[..., Page]
) -> None:
    open_page(server)
    page = open_page(f"{server}/step_by_step?stage=softmax")
    area = page.locator("[data-figure='arrays'] .nsewdrag")
    box = area.bounding_box()
    assert box is not None
    before = drawn(page, "arrays")
    page.mouse.click(box["x"] + 3, box["y"] + box["height"] - 3)
    drawn_again(page, "arrays", before)
    settled(page)

    assert link_of(page) == {"stage": ["softmax"], "query": ["10"]}


def test_a_stage_opens_cold_and_a_page_change_and_back_keeps_everything(
    fresh_server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{fresh_server}/step_by_step?head=4&query=8&key=7&stage=softmax&step_view=what_if")
    before = said(page)
    assert "How does a score become a weight?" in before

    page.get_by_role("link", name="Masks").click()
    page.locator("[data-figure='mask_picture'] [data-drawn]").wait_for()
    settled(page)
    assert link_of(page)["stage"] == ["softmax"]
    page.go_back()
    page.locator("[data-figure='arrays'] [data-drawn]").wait_for()
    settled(page)

    assert said(page) == before
    assert link_of(page) == {
        "head": ["4"],
        "query": ["8"],
        "key": ["7"],
        "stage": ["softmax"],
        "step_view": ["what_if"],
    }


def test_play_goes_to_the_last_stage_by_itself_and_stops_there(server: str, open_page: Callable[..., Page]) -> None:
    open_page(server)
    page = open_page(f"{server}/step_by_step?stage=context")
    page.wait_for_timeout(5000)
    assert link_of(page)["stage"] == ["context"], "nothing moves by itself"

    page.get_by_text("Play", exact=True).click()
    page.wait_for_url("**stage=output**", timeout=15_000)
    settled(page)

    expect(page.get_by_role("switch", name="Play")).not_to_be_checked()


def test_what_if_leaves_the_rest_of_the_page_alone(server: str, open_page: Callable[..., Page]) -> None:
    open_page(server)
    page = open_page(f"{server}/step_by_step?step_view=what_if&head=4")
    answer = page.locator("[data-figure='row_changed'] .av-answer")
    expect(answer).to_contain_text("Nothing changes")
    arrays, changed = drawn(page, "arrays"), drawn(page, "row_changed")

    page.get_by_text("Divide by √d_head", exact=True).click()
    drawn_again(page, "row_changed", changed)
    settled(page)

    expect(answer).to_contain_text("of the attention moves")
    assert drawn(page, "arrays") == arrays
