"""A number for each head of all layers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.colours import SignedScale, ViewedScale, WeightScale
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.theme import LIGHT, axis, figure, layout, rectangle
from attnviz.picks import HeadAt

ROW_PIXELS = 34
MOST_TICKS = 24
LEAST_WRITTEN = 0.005
ASIDE = 0.4
ABOVE = 0.6
ByLayer = Float[np.ndarray, "layer head"]


def layer_map(
    values: ByLayer,
    uniform: Float[np.ndarray, " layer"] | None,
    *,
    selected: HeadAt,
    name: str,
    scale: str,
    off: Sequence[HeadAt] = (),
    is_log: bool = False,
    texts: Sequence[Sequence[str]] = (),
    beside_uniform: bool = False,
) -> go.Figure:
    """Layer by head: a number for each, and that of the uniform head in a column of its own; a click chooses a head.

    Parameters
    ----------
    values
        Of each layer and head; NaN where it is not defined.
    uniform
        Of the head uniform over the allowed keys, in each layer; None where there is no such number.
    selected
        Head that is framed.
    name
        What the colour shows, with its unit.
    scale
        Name of the colour scale; numbers some of which are negative are drawn on one symmetric about 0.
    off
        Heads that are switched off, which are marked.
    is_log
        Whether colours follow the logarithm of the numbers, of which none is negative.
    texts
        What is written into the cells of each layer, where they are wide enough; nothing where it is left out.
    beside_uniform
        Whether rows are as high as those of a map that has the column of the uniform head.

    Notes
    -----
    The column of the uniform head stands apart, two places after the last head.
    """
    n_layers, n_heads = values.shape
    named = tuple(f"head {head}" for head in range(n_heads))
    if uniform is not None:
        values = np.concatenate([values, np.full((n_layers, 1), np.nan), uniform[:, None]], axis=1)
        named = (*named, "", "the uniform head")
    colours = _colours(values, scale, is_log=is_log)
    cells = Cells(
        value=name,
        heads=(),
        roles=(),
        rows=layer_names(n_layers),
        columns=named,
        row_name="",
        column_name="",
        lowest=colours.lowest,
        is_log=is_log,
        behind=name if is_log else "",
        click="cell",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": colours.drawn(values) if isinstance(colours, ViewedScale) else values.astype(np.float32),
        **colours.trace_options(),
        "colorbar": colours.colorbar(f"{name}, log scale" if is_log else name),
        "hoverinfo": "none",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
    }
    if is_log:
        heatmap["customdata"] = values.astype(np.float32)
    if texts:
        heatmap |= {"text": [list(row) for row in texts], "texttemplate": "%{text}"}
    marks: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": "switched off",
        "x": np.array([at.head - (ASIDE if texts else 0) for at in off], dtype=np.float32),
        "y": np.array([at.layer for at in off], dtype=np.float32),
        "marker": {"symbol": "x", "size": 7 if texts else 9, "color": LIGHT.accent},
        "hoverinfo": "skip",
    }
    has_uniform = uniform is not None
    picture = layout_by_layer(cells, n_heads, selected, has_uniform=has_uniform, has_room=has_uniform or beside_uniform)
    above = [] if uniform is None else [_above(n_heads + 1.45)]
    return figure([heatmap, *above, *([marks] if off else [])], picture)


def layer_names(n_layers: int) -> tuple[str, ...]:
    """The labels of the rows."""
    return tuple(f"layer {layer}" for layer in range(n_layers))


def layout_by_layer(
    cells: Cells, n_heads: int, selected: HeadAt, *, has_uniform: bool = False, has_room: bool = False
) -> dict[str, object]:
    """Layers from top to bottom, heads from left to right, one of them framed.

    Parameters
    ----------
    cells
        What the cells are called; a row for each layer.
    n_heads
        Of each layer.
    selected
        The head that is framed.
    has_uniform
        Whether there is room for the uniform head two places after the last one.
    has_room
        Whether there is room above the rows for its name.
    """
    numbers, rows = tuple(map(str, range(n_heads))), tuple(cells.rows)
    places = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    return layout(
        meta=cells.to_meta(Ticks(x=numbers, y=rows, strong=selected.layer)),
        xaxis=axis(
            "head (column)",
            range=[-0.5, n_heads - 0.5 + (2 if has_uniform else 0)],
            tickmode="array",
            tickvals=places,
            ticktext=[numbers[place] for place in places],
        ),
        yaxis=axis(
            "layer (row)",
            range=[len(rows) - 0.5, -0.5 - (ABOVE if has_room else 0)],
            tickmode="array",
            tickvals=list(range(len(rows))),
            ticktext=list(rows),
        ),
        shapes=[
            rectangle(selected.head - 0.5, selected.head + 0.5, selected.layer - 0.5, selected.layer + 0.5, width=2.5)
        ],
        height=max(220, ROW_PIXELS * len(rows) + 110),
    )


def _above(right: float) -> dict[str, object]:
    """What the column of the uniform head is, above it."""
    return {
        "type": "scatter",
        "mode": "text",
        "name": "words",
        "x": np.array([right], dtype=np.float32),
        "y": np.array([-0.5 - ABOVE / 2], dtype=np.float32),
        "text": ["uniform"],
        "textposition": "middle left",
        "textfont": {"size": 11, "color": LIGHT.muted},
        "hoverinfo": "skip",
    }


@dataclass(frozen=True)
class ReachingScale(ViewedScale):
    """Logarithmic colours that begin just below the smallest number, where that is within their usual reach.

    Attributes
    ----------
    smallest
        The smallest number above 0; 0 where there is none.

    Examples
    --------
    >>> ReachingScale("single hue", 14.0, has_forbidden=False, is_log=True, smallest=0.02).least
    0.01
    """

    smallest: float = 0.0

    @property
    def least(self) -> float:
        """The number that the colours begin at: a power of ten."""
        if not self.smallest:
            return super().least
        below = min(np.floor(np.log10(self.smallest)), np.ceil(np.log10(self.top)) - 1)
        return max(super().least, float(10.0**below))


def _colours(values: ByLayer, scale: str, *, is_log: bool) -> WeightScale:
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    is_signed = float(np.nanmin(values, initial=0.0)) < 0
    smallest = float(np.nanmin(values, initial=largest, where=values > 0))
    if is_signed:
        return SignedScale(top=largest)
    if is_log:
        return ReachingScale(scale, largest, has_forbidden=False, is_log=True, smallest=smallest)
    return WeightScale(scale, largest, has_forbidden=False)


def cell_texts(per_cent: ByLayer) -> list[list[str]]:
    """Numbers of at most four characters, for the cells of a map.

    >>> cell_texts(np.array([[14.44, 7.34, 0.698, 0.004, 0.0, np.nan]]))
    [['14', '7.3', '0.70', '<.01', '0', '']]
    """
    return [[_in_cell(float(value)) for value in row] for row in per_cent]


def _in_cell(value: float) -> str:
    if np.isnan(value):
        return ""
    if value == 0:
        return "0"
    if value < LEAST_WRITTEN:
        return "<.01"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"
