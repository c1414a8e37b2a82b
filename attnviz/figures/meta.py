"""What the cells of a heatmap are, written into the figure for whoever shows it.

`layout.meta["ticks"]` holds the fields of `Ticks`, `layout.meta["cells"]` those of `Cells`. From the place of a cell in
the first trace's `z` follow its head, query and key: row // pitch_rows is the row of maps, inside = row % pitch_rows -
map_top the row inside a map, and first_row + inside * rows_per_cell, rounded down, the query; the same for columns and
keys. Places outside `map_rows` and `map_columns` are gaps. `layout.meta["badge"]` says in what view a picture is, in a
file the annotation of that name does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

from attnviz.core.text import Numbered
from attnviz.figures.labels import escaped, short, visible
from attnviz.figures.theme import LIGHT

MOST_SPELT_OUT = 512
BADGE_MARGIN = {"l": 8, "r": 16, "t": 32, "b": 8}
Labels: TypeAlias = tuple[str, ...] | Mapping[str, object]


@dataclass(frozen=True)
class Ticks:
    """Labels at 0, 1, 2... of an axis as plain text, for whoever draws them outside the plot.

    Attributes
    ----------
    x, y
        Labels of the axis; None where it has numbers or no labels.
    right
        Labels on the right side, at the places of `y`, of the second vertical axis; None where there is none.
    strong
        Place of the row whose label is set in bold.
    """

    x: Labels | None = None
    y: Labels | None = None
    right: Labels | None = None
    strong: int | None = None

    def to_meta(self) -> dict[str, object]:
        """Form for `layout.meta`."""
        return {"ticks": _as_mapping(self)}


@dataclass(frozen=True)
class Cells:
    """How to name a cell.

    Attributes
    ----------
    value
        What the colour shows.
    heads, roles
        Head number and name of each map, in reading order.
    rows, columns
        Labels of rows and columns of one map, as plain text; of many numbered ones the letter and the count.
    map_name
        What a map is; empty where its name says it all.
    row_name, column_name
        What a row and a column are.
    grid_columns
        Maps in one row of the grid.
    pitch_rows, pitch_columns, map_rows, map_columns
        Cells from one map to the next, and cells that a map has.
    map_top
        Cells above each map that are left free for its title.
    rows_per_cell, columns_per_cell
        More than 1 where several are drawn as one (the largest is shown), less than 1 where one is drawn larger.
    first_row, first_column
        Query and key of the first cell of a map.
    lowest, below
        Values below the first stand for cells of which the second is said.
    hidden_from, hidden
        Values from the first to `lowest` stand for cells of which the second is said; None where there are none.
    is_log, behind
        Whether values are base-10 logarithms, and what the numbers in `customdata` are; empty where there are none.
    names
        What the values 0, 1, 2... stand for, where they are kinds and no numbers.
    maps
        What is different for each map where they have different sizes, under the names above.
    click
        What a click chooses: `head`, `cell`, `pair` or nothing.
    zoom
        Whether zooming in should ask for the exact values.
    """

    value: str
    heads: tuple[int, ...]
    roles: tuple[str, ...]
    rows: Labels
    columns: Labels
    map_name: str = "head"
    row_name: str = "query"
    column_name: str = "key"
    grid_columns: int = 1
    pitch_rows: int = 1 << 30
    pitch_columns: int = 1 << 30
    map_rows: int = 1 << 30
    map_columns: int = 1 << 30
    map_top: int = 0
    rows_per_cell: float = 1.0
    columns_per_cell: float = 1.0
    first_row: int = 0
    first_column: int = 0
    lowest: float = 0.0
    below: str = "forbidden by the mask"
    hidden_from: float | None = None
    hidden: str = ""
    is_log: bool = False
    behind: str = ""
    names: tuple[str, ...] = ()
    maps: tuple[Mapping[str, object], ...] = ()
    click: str = ""
    zoom: bool = False

    def to_meta(self, ticks: Ticks | None = None) -> dict[str, object]:
        """Form for `layout.meta`."""
        return {"cells": _as_mapping(self), **(ticks.to_meta() if ticks else {})}


def _as_mapping(record: Ticks | Cells) -> dict[str, object]:
    return {item.name: getattr(record, item.name) for item in fields(record)}


def plain_labels(tokens: Sequence[str]) -> Labels:
    """Tokens with their blanks visible, as plain text for a tooltip."""
    return _in_short(tokens) or tuple(visible(token) for token in tokens)


def tick_labels(tokens: Sequence[str], marks: Mapping[int, str] | None = None) -> Labels:
    """Tokens for an axis, shortened where they are long, with a mark before some of them."""
    before = marks or {}
    shortly = None if before else _in_short(tokens)
    return shortly or tuple(before.get(place, "") + short(token) for place, token in enumerate(tokens))


def _in_short(tokens: Sequence[str]) -> Mapping[str, object] | None:
    """Many numbered tokens by their letter and their count."""
    if isinstance(tokens, Numbered) and len(tokens) > MOST_SPELT_OUT:
        return {"letter": tokens.letter, "count": len(tokens)}
    return None


def with_badge(meta: dict[str, object], text: str) -> dict[str, object]:
    """Parts of a layout: what the cells are and, where it is not empty, a line at the top that says what view it is.

    >>> with_badge({}, "")
    {'meta': {}}
    """
    if not text:
        return {"meta": meta}
    annotation = {
        "name": "badge",
        "text": escaped(text),
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 3,
        "font": {"size": 12, "color": LIGHT.accent},
    }
    return {"meta": {**meta, "badge": text}, "annotations": [annotation], "margin": BADGE_MARGIN}
