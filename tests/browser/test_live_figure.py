"""The live figure in a real browser: hover, click, zoom, downloads, theme, fallback."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import drawn, drawn_again, settled

pytestmark = pytest.mark.browser


def figure(page: Page, name: str) -> Locator:
    return page.locator(f"[data-figure='{name}']")


def cell(page: Page, name: str, row: int, column: int, rows: int, columns: int) -> tuple[float, float]:
    """Place on the page of a cell of a square map, from the plot's own drawing area."""
    box = figure(page, name).locator(".nsewdrag").bounding_box()
    assert box is not None
    return box["x"] + (column + 0.5) * box["width"] / columns, box["y"] + (row + 0.5) * box["height"] / rows


def row_labels(page: Page, name: str) -> list[str]:
    return figure(page, name).locator(".av-row").all_text_contents()


def test_repeated_words_keep_their_rows_and_the_cell_under_the_pointer_is_named(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(f"{server}/?{urlencode({'text': 'the cat sat on the mat'})}")
    assert row_labels(page, "pattern") == ["the", "cat", "sat", "on", "the", "mat"]
    page.mouse.move(*cell(page, "pattern", 4, 0, 6, 6))
    tip = figure(page, "pattern").locator(".av-tip")
    expect(tip).to_contain_text("query 4 the")
    expect(tip).to_contain_text("key 0 the")
    expect(tip).to_contain_text(re.compile(r"weight 0\.[45]\d+"))


def test_number_and_date_like_tokens_are_labels_in_their_order(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/?{urlencode({'text': '1 2 3 + 20240101 2 1'})}")
    assert row_labels(page, "pattern") == ["1", "2", "3", "+", "20240101", "2", "1"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("<s> a<b", ["<", "s", ">", "a", "<", "b"]),
        ("$x$ &amp; #", ["$", "x", "$", "&", "amp", ";", "#"]),
        ("Ġthe ▁the 日本 🙂 שלום", ["Ġthe", "▁", "the", "日本", "🙂", "שלום"]),
        ("<script>document.title='run'</script>", None),
        ("<img src=x onerror=document.title='run'>", None),
    ],
)
def test_markup_in_tokens_is_shown_literally_and_never_runs(
    server: str, open_page: Callable[..., Page], text: str, tokens: list[str] | None
) -> None:
    page = open_page(f"{server}/?{urlencode({'text': text})}")
    if tokens:
        assert row_labels(page, "pattern") == tokens
    assert page.title() != "run"
    assert page.locator(".av-figure script, .av-figure img, .MathJax, mjx-container").count() == 0


def test_a_click_in_the_grid_chooses_the_head_and_a_click_on_a_cell_its_query_and_key(
    server: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(server)
    before = drawn(page, "pattern")
    box = figure(page, "grid").locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 3.5 / 8, box["y"] + box["height"] * 0.6)
    expect(figure(page, "pattern").locator("h3")).to_have_text("Which keys does head 3 (first token) look at?")
    page.wait_for_url("**head=3*")
    drawn_again(page, "pattern", before)

    page.mouse.click(*cell(page, "pattern", 2, 0, 11, 11))
    expect(figure(page, "query_row").locator("h3")).to_have_text("What does query 2 “sat” look at?")
    expect(figure(page, "query_row").locator(".av-answer")).to_contain_text("to key 0 “The”: rank 1 of 11 allowed keys")
    page.wait_for_url("**query=2*")


def test_a_zoom_survives_a_change_of_the_data(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    assert len(row_labels(page, "pattern")) == 11
    x0, y0 = cell(page, "pattern", 2, 2, 11, 11)
    x1, y1 = cell(page, "pattern", 6, 6, 11, 11)
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move(x1, y1, steps=8)
    page.mouse.up()
    expect(figure(page, "pattern").locator(".av-row")).not_to_have_count(11)
    zoomed = row_labels(page, "pattern")
    before = drawn(page, "pattern")
    page.get_by_role("radio", name="Random").click()
    drawn_again(page, "pattern", before)
    settled(page)
    assert row_labels(page, "pattern") == zoomed
    figure(page, "pattern").get_by_role("button", name="Show the whole picture again").click()
    expect(figure(page, "pattern").locator(".av-row")).to_have_count(11)


def test_zooming_into_a_long_map_shows_every_weight(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/?{urlencode({'input': 'vectors', 'n_tokens': '600', 'head': '1'})}")
    page.mouse.move(*cell(page, "pattern", 301, 300, 600, 600))
    tip = figure(page, "pattern").locator(".av-tip")
    expect(tip).to_contain_text("largest weight")
    x0, y0 = cell(page, "pattern", 250, 250, 600, 600)
    x1, y1 = cell(page, "pattern", 350, 350, 600, 600)
    page.mouse.move(x0, y0)
    page.mouse.down()
    page.mouse.move(x1, y1, steps=8)
    page.mouse.up()
    expect(figure(page, "pattern").locator(".av-caption")).not_to_contain_text("largest of its block")
    settled(page)
    box = figure(page, "pattern").locator(".nsewdrag").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(tip).to_be_visible()
    expect(tip).not_to_contain_text("largest weight")


@pytest.mark.parametrize(
    ("button", "ending"), [("PNG picture", "png"), ("SVG drawing", "svg"), ("page that works", "html")]
)
def test_a_figure_is_downloaded_as_a_file_of_its_kind(
    server: str, open_page: Callable[..., Page], button: str, ending: str, tmp_path: Path
) -> None:
    page = open_page(server)
    with page.expect_download() as waiting:
        figure(page, "pattern").get_by_role("button", name=button).click()
    assert waiting.value.suggested_filename == f"attnviz-pattern.{ending}"
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    content = path.read_bytes()
    if ending == "png":
        assert content.startswith(b"\x89PNG")
    elif ending == "svg":
        drawing = content.decode()
        assert drawing.startswith("<svg")
        assert all(word in drawing for word in ("query (row)", "key (column)", "because"))
    else:
        offline = page.context.new_page()
        offline.route(
            "**/*", lambda route: route.abort() if route.request.url.startswith("http") else route.continue_()
        )
        offline.goto(path.as_uri())
        expect(offline.locator("#figure .heatmaplayer image")).to_have_count(1)


def test_the_numbers_of_a_figure_are_downloaded_as_a_table(
    server: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(f"{server}/?{urlencode({'text': 'the cat', 'mask': 'causal'})}")
    with page.expect_download() as waiting:
        figure(page, "pattern").get_by_role("button", name="numbers").click()
    path = tmp_path / "numbers.csv"
    waiting.value.save_as(path)
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert [(row["query"], row["query_label"], row["key"], row["allowed"]) for row in rows] == [
        ("0", "the", "0", "1"),
        ("0", "the", "1", "0"),
        ("1", "cat", "0", "1"),
        ("1", "cat", "1", "1"),
    ]
    assert float(rows[0]["weight"]) == 1
    assert float(rows[1]["weight"]) == 0
    assert float(rows[2]["weight"]) + float(rows[3]["weight"]) == pytest.approx(1, abs=1e-6)


def test_the_picture_follows_the_dark_theme(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{server}/?mask=causal", dark=True)
    patch = figure(page, "grid").locator(".av-patch")
    assert patch.evaluate("node => getComputedStyle(node).backgroundColor") == "rgb(55, 50, 43)"


def test_every_picture_has_an_alternative_text(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page(server)
    for name in ("grid", "pattern", "query_row"):
        text = figure(page, name).locator(".av-plot").get_attribute("aria-label")
        assert text is not None
        assert len(text) > 40


def test_without_plotly_js_a_plain_chart_is_shown(server: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank", waits=False, calm=False)
    page.context.route("**/component/**/plotly.min.js*", lambda route: route.abort())
    page.goto(server)
    expect(page.get_by_test_id("stPlotlyChart").first).to_be_visible()
