"""All heads at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import WeightScale, rounded_top, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.pooling import max_pooled, pool_factor
from attnviz.figures.theme import LIGHT, axis, figure, layout

MOST_HEADS = 64
MOST_SIDE = 128
MOST_CELLS = 1 << 16
LEAST_SIDE = 24
USUAL_SIDE = 128
MOST_USUAL = 24


@dataclass(frozen=True, eq=False)
class Overview:
    """Maps of the heads that the grid shows, as small as a screen can show them.

    Attributes
    ----------
    maps
        Largest weight of each block; NaN where all of it is forbidden.
    first_head
        Number of the first map.
    step_q, step_k
        Queries and keys in one block.
    largest
        Largest weight of each head shown.
    has_forbidden
        Whether the mask forbids any pair.
    """

    maps: Float[np.ndarray, "head row column"]
    first_head: int
    step_q: int
    step_k: int
    largest: Float[np.ndarray, " head"]
    has_forbidden: bool


def overview(trace: AttentionTrace, head: int) -> Overview:
    """The block of at most 64 heads that holds the chosen one, pooled to at most 128 cells a side and 2^16 in all."""
    first = head // MOST_HEADS * MOST_HEADS
    shown = trace.weights[first : first + MOST_HEADS]
    mask = trace.mask if trace.mask.shape[0] == 1 else trace.mask[first : first + MOST_HEADS]
    side = min(MOST_SIDE, int((MOST_CELLS / shown.shape[0]) ** 0.5))
    step_q, step_k = pool_factor(trace.n_q, side), pool_factor(trace.n_k, side)
    exact = step_q == step_k == 1
    maps = np.where(mask, shown, np.nan).astype(np.float32) if exact else max_pooled(shown, mask, side)
    largest = np.fmax.reduce(maps, axis=(1, 2), initial=0).astype(np.float64)
    return Overview(maps, first, step_q, step_k, largest, not bool(mask.all()))


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
    """Every head's map, on one colour scale or each on its own; the chosen head is framed.

    Notes
    -----
    All maps are one heatmap trace with gaps: as many axes as maps would cost the browser more than the maps do.
    """
    n_maps, height, width = small.maps.shape
    rows, columns = grid_shape(n_maps, fit)
    grow = max(1, LEAST_SIDE // max(height, width))
    map_rows, map_columns = height * grow, width * grow
    title_room = max(4, round((0.17 if columns <= fit else 0.26) * map_rows))
    gap = max(2, round(0.07 * map_columns))
    pitch_rows, pitch_columns = map_rows + title_room, map_columns + gap

    top = rounded_top(float(small.largest.max())) if shared_scale else 1.0
    colours = WeightScale(scale, top, small.has_forbidden)
    divisor = np.ones(n_maps) if shared_scale else np.where(small.largest > 0, small.largest, 1.0)
    values = with_forbidden(small.maps / divisor[:, None, None], ~np.isnan(small.maps), colours)

    z = np.full((rows * pitch_rows, columns * pitch_columns - gap), np.nan, dtype=np.float32)
    corners = [(i // columns * pitch_rows + title_room, i % columns * pitch_columns) for i in range(n_maps)]
    for (row, column), one_map in zip(corners, values, strict=True):
        big = one_map if grow == 1 else np.repeat(np.repeat(one_map, grow, axis=0), grow, axis=1)
        z[row : row + map_rows, column : column + map_columns] = big

    heads = range(small.first_head, small.first_head + n_maps)
    frames = [_frame(row, column, map_rows, map_columns) for row, column in corners]
    shapes = [_outline(" ".join(frames), LIGHT.line, 1)]
    if selected in heads:
        shapes.append(_outline(frames[selected - small.first_head], LIGHT.accent, 2.5))
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
