"""How long a change takes until it is painted, and what it costs the browser and the server.

Run from the repository's root: `python benchmarks/browser.py [--only grid visit]`.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, cycle, repeat
from urllib.parse import urlencode

import report
from driving import Sample, Server, Tab, app, chromium, first_visit, measure, open_tab, peer_scripts, warm, watchdog
from playwright.sync_api import Browser, Error

HEADS = (8, 16)
LENGTHS = (16, 64, 256, 1024, 2048)
PEER_LENGTHS = (16, 64, 256)
WINDOW_LENGTHS = (64, 1024)
PATIENCE_SECONDS = 60
FEW_WEIGHTS = 1 << 20
TEXT = "[data-testid=stMarkdown]"
WHOLE_PAGE = 2400
PARTS = ("grid", "page", "pages", "trained", "bertviz", "circuitsvis", "visit")
# Of each other page the view that a change of this control draws anew, and the key that changes it.
PAGES = {
    "step by step": ("step_by_step", {"stage": "scale"}, "Sharpness", "ArrowRight"),
    "masks": ("masks", {"sparsity": "sliding_window", "mask_view": "together"}, "Window", "ArrowUp"),
    "masks, all masks": ("masks", {"sparsity": "sliding_window"}, "Window", "ArrowUp"),
    "positions": ("positions", {}, "Base", "ArrowUp"),
    "positions, similarity": ("positions", {"position_view": "similarity"}, "Base", "ArrowUp"),
    "heads": ("heads", {}, "Sharpness", "ArrowRight"),
}
# 91 tokens of the trained model.
PARAGRAPH = (
    "The committee that met on Monday decided that the river bank would be cleaned before summer, because the children "
    "who play there had found glass in the sand. The mayor said that the bank on Main Street had given money for it, "
    "and that the work would begin when the water was low. A week later the first volunteers came with gloves and "
    "bags, and the children came too. By evening they had filled forty bags and the sand was clean again."
)
TRAINED_LENGTH = 512
seeds = count(1)


@dataclass(frozen=True)
class Effort:
    """How many changes are made, and for how many seconds at most."""

    warming: int
    measured: int
    seconds: float


USUAL = Effort(20, 20, 10)
PEER = Effort(1, 4, 20)
FLOOR = Effort(20, 6, 10)


def rightward() -> Iterator[str]:
    """Every change a new setting."""
    return repeat("ArrowRight")


def backward(is_few: bool) -> Iterator[str]:
    """Settings that have been shown before: all of them where the server keeps them, else the last two in turn."""
    return repeat("ArrowLeft") if is_few else cycle(("ArrowLeft", "ArrowRight"))


def row(part: str, mode: str, heads: int, length: int, sample: Sample, floor: Tab) -> dict[str, object]:
    """One line of the results: the sample beside the floor measured right after it."""
    least = measure(floor, floor_keys(), FLOOR.measured, FLOOR.seconds)
    made: dict[str, object] = {"part": part, "mode": mode, "heads": heads, "length": length}
    made |= numbers(sample) | {f"floor_{name}": value for name, value in numbers(least).items()}
    print(report.line(made), flush=True)
    return made


def floor_keys() -> Iterator[str]:
    return cycle(("ArrowRight", "ArrowLeft"))


def numbers(sample: Sample) -> dict[str, float]:
    n = len(sample.painted_ms)
    return {
        "changes": n,
        "painted_ms": statistics.median(sample.painted_ms),
        "slowest_ms": max(sample.painted_ms),
        "main_thread_ms": statistics.median(sample.main_thread_ms),
        "chromium_ms": sample.chromium_ms / n,
        "server_ms": sample.server_ms / n,
        "bytes": sample.received / n,
    }


def query(heads: int, length: int, **more: str) -> str:
    """A link to a setting that no measurement before has asked for."""
    chosen = {"n_heads": heads, "n_tokens": length, "seed": next(seeds), **more}
    return "?" + "&".join(f"{name}={value}" for name, value in chosen.items())


def changes(
    browser: Browser, server: Server, floor: Tab, part: str, lengths: tuple[int, ...], *, height: int = 900, **link: str
) -> Iterator[dict[str, object]]:
    """Fresh and cached changes for all numbers of heads and all lengths."""
    for heads in HEADS:
        for length in lengths:
            tab = open_tab(browser, server, query(heads, length, **link), height=height)
            warm(tab, rightward(), USUAL.warming, USUAL.seconds)
            sample = measure(tab, rightward(), USUAL.measured, USUAL.seconds)
            yield row(part, "fresh", heads, length, sample, floor)
            keys = backward(heads * length**2 <= FEW_WEIGHTS)
            warm(tab, keys, 2, USUAL.seconds)
            yield row(part, "cached", heads, length, measure(tab, keys, USUAL.measured // 2, USUAL.seconds), floor)
            tab.close()


def open_floor(browser: Browser, server: Server) -> Tab:
    tab = open_tab(browser, server, "", text=TEXT)
    warm(tab, floor_keys(), FLOOR.warming, FLOOR.seconds)
    return tab


def grid(floor_server: Server) -> Iterator[dict[str, object]]:
    with app("benchmarks/apps/grid.py") as server, chromium() as browser:
        yield from changes(browser, server, open_floor(browser, floor_server), "grid", LENGTHS)


def page(floor_server: Server) -> Iterator[dict[str, object]]:
    with app("app.py") as server, chromium() as browser:
        floor = open_floor(browser, floor_server)
        yield from changes(browser, server, floor, "page, window of 900", WINDOW_LENGTHS, input="vectors")
        yield from changes(browser, server, floor, "page, all in view", LENGTHS, height=WHOLE_PAGE, input="vectors")


def pages(floor_server: Server) -> Iterator[dict[str, object]]:
    """The other pages with 8 heads over 64 tokens, each in a window of 900: every change a new setting."""
    with app("app.py") as server, chromium() as browser:
        floor = open_floor(browser, floor_server)
        for name, (path, link, control, key) in PAGES.items():
            chosen = path + query(8, 64, input="vectors", **link)
            tab = open_tab(browser, server, chosen, control=control)
            warm(tab, repeat(key), USUAL.warming, USUAL.seconds)
            sample = measure(tab, repeat(key), USUAL.measured, USUAL.seconds)
            yield row(f"pages, {name}", "fresh", 8, 64, sample, floor)
            tab.close()


def trained(floor_server: Server) -> Iterator[dict[str, object]]:
    """Links of all 12 heads of the trained model over 512 tokens, from layer to layer: each layer seen before."""
    chosen = {"text": PARAGRAPH * 8, "heads_view": "layers", "drawn": "all", "query": "8", "layer": "0"}
    with app("app.py") as server, chromium() as browser:
        floor = open_floor(browser, floor_server)
        # The first deep link of a server is run without app.py, and its controls are made anew by the first change.
        open_tab(browser, server, "").close()
        tab = open_tab(browser, server, "heads?" + urlencode({"input": "trained", **chosen}), control="Layer")
        to_and_fro = cycle(["ArrowRight"] * 5 + ["ArrowLeft"] * 5)
        warm(tab, to_and_fro, USUAL.warming, 2 * USUAL.seconds)
        sample = measure(tab, to_and_fro, USUAL.measured, USUAL.seconds)
        yield row("trained, links", "cached", 12, TRAINED_LENGTH, sample, floor)


def peer(floor_server: Server, name: str) -> Iterator[dict[str, object]]:
    """A peer's picture; a length that does not come in time is not tried again with more heads."""
    lengths = PEER_LENGTHS
    with peer_scripts() as scripts, app(f"benchmarks/apps/{name}_grid.py", scripts) as server:
        for heads in HEADS:
            for length in lengths:
                made = peer_row(server, floor_server, name, heads, length)
                if made["painted_ms"] is None:
                    lengths = tuple(shorter for shorter in lengths if shorter < length)
                yield made


