"""Another view of the weights in a real browser: the line on the picture, the cells' words, and the files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_live_figure import cell, figure

pytestmark = pytest.mark.browser
VIEW = {"text": "the cat sat", "mask": "causal", "hidden": "0", "row_scale": "1", "log_scale": "1"}
BADGE = "key 0 the hidden, rows renormalised · each row its own scale · log colours"


def test_a_view_is_named_on_its_pictures_and_its_cells_say_what_they_are(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/?{urlencode(VIEW)}")
    for name in ("grid", "pattern"):
        expect(figure(page, name).locator(".av-badge")).to_have_text(BADGE)
        assert figure(page, name).locator(".av-number").all_text_contents() == ["≤ 10⁻⁴", "0.001", "0.01", "0.1", "1"]
        patches = figure(page, name).locator(".av-patch")
        colours = [patch.evaluate("node => getComputedStyle(node).backgroundColor") for patch in patches.all()]
        assert colours == ["rgb(232, 228, 220)", "rgb(217, 191, 186)"], "forbidden, hidden"
    assert figure(page, "query_row").locator(".av-badge").count() == 0
    tip = figure(page, "pattern").locator(".av-tip")
    figure(page, "pattern").locator("figcaption").scroll_into_view_if_needed()
    page.mouse.move(*cell(page, "pattern", 2, 0, 3, 3))
    expect(tip).to_contain_text("this key is hidden")
    page.mouse.move(*cell(page, "pattern", 1, 2, 3, 3))
    expect(tip).to_contain_text("forbidden by the mask")
    page.mouse.move(*cell(page, "pattern", 1, 1, 3, 3))
    expect(tip).to_contain_text("renormalised weight 1")
    expect(tip).to_contain_text("weight over largest of row 1")


@pytest.mark.parametrize(("button", "ending"), [("SVG drawing", "svg"), ("page that works", "html")])
def test_a_file_names_the_view_too(
    server: str, open_page: Callable[..., Page], button: str, ending: str, tmp_path: Path
) -> None:
    page = open_page(f"{server}/?{urlencode(VIEW)}")
    with page.expect_download() as waiting:
        figure(page, "grid").get_by_role("button", name=button).click()
    path = tmp_path / f"grid.{ending}"
    waiting.value.save_as(path)
    assert BADGE in path.read_text(encoding="utf-8")


def test_the_table_holds_the_numbers_drawn_and_which_keys_are_hidden(
    server: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(f"{server}/?{urlencode(VIEW)}")
    with page.expect_download() as waiting:
        figure(page, "pattern").get_by_role("button", name="numbers").click()
    path = tmp_path / "numbers.csv"
    waiting.value.save_as(path)
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert [row["hidden"] for row in rows] == ["1", "0", "0", "1", "0", "0", "1", "0", "0"]
    assert [row["allowed"] for row in rows] == ["1", "0", "0", "1", "1", "0", "1", "1", "1"]
    assert [row["renormalised_weight"] for row in rows[:6]] == ["", "0", "0", "", "1", "0"]
    last = rows[7:]
    assert sum(float(row["renormalised_weight"]) for row in last) == pytest.approx(1, abs=1e-6)
    assert max(float(row["weight_over_largest_of_row"]) for row in last) == pytest.approx(1, abs=1e-6)
