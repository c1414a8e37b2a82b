"""How alike the heads are, in the order of their tree, which is drawn beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Int

from attnviz.figures.colours import SignedScale, WeightScale
from attnviz.figures.group_words import letters
from attnviz.figures.labels import escaped
from attnviz.figures.meta import Cells, Ticks
from attnviz.figures.redundancy import MOST_NAMES, MOST_TICKS, block_of
from attnviz.figures.theme import LIGHT, axis, figure, layout, rectangle
from attnviz.metrics.alike import Alike
from attnviz.metrics.clustering import Tree, brackets
from attnviz.numbers import significant
from attnviz.shapes import MapPart

GAP_SHARE, UNIFORM_SHARE, TREE_SHARE, TOP_SHARE = 0.03, 0.08, 0.28, 0.1


@dataclass(frozen=True)
class _NearScale(WeightScale):
    """Colours of a distance: the strongest for 0, so that dark is alike as in every matrix of heads."""

    def of_numbers(self) -> list[list[object]]:
        """Plotly colour scale of the numbers alone."""
        return [[1.0 - float(str(place)), colour] for place, colour in reversed(super().of_numbers())]


@dataclass(frozen=True)
class _Places:
    """Where the parts of the picture are, counted in heads: matrix, uniform head, tree, and the words above them."""

    n_heads: int
    has_uniform: bool
    has_tree: bool

    @property
    def gap(self) -> int:
        return max(1, round(GAP_SHARE * self.n_heads))

    @property
    def uniform(self) -> slice:
        """Columns of the uniform head."""
        if not self.has_uniform:
            return slice(self.n_heads, self.n_heads)
        return slice(self.n_heads + self.gap, self.n_heads + self.gap + max(1, round(UNIFORM_SHARE * self.n_heads)))

    @property
    def is_gap(self) -> Bool[np.ndarray, " column"]:
        """Which columns are between the matrix and the uniform head."""
        columns = np.arange(self.uniform.stop)
        return (columns >= self.n_heads) & (columns < self.uniform.start)

    @property
    def tree(self) -> tuple[float, float]:
        """From where to where the tree goes."""
        start = self.uniform.stop + self.gap - 0.5
        return start, start + TREE_SHARE * self.n_heads

    @property
    def right(self) -> float:
        """End of the picture."""
        return self.tree[1] + 0.01 * self.n_heads if self.has_tree else self.uniform.stop - 0.5

    @property
    def top(self) -> float:
        """Height of the words above the uniform head and the tree."""
        return TOP_SHARE * self.n_heads if self.has_tree or self.has_uniform else 0.0


@dataclass(frozen=True)
class _Word:
    """A text of the picture, and on which side of its place it stands."""

    x: float
    y: float
    text: str
    side: str


def alike_matrix(
    alike: Alike,
    tree: Tree | None,
    names: Sequence[str],
    *,
    selected: int,
    scale: str,
    value: str,
    unit: str = "",
    cut: float = 0.0,
    groups: Int[np.ndarray, " head"] | None = None,
    height: int = 560,
) -> go.Figure:
    """Head by head, dark where two heads do the same: in the order of their tree, which is drawn beside the rows.

    Parameters
    ----------
    alike
        The similarity, or the distance; where the uniform head has a value, it is a column of its own.
    tree
        How the heads join into groups; without it they keep their order, and of more than 256 the block that holds the
        chosen one is shown.
    names
        What each head is called.
    selected
        Head whose row is framed.
    scale
        Name of the colour scale.
    value, unit
        What the colour shows.
    cut
        Distance at which a line is drawn across the tree; none for 0.
    groups
        Number of each head's group, whose letters stand beside the tree; none without it.
    height
        In pixels.
    """
    block = block_of(selected, len(names)) if tree is None else slice(0, len(names))
    order = np.arange(len(names))[block] if tree is None else tree.order
    places = _Places(len(order), bool(np.isfinite(alike.uniform[order]).any()), tree is not None and len(order) > 1)
    z = _cells(alike, order, places)
    is_undefined = np.isnan(z) & ~places.is_gap
    colours = _colours(alike, scale, has_undefined=bool(is_undefined.any()))
    z[is_undefined] = colours.forbidden_value
    heads: list[int] = order.tolist()
    row = heads.index(selected)
    called = [names[head] for head in heads]
    labels = [f"head {name}" for name in called]
    besides = [*[""] * (places.uniform.start - len(order)), *["the baseline"] * _width(places.uniform)]
    cells = Cells(
        value=value,
        heads=(),
        roles=(),
        rows=tuple(labels),
        columns=(*labels, *besides),
        row_name="",
        column_name="",
        lowest=-1.0 if alike.is_signed else 0.0,
        below=f"undefined: one of the two {alike.reason}" if alike.reason else "undefined",
        click="pair",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": z,
        "x0": 0,
        "y0": 0,
        **colours.trace_options(),
        "colorbar": _colour_bar(colours, f"{value} ({unit})" if unit else value),
        "hoverinfo": "none",
    }
    at = list(range(0, len(order), max(1, -(-len(order) // MOST_TICKS))))
    short = [name.split(" ")[0] for name in called]
    shown = called if len(called) <= MOST_NAMES else short
    picture = layout(
        meta=cells.to_meta(Ticks(x=tuple(short), y=tuple(shown), strong=row)),
        shapes=_frames(places, row),
        xaxis=axis(
            "head (column)",
            range=[-0.5, places.right],
            constrain="domain",
            constraintoward="left",
            tickmode="array",
            tickvals=at,
            ticktext=[escaped(short[place]) for place in at],
        ),
        yaxis=axis(
            "head (row)",
            range=[len(order) - 0.5, -0.5 - places.top],
            scaleanchor="x",
            constrain="domain",
            constraintoward="top",
            tickmode="array",
            tickvals=at,
            ticktext=[escaped(shown[place]) for place in at],
        ),
        height=height,
    )
    lettered = [] if groups is None or not places.has_tree else _group_letters(groups, order, places)
    return figure([heatmap, *_beside(tree, places, cut, lettered)], picture)


def _width(columns: slice) -> int:
    return columns.stop - columns.start


def _colours(alike: Alike, scale: str, *, has_undefined: bool) -> WeightScale:
    """Colours of the numbers; what is undefined has the flat colour below them."""
    if alike.is_signed:
        return SignedScale(has_forbidden=has_undefined)
    return (_NearScale if alike.is_distance else WeightScale)(scale, 1.0, has_forbidden=has_undefined)


def _colour_bar(colours: WeightScale, title: str) -> dict[str, object]:
    bar = colours.colorbar(title)
    if not colours.has_forbidden:
        return bar
    _, *numbers = cast("list[str]", bar["ticktext"])
    return bar | {"ticktext": ["undefined", *numbers]}


def _group_letters(groups: Int[np.ndarray, " head"], order: np.ndarray, places: _Places) -> list[_Word]:
    """The letter of each large group, at the middle of its rows before the tree."""
    x = places.tree[0] - places.gap / 2
    middles = [float(np.flatnonzero(groups[order] == group).mean()) for group in letters(groups)]
    return [_Word(x, y, letter, "middle center") for y, letter in zip(middles, letters(groups).values(), strict=True)]


def _cells(alike: Alike, order: np.ndarray, places: _Places) -> MapPart:
    z = np.full((len(order), places.uniform.stop), np.nan, dtype=np.float32)
    z[:, : len(order)] = alike.pairs[np.ix_(order, order)]
    z[:, places.uniform] = alike.uniform[order, None]
    return z


def _frames(places: _Places, row: int) -> list[dict[str, object]]:
    """The chosen row, and lines around the matrix and the uniform head."""
    parts = [(-0.5, places.n_heads - 0.5)]
    if places.has_uniform:
        parts.append((places.uniform.start - 0.5, places.uniform.stop - 0.5))
    around = [rectangle(left, right, -0.5, places.n_heads - 0.5, colour=LIGHT.line) for left, right in parts]
    chosen = [rectangle(left, right, row - 0.5, row + 0.5) for left, right in parts]
    return [*around, *chosen]


def _beside(tree: Tree | None, places: _Places, cut: float, lettered: Sequence[_Word]) -> list[dict[str, object]]:
    """The tree, and the words above it, above the uniform head, and beside its groups."""
    words: list[_Word] = []
    above = -0.5 - places.top / 2
    traces: list[dict[str, object]] = []
    if places.has_uniform:
        words.append(_Word(places.uniform.stop - 0.5, above, "baseline", "middle left"))
    if tree is not None and places.has_tree:
        left, right = places.tree
        lines = brackets(tree)
        low, high, top = (left + (right - left) * lines.heights / (tree.height or 1.0)).T
        gap = np.full(len(top), np.nan)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": "tree",
                "x": np.stack([low, top, top, high, gap], axis=1).ravel().astype(np.float32),
                "y": lines.places[:, [0, 0, 1, 1, 1]].ravel().astype(np.float32),
                "line": {"color": LIGHT.muted, "width": 1},
                "hoverinfo": "skip",
            }
        )
        if 0 < cut < tree.height:
            at = left + (right - left) * cut / tree.height
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": "cut",
                    "x": np.full(2, at, dtype=np.float32),
                    "y": np.array([-0.5, places.n_heads - 0.5], dtype=np.float32),
                    "line": {"color": LIGHT.accent, "width": 1, "dash": "dot"},
                    "hoverinfo": "skip",
                }
            )
        words.append(_Word(left, above, "0", "middle right"))
        if tree.height:
            words.append(_Word(right, above, significant(tree.height, 2), "middle left"))
    words.extend(lettered)
    if words:
        traces.append(
            {
                "type": "scatter",
                "mode": "text",
                "name": "words",
                "x": np.array([word.x for word in words], dtype=np.float32),
                "y": np.array([word.y for word in words], dtype=np.float32),
                "text": [word.text for word in words],
                "textposition": [word.side for word in words],
                "textfont": {"size": 11, "color": LIGHT.muted},
                "hoverinfo": "skip",
            }
        )
    return traces