def peer_row(server: Server, floor_server: Server, name: str, heads: int, length: int) -> dict[str, object]:
    is_short = length <= 64
    effort = PEER if is_short else Effort(0, 1, 0)
    try:
        with chromium() as browser, watchdog(4 * PATIENCE_SECONDS if is_short else PATIENCE_SECONDS):
            floor = open_floor(browser, floor_server)
            tab = open_tab(browser, server, query(heads, length))
            warm(tab, rightward(), effort.warming, effort.seconds)
            sample = measure(tab, rightward(), effort.measured, effort.seconds)
            tab.close()
            return row(name, "fresh", heads, length, sample, floor)
    except Error:
        made = {"part": name, "mode": "fresh", "heads": heads, "length": length, "painted_ms": None}
        print(report.line(made), flush=True)
        return made


def visit(floor_server: Server) -> Iterator[dict[str, object]]:
    """First visits with an empty browser cache, in turn, after one visit that is not counted."""
    with (
        app("benchmarks/apps/bare.py") as bare,
        app("benchmarks/apps/grid.py") as grid_server,
        app("app.py") as product,
        chromium() as browser,
    ):
        seen = {
            "visit: bare page": (bare.address, TEXT),
            "visit: slider and number": (floor_server.address, TEXT),
            "visit: grid alone": (f"{grid_server.address}/{query(8, 64)}", "[data-painted]"),
            "visit: Playground": (product.address, "[data-painted]"),
            "visit: 72 trained heads compared": (
                f"{product.address}/heads",
                "[data-figure=alike_matrix] [data-painted]",
            ),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in seen}
        for _ in range(8):
            for name, (address, selector) in seen.items():
                times[name].append(first_visit(browser, address + unread(name), selector))
        for name, found in times.items():
            painted, cpu = (statistics.median(values) for values in zip(*found[1:], strict=True))
            made = {"part": name, "mode": "first", "painted_ms": painted, "main_thread_ms": cpu}
            print(report.line(made), flush=True)
            yield made


def unread(name: str) -> str:
    """For heads of the trained model a text that no visit before has asked for."""
    if "trained" not in name:
        return ""
    return "?" + urlencode({"input": "trained", "scope": "all", "text": f"{PARAGRAPH} {next(seeds)}"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure these parts alone")
    parts = parser.parse_args().only
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun, load = time.monotonic(), os.getloadavg()[0]
    rows: list[dict[str, object]] = []
    with app("benchmarks/apps/floor.py") as floor:
        for i, part in enumerate(parts, start=1):
            rows += measured(part, floor)
            text = report.write(rows, set(parts[:i]), load=load, seconds=time.monotonic() - begun)
    print(text)


def measured(part: str, floor: Server) -> Iterator[dict[str, object]]:
    named = {"grid": grid, "page": page, "pages": pages, "trained": trained, "visit": visit}
    return named[part](floor) if part in named else peer(floor, part)


if __name__ == "__main__":
    main()
