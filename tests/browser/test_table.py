"""The table of all measures in a real browser: a click on a heading sorts, and the link holds rows and order."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from attnviz.ui import head_table

pytestmark = pytest.mark.browser
PHONE = {"width": 390, "height": 844}


def click_value(page: Page) -> None:
    """Click on the heading of the values, left of the sign that opens its menu."""
    table = page.get_by_test_id("stDataFrame")
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    left = box["x"] + head_table.WIDTHS["head"] + head_table.WIDTHS["measure"]
    page.mouse.move(left + 20, box["y"] + 60)
    page.mouse.move(left + 20, box["y"] + 17)
    page.wait_for_timeout(300)
    page.mouse.click(left + 20, box["y"] + 17, delay=60)


def test_a_click_on_a_heading_sorts_and_a_new_browser_gets_the_same_table(
    server: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(f"{server}/heads?heads_view=table&table_heads=1,5", waits=False, **PHONE)
    cells = page.get_by_test_id("stDataFrame").locator("canvas")
    expect(cells.first).to_be_visible()

    for ending in ("sort_by=value&is_descending=1", "sort_by=value"):
        page.wait_for_timeout(800)
        click_value(page)
        expect(page).to_have_url(re.compile(rf"{re.escape(ending)}$"))

    other = open_page(page.url, waits=False)
    with other.expect_download() as waiting:
        other.get_by_role("button", name="Download CSV").click()
    path = tmp_path / "table.csv"
    waiting.value.save_as(path)
    frame = pd.read_csv(path)
    assert set(frame["head"]) == {1, 5}
    assert frame["value"].dropna().is_monotonic_increasing
    expect(other.get_by_text("Sorted by value, smallest first")).to_be_visible()


@pytest.mark.parametrize("column", ["measure", "value", "baseline", "unit", "role"])
def test_a_second_click_at_the_same_place_turns_the_order_round(
    column: str, server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/heads?heads_view=table", waits=False)
    table = page.get_by_test_id("stDataFrame")
    expect(table.locator("canvas").first).to_be_visible()
    page.wait_for_timeout(800)
    table.scroll_into_view_if_needed()
    box = table.bounding_box()
    assert box is not None
    spare = (box["width"] - sum(head_table.WIDTHS.values())) / len(head_table.WIDTHS)
    before = list(head_table.WIDTHS)[: list(head_table.WIDTHS).index(column)]
    place = box["x"] + sum(head_table.WIDTHS[name] + spare for name in before) + 20, box["y"] + 17
    largest_first = column in ("value", "baseline")

    page.mouse.move(*place)
    for is_descending in (largest_first, not largest_first, largest_first):
        page.wait_for_timeout(800)
        page.mouse.click(*place, delay=60)
        ending = f"sort_by={column}" + ("&is_descending=1" if is_descending else "")
        expect(page).to_have_url(re.compile(rf"{re.escape(ending)}$"))


def test_on_a_phone_head_measure_value_and_baseline_fit_beside_each_other(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/heads?heads_view=table", waits=False, **PHONE)

    box = page.get_by_test_id("stDataFrame").bounding_box()

    assert box is not None
    assert sum(head_table.WIDTHS[name] for name in head_table.ON_A_PHONE) < box["width"] <= PHONE["width"]
