"""Numbers in the cells of heatmaps in a real browser: readable on every cell, in both themes, and none too wide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from plotly.colors import sample_colorscale, unlabel_rgb

from tests.browser.test_live_figure import figure

pytestmark = pytest.mark.browser
LINK = {"heads_view": "removal", "input": "trained"}
IN_THE_PLOT = """(plot) => ({
  cells: (({ z, zmin, zmax, colorscale }) => ({ z: Array.from(z, (row) => Array.from(row)), zmin, zmax, colorscale }))(
    plot.data[0],
  ),
  words: [...plot.querySelectorAll(".textpoint text")].map((one) => [one.textContent, getComputedStyle(one).fill]),
  numbers: plot.data.filter(({ name }) => name === "numbers").map(({ x, y, text }) => ({ x, y, text })),
})"""


def luminance(red: float, green: float, blue: float) -> float:
    """Relative luminance of channels from 0 to 255 (WCAG 2.2)."""
    parts = np.array([red, green, blue]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def in_the_plot(page: Page) -> dict[str, Any]:
    figure(page, "importance_map").scroll_into_view_if_needed()
    plot = figure(page, "importance_map").locator(".av-plot")
    expect(plot).to_have_attribute("data-drawn", "1")
    return plot.evaluate(IN_THE_PLOT)


@pytest.mark.parametrize("scale", ["single hue", "viridis"])
@pytest.mark.parametrize("dark", [False, True])
def test_every_number_has_enough_contrast_to_its_cell(
    server: str, open_page: Callable[..., Page], dark: bool, scale: str
) -> None:
    drawn = in_the_plot(open_page(f"{server}/heads?{urlencode(LINK | {'scale': scale})}", dark=dark))

    cells, places = (
        drawn["cells"],
        [(y, x) for one in drawn["numbers"] for x, y in zip(one["x"], one["y"], strict=True)],
    )
    assert sorted(places) == [(layer, head) for layer in range(6) for head in range(12)]
    assert [word for word, _ in drawn["words"]] == [text for one in drawn["numbers"] for text in one["text"]]
    shares = [(cells["z"][row][column] - cells["zmin"]) / (cells["zmax"] - cells["zmin"]) for row, column in places]
    for share, (word, ink) in zip(shares, drawn["words"], strict=True):
        (cell,) = sample_colorscale(cells["colorscale"], [min(1.0, max(0.0, share))], colortype="tuple")
        found = contrast(luminance(*(255 * np.array(cell))), luminance(*unlabel_rgb(ink)))
        assert found >= 4.5, (word, ink, cell)


def test_cells_that_are_too_narrow_have_no_numbers(server: str, open_page: Callable[..., Page]) -> None:
    drawn = in_the_plot(open_page(f"{server}/heads?{urlencode(LINK)}", width=390, height=844))

    assert drawn["words"] == []
    assert np.shape(drawn["cells"]["z"]) == (6, 12)
