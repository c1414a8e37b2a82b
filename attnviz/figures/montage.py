"""Many small maps in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import WeightScale
from attnviz.figures.meta import Cells, with_badge
from attnviz.figures.theme import LIGHT, axis, figure, layout

LEAST_SIDE = 24
USUAL_SIDE = 128
MOST_USUAL = 24


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


@dataclass(frozen=True)
class Montage:
    """Where each map stands.

    Attributes
    ----------
    n_maps, rows, columns
        How many maps there are, and how they are laid out.
    map_rows, map_columns
        Cells that a map has; `grow` for each of its own.
    title_room, gap
        Cells above a map for its title, and between maps side by side.
    fit
        How many maps of the usual size fit side by side.
    """

    n_maps: int
    rows: int
    columns: int
    map_rows: int
    map_columns: int
    grow: int
    title_room: int
    gap: int
    fit: int

    @property
    def is_usual(self) -> bool:
        """Whether maps have the usual size."""
        return self.columns <= self.fit

    @property
    def corners(self) -> list[tuple[int, int]]:
        """Row and column of the first cell of each map."""
        pitch_rows, pitch_columns = self.map_rows + self.title_room, self.map_columns + self.gap
        columns = self.columns
        return [(i // columns * pitch_rows + self.title_room, i % columns * pitch_columns) for i in range(self.n_maps)]

    def frame(self, place: int) -> str:
        """The outline of a map, as a path."""
        row, column = self.corners[place]
        left, top, right, bottom = column - 0.5, row - 0.5, column + self.map_columns - 0.5, row + self.map_rows - 0.5
        return f"M{left},{top} H{right} V{bottom} H{left} Z"


def arranged(shape: tuple[int, ...], fit: int) -> Montage:
    """Maps `(map, row, column)` laid out for a width where `fit` of the usual size fit side by side."""
    n_maps, height, width = shape
    rows, columns = grid_shape(n_maps, fit)
    grow = max(1, LEAST_SIDE // max(height, width))
    map_rows, map_columns = height * grow, width * grow
    return Montage(
        n_maps,
        rows,
        columns,
        map_rows,
        map_columns,
        grow,
        title_room=max(4, round((0.17 if columns <= fit else 0.26) * map_rows)),
        gap=max(2, round(0.07 * map_columns)),
        fit=fit,
    )


def montage_figure(
    montage: Montage,
    values: Float[np.ndarray, "map row column"],
    titles: Sequence[str],
    cells: Cells,
    colours: WeightScale,
    colorbar: dict[str, object],
    *,
    selected: int | Sequence[int] | None = None,
    behind: Float[np.ndarray, "map row column"] | None = None,
    badge: str = "",
) -> go.Figure:
    """The maps with their titles, one or some of them framed; `behind` are the numbers behind the colours, if others.

    Notes
    -----
    A map without a title is a gap and has no outline.
    All maps are one heatmap trace with gaps: as many axes as maps would cost the browser more than the maps do.
    """
    m = montage
    height, width = m.rows * (m.map_rows + m.title_room), m.columns * (m.map_columns + m.gap) - m.gap
    z = _laid_out(m, values, (height, width))
    framed = [] if selected is None else [selected] if isinstance(selected, int) else selected
    shapes = [_outline(" ".join(m.frame(place) for place in range(m.n_maps) if titles[place]), LIGHT.line, 1)]
    if framed:
        shapes.append(_outline(" ".join(m.frame(place) for place in framed), LIGHT.accent, 2.5))
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": z,
        **colours.trace_options(),
        "colorbar": colorbar,
        "hoverinfo": "none",
        **({} if behind is None else {"customdata": _laid_out(m, behind, z.shape)}),
    }
    words: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "x": [column - 0.5 for _, column in m.corners],
        "y": [row - 0.5 - 0.42 * m.title_room for row, _ in m.corners],
        "text": list(titles),
        "textposition": "middle right",
        "textfont": {"size": 11, "color": LIGHT.text},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    hidden = {"showticklabels": False, "fixedrange": False}
    picture = layout(
        **with_badge(cells.to_meta(), badge),
        shapes=shapes,
        xaxis=axis("key (column) →", range=[-0.5, width - 0.5], constrain="domain", constraintoward="left", **hidden),
        yaxis=axis(
            "← query (row)",
            range=[height - 0.5, -0.5],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            **hidden,
        ),
        height=grid_height(m.rows, m.columns, m.fit),
    )
    return figure([heatmap, words], picture)


def _laid_out(
    m: Montage, maps: Float[np.ndarray, "map row column"], size: tuple[int, ...]
) -> Float[np.ndarray, "height width"]:
    """All maps in one, with NaN between them."""
    whole = np.full(size, np.nan, dtype=np.float32)
    for (row, column), one_map in zip(m.corners, maps, strict=True):
        big = one_map if m.grow == 1 else np.repeat(np.repeat(one_map, m.grow, axis=0), m.grow, axis=1)
        whole[row : row + m.map_rows, column : column + m.map_columns] = big
    return whole


def placed(cells: Cells, montage: Montage, *, step_q: int = 1, step_k: int = 1) -> Cells:
    """What cells are, with where the maps stand whose cells are blocks of `step_q` by `step_k` pairs."""
    m = montage
    return replace(
        cells,
        grid_columns=m.columns,
        pitch_rows=m.map_rows + m.title_room,
        pitch_columns=m.map_columns + m.gap,
        map_rows=m.map_rows,
        map_columns=m.map_columns,
        map_top=m.title_room,
        rows_per_cell=step_q / m.grow,
        columns_per_cell=step_k / m.grow,
    )


def grid_height(rows: int, columns: int, fit: int) -> int:
    """Height in pixels for maps of the usual size, or of the smaller one where many are shown."""
    side = USUAL_SIDE if columns <= fit else USUAL_SIDE // 2
    if rows == 1 and columns < fit:
        side = min(2 * USUAL_SIDE, USUAL_SIDE * fit // columns)
    return round(rows * side * 1.2) + 40


def _outline(path: str, colour: str, width: float) -> dict[str, object]:
    return {"type": "path", "path": path, "line": {"color": colour, "width": width}, "layer": "above"}
