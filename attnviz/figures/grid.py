"""All heads at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import WeightScale, rounded_top, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.theme import LIGHT, axis, figure, layout
from attnviz.metrics.pooling import MOST_HEADS, Overview

LEAST_SIDE = 24
USUAL_SIDE = 128
MOST_USUAL = 24


def heads_shown(head: int, n_heads: int) -> range:
    """The block of at most 64 heads that holds this one.

    >>> heads_shown(70, 100)
    range(64, 100)
    """
    first = head // MOST_HEADS * MOST_HEADS
    return range(first, min(first + MOST_HEADS, n_heads))


def largest_shown(small: Overview, head: int) -> float:
    """The largest weight of the heads that are shown with this one: the end of their common colour scale."""
    heads = heads_shown(head, len(small.maps))
    return rounded_top(float(np.fmax.reduce(small.maps[heads.start : heads.stop], axis=None, initial=0)))


def grid_shape(n_maps: int, fit: int) -> tuple[int, int]:
    """Rows and columns of maps where `fit` maps of the usual size fit side by side; many maps are drawn smaller.

    >>> [grid_shape(n, fit=8) for n in (1, 4, 8, 12, 16, 64)]
    [(1, 1), (1, 4), (1, 8), (2, 6), (2, 8), (4, 16)]
    >>> grid_shape(8, fit=4)
    (2, 4)
    """
    most = fit if n_maps <= MOST_USUAL else 2 * fit
    rows = -(-n_maps // most)
    return rows, -(-n_maps // rows)


def head_grid(
    trace: AttentionTrace,
    small: Overview,
    roles: Sequence[str],
    *,
    selected: int,
    scale: str,
    shared_scale: bool,
    fit: int = 8,
) -> go.Figure:
    """The maps of the heads around the chosen one, on one colour scale or each on its own; the chosen one is framed.

    Notes
    -----
    All maps are one heatmap trace with gaps: as many axes as maps would cost the browser more than the maps do.
    """
    heads = heads_shown(selected, trace.n_heads)
    maps = small.maps[heads.start : heads.stop]
    n_maps, height, width = maps.shape
    rows, columns = grid_shape(n_maps, fit)
    grow = max(1, LEAST_SIDE // max(height, width))
    map_rows, map_columns = height * grow, width * grow
    title_room = max(4, round((0.17 if columns <= fit else 0.26) * map_rows))
    gap = max(2, round(0.07 * map_columns))
    pitch_rows, pitch_columns = map_rows + title_room, map_columns + gap

    largest = np.fmax.reduce(maps, axis=(1, 2), initial=0).astype(np.float64)
    colours = WeightScale(scale, largest_shown(small, selected) if shared_scale else 1.0, small.allowed_share < 1)
    divisor = np.ones(n_maps) if shared_scale else np.where(largest > 0, largest, 1.0)
    values = with_forbidden(maps / divisor[:, None, None], ~np.isnan(maps), colours)

    z = np.full((rows * pitch_rows, columns * pitch_columns - gap), np.nan, dtype=np.float32)
    corners = [(i // columns * pitch_rows + title_room, i % columns * pitch_columns) for i in range(n_maps)]
    for (row, column), one_map in zip(corners, values, strict=True):
        big = one_map if grow == 1 else np.repeat(np.repeat(one_map, grow, axis=0), grow, axis=1)
        z[row : row + map_rows, column : column + map_columns] = big

    frames = [_frame(row, column, map_rows, map_columns) for row, column in corners]
    shapes = [
        _outline(" ".join(frames), LIGHT.line, 1),
        _outline(frames[selected - heads.start], LIGHT.accent, 2.5),
    ]
    cells = Cells(
        value="weight" if shared_scale else "weight over largest of head",
        heads=tuple(heads),
        roles=tuple(roles[head] for head in heads),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        grid_columns=columns,
        pitch_rows=pitch_rows,
        pitch_columns=pitch_columns,
        map_rows=map_rows,
        map_columns=map_columns,
        map_top=title_room,
        rows_per_cell=small.step_q / grow,
        columns_per_cell=small.step_k / grow,
        lowest=0.0,
        click="head",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": z,
        **colours.trace_options(),
        "colorbar": colours.colorbar("weight" if shared_scale else "share of<br>the largest"),
        "hoverinfo": "none",
    }
    titles: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "x": [column - 0.5 for _, column in corners],
        "y": [row - 0.5 - 0.42 * title_room for row, _ in corners],
        "text": [title(head, roles[head], is_usual=columns <= fit) for head in heads],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": LIGHT.text},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    hidden = {"showticklabels": False, "fixedrange": False}
    picture = layout(
        meta=cells.to_meta(),
        shapes=shapes,
        xaxis=axis(
            "key (column) →", range=[-0.5, z.shape[1] - 0.5], constrain="domain", constraintoward="left", **hidden
        ),
        yaxis=axis(
            "← query (row)",
            range=[z.shape[0] - 0.5, -0.5],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            **hidden,
        ),
        height=grid_height(rows, columns, fit),
    )
    return figure([heatmap, titles], picture)


def grid_height(rows: int, columns: int, fit: int) -> int:
    """Height in pixels for maps of the usual size, or of the smaller one where many are shown."""
    side = USUAL_SIDE if columns <= fit else USUAL_SIDE // 2
    if rows == 1 and columns < fit:
        side = min(2 * USUAL_SIDE, USUAL_SIDE * fit // columns)
    return round(rows * side * 1.2) + 40


def title(head: int, role: str, *, is_usual: bool) -> str:
    """Small title of a map: the number, and the name where there is room."""
    if not role or not is_usual:
        return f"<b>{head}</b>"
    longest = 16
    if len(role) > longest and role.endswith(")"):
        name, _, turn = role.rpartition(" ")
        role = f"{name[: longest - len(turn) - 2].rstrip()}… {turn}"
    return f"<b>{head}</b> {escaped(role if len(role) <= longest else f'{role[: longest - 1]}…')}"


def _frame(row: int, column: int, rows: int, columns: int) -> str:
    left, top, right, bottom = column - 0.5, row - 0.5, column + columns - 0.5, row + rows - 0.5
    return f"M{left},{top} H{right} V{bottom} H{left} Z"


def _outline(path: str, colour: str, width: float) -> dict[str, object]:
    return {"type": "path", "path": path, "line": {"color": colour, "width": width}, "layer": "above"}
