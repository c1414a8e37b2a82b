"""Heads in a real browser: chosen by a click, switched off everywhere, taken home as files, found again by a link."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import drawn, drawn_again, settled

pytestmark = pytest.mark.browser


def figure(page: Page, name: str) -> Locator:
    return page.locator(f"[data-figure='{name}']")


def click_in(page: Page, name: str, row: float, column: float, rows: int, columns: int) -> None:
    """Click the middle of a cell of a heatmap that fills its plot."""
    plot = figure(page, name).locator(".av-plot .nsewdrag").first
    box = plot.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * (column + 0.5) / columns, box["y"] + box["height"] * (row + 0.5) / rows)


def test_a_click_on_what_a_head_does_chooses_the_head(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/heads?heads_view=roles")
    before = drawn(page, "role_map")

    click_in(page, "role_map", row=5, column=2, rows=8, columns=8)

    page.wait_for_url("**head=5*")
    drawn_again(page, "role_map", before)
    settled(page)
    expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("5 · uniform")


def test_a_click_on_the_roles_of_all_layers_chooses_layer_and_head(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/heads?heads_view=roles&input=trained&scope=all")
    before = drawn(page, "role_overview")
    expect(figure(page, "role_overview").locator(".av-legend")).to_contain_text("parking places")

    click_in(page, "role_overview", row=2, column=7, rows=6, columns=12)

    page.wait_for_url("**layer=2*")
    drawn_again(page, "role_overview", before)
    settled(page)
    assert "head=7" in page.url
    expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("7 · sink")
    with page.expect_download() as waiting:
        figure(page, "role_overview").get_by_role("button", name="numbers").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))
    assert [row["role"] for row in rows[2:4]] == ["previous token", "broad"]
    assert (rows[31]["row_label"], rows[31]["column_label"], rows[31]["role"]) == ("layer 2", "head 7", "sink")


def test_a_click_on_the_rank_of_a_head_chooses_it(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/heads?heads_view=rank")
    before = drawn(page, "ranks_of_heads")

    point = figure(page, "ranks_of_heads").locator(".scatterlayer .trace").last.locator(".point").nth(2).bounding_box()
    assert point is not None
    page.mouse.click(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)

    page.wait_for_url("**head=2*")
    drawn_again(page, "ranks_of_heads", before)
    settled(page)


def test_a_head_switched_off_is_off_on_every_page_and_in_a_new_browser(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(server)
    off = "sinusoidal positions, head 1 off"
    expect(page.get_by_text(off)).to_have_count(0)
    page.get_by_role("button", name="1", exact=True).click()
    page.wait_for_url("**removed=1*")
    settled(page)
    for name in ("Heads", "Step by step", "Playground"):
        page.get_by_role("link", name=name).click()
        settled(page)
        assert "removed=1" in page.url
        expect(page.get_by_text(off)).to_be_visible()

    expect(page.get_by_text("Without it the output changes by 45.7")).to_be_visible()

    again = open_page(page.url)

    expect(again.get_by_text(off)).to_be_visible()


def test_the_table_of_all_measures_is_taken_home_as_csv_and_parquet(
    server: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(f"{server}/heads?heads_view=table", waits=False)
    frames = []
    for ending in ("CSV", "Parquet"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Download {ending}").click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        frames.append(pd.read_csv(path) if ending == "CSV" else pd.read_parquet(path))

    assert list(frames[0].columns[:7]) == ["layer", "head", "role", "measure", "value", "baseline", "unit"]
    assert len(frames[0]) == len(frames[1]) > 8 * 10
    pd.testing.assert_series_equal(frames[0]["value"], frames[1]["value"])


def test_the_matrix_of_heads_is_taken_home_as_picture_drawing_and_numbers(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/heads?{urlencode({'similarity': 'js_divergence'})}")
    starts = {"PNG": b"\x89PNG", "SVG": b"<svg"}
    name = page.locator("[data-figure]").first.get_attribute("data-figure")
    assert name is not None
    for kind, start in starts.items():
        with page.expect_download() as waiting:
            figure(page, name).get_by_role("button", name=kind).click()
        assert waiting.value.path().read_bytes().startswith(start)
    with page.expect_download() as waiting:
        figure(page, name).get_by_role("button", name="numbers").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text(encoding="utf-8"))))
    assert len(rows) >= 64


def test_a_click_on_a_token_chooses_the_query_whose_lines_are_strong(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/heads?heads_view=layers&query=4")
    before = drawn(page, "attention_lines")

    click_in(page, "attention_lines", row=7, column=0, rows=11, columns=60)

    page.wait_for_url("**query=7*")
    drawn_again(page, "attention_lines", before)
    expect(figure(page, "attention_lines").locator(".av-answer")).to_contain_text("query 7 “it”")


def test_switches_show_what_is_off_after_a_change_of_page(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/heads?heads_view=removal&removed=3")
    page.get_by_role("link", name="Playground").click()
    settled(page)

    page.get_by_role("button", name="5", exact=True).click()

    page.wait_for_url("**removed=3*5*")
    expect(page.get_by_text("heads 3 and 5 off")).to_be_visible()


def test_a_click_on_the_bar_of_a_head_or_on_the_point_where_it_went_chooses_it(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/heads?heads_view=removal&head=2")
    before = drawn(page, "removal_bars")

    click_in(page, "removal_bars", row=5, column=2, rows=8, columns=20)

    page.wait_for_url("**head=5*")
    drawn_again(page, "removal_bars", before)
    settled(page)
    before = drawn(page, "removal_bars")

    click_in(page, "pruning_lines", row=0.5, column=7.8, rows=21, columns=8.6)

    page.wait_for_url("**head=1*")
    drawn_again(page, "removal_bars", before)
    expect(page.get_by_role("combobox", name="Head", exact=True)).to_have_value("1 · previous token")
