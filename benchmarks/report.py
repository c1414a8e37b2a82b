"""The results as a table to read and as JSON, and what was reached of the targets."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

Row = dict[str, object]
FOLDER = Path(__file__).resolve().parent
PACKAGES = ("streamlit", "plotly", "numpy", "playwright", "bertviz", "circuitsvis", "torch")


def line(row: Row) -> str:
    """A row in words, as it is measured."""
    where = f"{row['part']} {row['mode']}" + (f" {row['heads']} x {row['length']}" if "heads" in row else "")
    if row["painted_ms"] is None:
        return f"{where}: not painted in time"
    words = [f"{where}: painted {row['painted_ms']:.0f} ms", f"main thread {row['main_thread_ms']:.0f} ms"]
    if "floor_painted_ms" in row:
        words.append(
            f"server {row['server_ms']:.0f} ms, Chromium {row['chromium_ms']:.0f} ms, {row['bytes']:.0f} bytes"
        )
        words.append(f"floor {row['floor_painted_ms']:.0f} / {row['floor_main_thread_ms']:.0f} ms, {times(row):.2f}x")
    return ", ".join(words)


def times(row: Row) -> float:
    """Time to the painted picture, as a multiple of the floor's."""
    return float(row["painted_ms"]) / float(row["floor_painted_ms"])


def write(rows: list[Row], parts: set[str], *, load: float, seconds: float) -> str:
    """Write `results.json` and `results.md`, and give the latter; parts not measured are kept from the run before."""
    file = FOLDER / "results.json"
    rows = with_common_floor(rows)
    runs: dict[str, str] = {}
    if file.exists():
        before = json.loads(file.read_text(encoding="utf-8"))
        runs = before["facts"].get("runs", {})
        rows = [row for row in before["rows"] if part_of(row) not in parts] + rows
        rows.sort(key=lambda row: ORDER.index(part_of(row)))
    facts = machine()
    facts["runs"] = runs | dict.fromkeys(parts, f"{facts['date']}, load {load:.1f} before, {seconds / 60:.0f} min")
    file.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    text = markdown(rows, facts)
    (FOLDER / "results.md").write_text(text, encoding="utf-8")
    return text


ORDER = ("grid", "page", "pages", "trained", "bertviz", "circuitsvis", "visit")


def part_of(row: Row) -> str:
    return str(row["part"]).split(",")[0].split(":")[0]


def with_common_floor(rows: list[Row]) -> list[Row]:
    """Each row beside the median of the floors measured around it: before, after and its own."""
    floors = [row for row in rows if "floor_painted_ms" in row]
    names = [name for name in (floors[0] if floors else {}) if name.startswith("floor_")]
    around = {id(row): floors[max(0, i - 1) : i + 2] for i, row in enumerate(floors)}
    made = []
    for row in rows:
        near = around.get(id(row), [])
        made.append(row | {name: statistics.median(float(one[name]) for one in near) for name in names if near})
    return made


