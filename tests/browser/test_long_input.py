"""Inputs whose maps are never held as a whole, in the real browser and on a server of their own."""

from collections.abc import Callable, Iterator

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import drawn, drawn_again, free_port, settled, start_server

pytestmark = pytest.mark.browser
ONE_GIGABYTE = 1 << 30
LINK = "/?input=vectors&n_tokens=32768"


@pytest.fixture(scope="module")
def measured_server() -> Iterator[tuple[str, psutil.Process]]:
    """Address and process of a server."""
    port = free_port()
    server = start_server(port)
    yield f"http://localhost:{port}", psutil.Process(server.pid)
    server.terminate()
    server.wait(timeout=20)


def test_long_work_shows_how_far_it_is_and_stops_when_a_control_is_changed(
    measured_server: tuple[str, psutil.Process], open_page: Callable[..., Page]
) -> None:
    address, process = measured_server
    page = open_page(f"{address}{LINK}", waits=False)
    bar = page.get_by_test_id("stProgress")
    expect(bar).to_contain_text("weights computed. Changing a control stops it.")
    assert process.memory_info().rss < ONE_GIGABYTE

    length = page.get_by_role("spinbutton", name="Length (tokens)")
    length.fill("64")
    length.press("Enter")

    expect(page.get_by_text("8 heads of 8 dimensions over 64 tokens")).to_be_visible()
    settled(page)
    expect(bar).to_have_count(0)
    process.cpu_percent()
    page.wait_for_timeout(1000)
    assert process.cpu_percent() < 50, "nothing goes on computing"


def test_32768_tokens_show_their_overview_and_any_window_in_full(
    measured_server: tuple[str, psutil.Process], open_page: Callable[..., Page]
) -> None:
    address, process = measured_server
    page = open_page(f"{address}{LINK}&sparsity=sliding_window&sparsity.window=64", waits=False)
    page.locator("[data-figure='grid'] [data-drawn]").wait_for(timeout=120_000)
    settled(page)
    expect(page.locator("[data-figure='grid'] .av-caption")).to_contain_text("the largest of 365 × 365 weights")
    assert process.memory_info().rss < ONE_GIGABYTE

    for _ in range(2):
        zoom_to_the_middle(page)
    expect(page.locator("[data-figure='pattern'] .av-caption")).not_to_contain_text("largest of its block")
    settled(page)
    shown = page.locator("[data-figure='pattern'] .av-plot").evaluate("plot => plot.data[0].z.length")
    assert 20 < shown <= 256
    label = page.locator("[data-figure='pattern'] .av-row").first.text_content() or ""
    assert abs(int(label.removeprefix("x")) - 16_384) < 1000


def zoom_to_the_middle(page: Page) -> None:
    """Drag over a small square around the middle of the large head."""
    before = drawn(page, "pattern")
    box = page.locator("[data-figure='pattern'] .nsewdrag").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 15, y - 15)
    page.mouse.down()
    page.mouse.move(x + 15, y + 15, steps=8)
    page.mouse.up()
    drawn_again(page, "pattern", before)
    settled(page)


@pytest.mark.parametrize("view", ["heads_view=alike", "heads_view=table", "heads_view=layers"])
def test_what_16_heads_over_2048_tokens_have_in_common_is_found_without_their_maps(
    view: str, measured_server: tuple[str, psutil.Process], open_page: Callable[..., Page]
) -> None:
    address, process = measured_server

    page = open_page(f"{address}/heads?input=vectors&n_tokens=2048&n_heads=16&{view}", waits=False)

    page.locator("[data-drawn], [data-testid='stDataFrame']").first.wait_for(timeout=120_000)
    expect(page.get_by_text("16 heads of 4 dimensions over 2 048 tokens")).to_be_visible()
    assert process.memory_info().rss < ONE_GIGABYTE
