"""Arrays of different sizes side by side, each with a row or a cell marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import SignedScale, WeightScale, rounded_top, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells
from attnviz.figures.theme import LIGHT, axis, figure, layout
from attnviz.steps import Shot

LEAST_SIDE = 32
TITLE_SHARE = 0.18
GAP_SHARE = 0.08
HEIGHT = 210
LARGE_HEIGHT = 260


def array_pictures(
    shots: Sequence[Shot], *, kind: str, scale: str, across: int, has_own_scales: bool = False
) -> go.Figure:
    """Small pictures of arrays, in rows of `across`; a click on a pair of query and key chooses it.

    Parameters
    ----------
    shots
        The arrays and what is marked of them.
    kind
        `signed`: colours from the most negative to the most positive number. `weights`: from 0 to the largest.
    scale
        Colours of weights.
    across
        How many fit side by side.
    has_own_scales
        Whether each array is coloured up to its own largest number.
    """
    sizes = [_largest(shot) if has_own_scales else 1.0 for shot in shots]
    shots = [replace(shot, values=shot.values / size) for shot, size in zip(shots, sizes, strict=True)]
    colours = _colours(shots, kind, scale)
    is_pairs = all(shot.column_name == "key" for shot in shots)
    side = max(LEAST_SIDE, *(max(shot.values.shape) for shot in shots))
    title_room, gap = round(TITLE_SHARE * side), round(GAP_SHARE * side)
    grown = [tuple(max(1, side // count) for count in shot.values.shape) for shot in shots]
    slot_rows = max(rows * len(shot.values) for shot, (rows, _) in zip(shots, grown, strict=True))
    slot_columns = max(columns * shot.values.shape[1] for shot, (_, columns) in zip(shots, grown, strict=True))
    n_columns = min(across, len(shots))
    n_rows = -(-len(shots) // n_columns)
    pitch_rows, pitch_columns = slot_rows + title_room, slot_columns + gap
    z = np.full((n_rows * pitch_rows, n_columns * pitch_columns - gap), np.nan, dtype=np.float32)
    titles: list[tuple[float, float, str]] = []
    outlines: list[str] = []
    marks: list[str] = []
    for place, (shot, (rows, columns)) in enumerate(zip(shots, grown, strict=True)):
        top = place // n_columns * pitch_rows + title_room
        left = place % n_columns * pitch_columns
        high, wide = rows * len(shot.values), columns * shot.values.shape[1]
        z[top : top + high, left : left + wide] = np.kron(_drawn(shot, colours), np.ones((rows, columns), np.float32))
        titles.append((left - 0.5, top - 0.5 - 0.4 * title_room, escaped(shot.title)))
        outlines.append(_box(left, top, wide, high))
        first, width = (0, wide) if shot.column is None else (columns * shot.column, columns)
        marks.append(_box(left + first, top + rows * shot.row, width, rows))
        marks += [_box(left, top + rows * row, wide, rows) for row in _marked_rows(shot)]
    cells = Cells(
        value="weight" if kind == "weights" else "value",
        heads=tuple(range(len(shots))),
        roles=tuple(shot.title for shot in shots),
        map_name="",
        rows=(),
        columns=(),
        grid_columns=n_columns,
        pitch_rows=pitch_rows,
        pitch_columns=pitch_columns,
        map_top=title_room,
        lowest=-colours.top if kind == "signed" else 0.0,
        maps=tuple(
            {**_map_cells(shot, grow), "times": size} for shot, grow, size in zip(shots, grown, sizes, strict=True)
        ),
        click="cell" if is_pairs else "",
    )
    title = "weight" if kind == "weights" else "share of the array's largest" if has_own_scales else "value"
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": z,
        **colours.trace_options(),
        "colorbar": colours.colorbar(title),
        "hoverinfo": "none",
        "hoverongaps": False,
    }
    words: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "x": [x for x, _, _ in titles],
        "y": [y for _, y, _ in titles],
        "text": [text for _, _, text in titles],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": LIGHT.text},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    hidden: dict[str, object] = {"showticklabels": False}
    picture = layout(
        meta=cells.to_meta(),
        shapes=[
            _path(outlines, LIGHT.line, 1),
            _path(marks, LIGHT.background, 4),
            _path(marks, LIGHT.text, 1.5),
        ],
        xaxis=axis(
            "key (column) →" if is_pairs else "column →",
            range=[-0.5, z.shape[1] - 0.5],
            constrain="domain",
            constraintoward="left",
            **hidden,
        ),
        yaxis=axis(
            "← query (row)" if is_pairs else "← token (row)",
            range=[z.shape[0] - 0.5, -0.5],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            **hidden,
        ),
        height=(HEIGHT if n_columns > 1 else LARGE_HEIGHT) * n_rows + 40,
    )
    return figure([heatmap, words], picture)


def _colours(shots: Sequence[Shot], kind: str, scale: str) -> WeightScale:
    has_forbidden = any(shot.allowed is not None and not shot.allowed.all() for shot in shots)
    largest = max(_largest(shot) for shot in shots)
    if kind == "weights":
        return WeightScale(scale, rounded_top(largest) if largest <= 1 else largest, has_forbidden)
    return SignedScale(top=largest, has_forbidden=has_forbidden)


def _largest(shot: Shot) -> float:
    seen = shot.values if shot.allowed is None else shot.values[shot.allowed]
    return float(np.abs(seen).max(initial=0.0)) or 1.0


def _drawn(shot: Shot, colours: WeightScale) -> Float[np.ndarray, "row column"]:
    if shot.allowed is None:
        return shot.values.astype(np.float32)
    return with_forbidden(shot.values, shot.allowed, colours)


def _marked_rows(shot: Shot) -> list[int]:
    rows = [shot.row] if shot.column is not None else []
    return rows if shot.other_row is None else [*rows, shot.other_row]


def _map_cells(shot: Shot, grown: tuple[int, ...]) -> dict[str, object]:
    rows, columns = shot.values.shape
    return {
        "rows": [str(place) for place in range(shot.first_row + rows)],
        "columns": [str(place) for place in range(shot.first_column + columns)],
        "row_name": shot.row_name,
        "column_name": shot.column_name,
        "map_rows": rows * grown[0],
        "map_columns": columns * grown[1],
        "rows_per_cell": 1 / grown[0],
        "columns_per_cell": 1 / grown[1],
        "first_row": shot.first_row,
        "first_column": shot.first_column,
    }


def _box(left: float, top: float, wide: float, high: float) -> str:
    return f"M{left - 0.5},{top - 0.5} H{left + wide - 0.5} V{top + high - 0.5} H{left - 0.5} Z"


def _path(paths: Sequence[str], colour: str, width: float) -> dict[str, object]:
    return {"type": "path", "path": " ".join(paths), "line": {"color": colour, "width": width}, "layer": "above"}