def machine() -> dict[str, object]:
    """What the figures depend on."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "date": date.today().isoformat(),
        "cpus": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **versions,
    }


def markdown(rows: list[Row], facts: dict[str, object]) -> str:
    """Targets, then all rows, then the machine."""
    parts = ["# Results of the browser benchmark", "", "`README.md` says what each number means.", ""]
    parts += ["| target | reached | met |", "|---|---|---|"]
    parts += [f"| {name} | {reached} | {'yes' if met else 'no'} |" for name, reached, met in targets(rows)]
    parts += ["", *change_table(rows), "", *visit_table(rows), ""]
    parts += [", ".join(f"{name.replace('_', ' ')} {listed(value)}" for name, value in facts.items()) + "."]
    return "\n".join(parts) + "\n"


def listed(value: object) -> str:
    return "; ".join(f"{part}: {run}" for part, run in value.items()) if isinstance(value, dict) else str(value)


def change_table(rows: list[Row]) -> Iterator[str]:
    yield (
        "| picture | change | heads | length | painted (ms) | times the floor | main thread (ms) | floor's "
        "| Chromium (ms) | floor's | server (ms) | floor's | KB | changes |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        if "heads" not in row:
            continue
        start = f"| {row['part']} | {row['mode']} | {row['heads']} | {row['length']} "
        if row["painted_ms"] is None:
            yield start + "| not within 60 s " + "| " * 9 + "|"
            continue
        cells = [f"{row['painted_ms']:.0f}", f"{times(row):.2f}"]
        for name in ("main_thread_ms", "chromium_ms", "server_ms"):
            cells += [f"{row[name]:.0f}", f"{row[f'floor_{name}']:.0f}"]
        yield start + "| " + " | ".join([*cells, f"{row['bytes'] / 1000:.1f}", f"{row['changes']:.0f}"]) + " |"


def visit_table(rows: list[Row]) -> Iterator[str]:
    visits = [row for row in rows if part_of(row) == "visit"]
    bare = next((row for row in visits if "bare" in str(row["part"])), None)
    if bare is None:
        return
    yield "| first visit | first picture (ms) | times the bare page | main thread (ms) |"
    yield "|---|---|---|---|"
    for row in visits:
        ratio = float(row["painted_ms"]) / float(bare["painted_ms"])
        name = str(row["part"]).split(": ")[1]
        yield f"| {name} | {row['painted_ms']:.0f} | {ratio:.2f} | {row['main_thread_ms']:.0f} |"


def targets(rows: list[Row]) -> Iterator[tuple[str, str, bool]]:
    """Each target that was measured, what was reached, and whether that is enough."""
    changes = [row for row in rows if "heads" in row and row["painted_ms"] is not None]
    for mode in ("fresh", "cached"):
        yield from change_targets(changes, mode)
    yield from page_targets(changes)
    for row in found(changes, "trained, links", "cached"):
        reached = float(row["painted_ms"])
        yield (
            "links of 12 trained heads, 512 tokens: another layer in at most 1 s",
            f"{reached:.0f} ms",
            reached <= 1000,
        )
    for peer, least in (("bertviz", 10), ("circuitsvis", 20)):
        for heads in (8, 16):
            yield from peer_target(changes, peer, heads, least)
    visits = {str(row["part"]): float(row["painted_ms"]) for row in rows if part_of(row) == "visit"}
    for name in ("visit: grid alone", "visit: Playground"):
        if name in visits:
            ratio = visits[name] / visits["visit: bare page"]
            yield f"first {name}: at most 2.5 times a bare page", f"{ratio:.2f}", ratio <= 2.5
    if compared := visits.get("visit: 72 trained heads compared"):
        yield "72 heads of 91 tokens, a text not seen before: in at most 3 s", f"{compared:.0f} ms", compared <= 3000


def found(rows: list[Row], part: str, mode: str, **chosen: int) -> list[Row]:
    wanted = {"part": part, "mode": mode, **chosen}
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def change_targets(rows: list[Row], mode: str) -> Iterator[tuple[str, str, bool]]:
    for row in found(rows, "grid", mode, heads=8, length=64):
        ratio, cpu = times(row), float(row["main_thread_ms"])
        yield f"grid, 8 heads x 64, {mode}: at most 1.4 times the floor", f"{ratio:.2f}", ratio <= 1.4
        yield f"grid, 8 heads x 64, {mode}: at most 70 ms of main thread", f"{cpu:.0f} ms", cpu <= 70
    yield from most(f"grid, 16 heads, {mode}: at most 2.2 times the floor", found(rows, "grid", mode, heads=16), 2.2)
    for view in ("page, window of 900", "page, all in view"):
        for heads in (8, 16):
            name = f"{view}, {heads} heads, {mode}: at most 3 times the floor"
            yield from most(name, found(rows, view, mode, heads=heads), 3)


def page_targets(rows: list[Row]) -> Iterator[tuple[str, str, bool]]:
    for row in rows:
        if part_of(row) == "pages":
            name = str(row["part"]).removeprefix("pages, ")
            yield f"{name}, 8 heads x 64: at most 2.5 times the floor", f"{times(row):.2f}", times(row) <= 2.5


def peer_target(rows: list[Row], peer: str, heads: int, least: float) -> Iterator[tuple[str, str, bool]]:
    pair = [row for part in (peer, "grid") for row in found(rows, part, "fresh", heads=heads, length=64)]
    if len(pair) == 2:
        ratio = float(pair[0]["chromium_ms"]) / float(pair[1]["chromium_ms"])
        yield (
            f"{peer}, {heads} heads x 64: at least {least} times the grid's Chromium CPU",
            f"{ratio:.1f}",
            ratio >= least,
        )


def most(name: str, rows: list[Row], limit: float) -> Iterator[tuple[str, str, bool]]:
    """A limit that holds for all lengths."""
    if rows:
        reached = ", ".join(f"{row['length']}: {times(row):.2f}" for row in rows)
        yield name, reached, all(times(row) <= limit for row in rows)
