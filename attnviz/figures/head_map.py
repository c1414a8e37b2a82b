"""Heads as points of a plane, near each other where they are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from attnviz.figures.group_words import letters
from attnviz.figures.labels import escaped
from attnviz.figures.theme import LIGHT, axis, figure, layout
from attnviz.metrics.clustering import Plane
from attnviz.numbers import THIN_SPACE

MOST_LABELS = 30
COLOURS = tuple(LIGHT.heads[place] for place in (0, 2, 3, 6, 9, 7))
"""Of groups, one for each letter; none is near the colour of what is chosen."""
TOGETHER = 0.03
ASPECT = 0.72
ROOM = 0.16
USUAL_PIXELS, LETTER, LINE, DOT, LABEL_SHIFT = 300.0, 6.5, 13.0, 6.0, 9.0
SIDES = {"middle right": (1.0, 0.0), "middle left": (-1.0, 0.0), "top center": (0.0, 0.7), "bottom center": (0.0, -0.7)}
PADDING = dict.fromkeys(SIDES, "{}") | {"middle right": "\u2002\u2002{}", "middle left": "{}\u2002\u2002"}
Box = tuple[float, float, float, float]


def head_map(
    plane: Plane,
    groups: Int[np.ndarray, " head"],
    names: Sequence[str],
    *,
    selected: int,
    labelled: Sequence[int],
    unit: str = "",
    height: int = 330,
) -> go.Figure:
    """A point for each head; heads of one group have one colour, the chosen one has a ring.

    Parameters
    ----------
    plane
        The points.
    groups
        Number of each head's group; heads that are alone, or in one of many small groups, share a colour.
    names
        What each head is called.
    selected
        The chosen head.
    labelled
        Heads that are written beside their points.
    unit
        Of the distances.
    height
        In pixels.

    Notes
    -----
    Both axes have one scale, so that a distance is the same in every direction. A name that finds no room beside its
    point is left out.
    """
    x_range, y_range = _ranges(plane.points)
    letter_of = letters(groups)
    colour_of = dict(zip(letter_of, COLOURS, strict=False))
    colours = [colour_of.get(int(group), LIGHT.muted) for group in groups]
    x, y = plane.points.T.astype(np.float32)
    points: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": "heads",
        "showlegend": False,
        "x": x,
        "y": y,
        "text": [f"head {escaped(name)}" for name in names],
        "marker": {"color": colours, "size": 9 if len(names) <= MOST_LABELS else 7},
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"click": "head"},
    }
    ring: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": f"head {escaped(names[selected])}",
        "x": x[[selected]],
        "y": y[[selected]],
        "marker": {"color": LIGHT.accent, "symbol": "circle-open", "size": 16, "line": {"width": 2}},
        "hoverinfo": "skip",
    }
    sizes = Counter(groups.tolist())
    entries = [_entry(f"{letter_of[group]}: {sizes[group]} heads", colour) for group, colour in colour_of.items()]
    if len(colour_of) < len(sizes):
        entries.append(_entry("alone or in a smaller group" if _has_more(sizes, colour_of) else "alone", LIGHT.muted))
    pixel = (x_range[1] - x_range[0]) / USUAL_PIXELS
    labels = _labels(
        plane.points, [selected, *sorted(set(labelled) - {selected})], names, TOGETHER * USUAL_PIXELS * pixel
    )
    sides = placed_labels(plane.points / pixel, labels)
    written = {head: labels[head] for head in sides}
    raised = np.array([SIDES[side][1] for side in sides.values()], dtype=np.float32) * np.float32(LABEL_SHIFT * pixel)
    words: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "name": "names",
        "showlegend": False,
        "x": x[list(written)],
        "y": y[list(written)] + raised,
        "text": [PADDING[sides[head]].format(escaped(text)) for head, text in written.items()],
        "textposition": list(sides.values()),
        "textfont": {"size": 11, "color": LIGHT.text},
        "hoverinfo": "skip",
        "meta": {"apart": True},
    }
    units = f" ({unit})" if unit else ""
    picture = layout(
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 11, "color": LIGHT.muted}},
        xaxis=axis(f"first direction{units}", range=x_range, showgrid=True, gridcolor=LIGHT.line),
        yaxis=axis(f"second direction{units}", range=y_range, scaleanchor="x", showgrid=True, gridcolor=LIGHT.line),
        height=height,
    )
    return figure([points, *entries, ring, words], picture)


def _labels(
    points: Float[np.ndarray, "head 2"], labelled: Sequence[int], names: Sequence[str], least: float
) -> dict[int, str]:
    """What is written beside which point: points that are closer together than the least share a label."""
    together: dict[int, list[str]] = {}
    for head in labelled:
        first = next((one for one in together if np.linalg.norm(points[one] - points[head]) < least), head)
        together.setdefault(first, []).append(names[head])
    return {head: f",{THIN_SPACE}".join(texts) for head, texts in together.items()}


def placed_labels(points: Float[np.ndarray, "head 2"], labels: Mapping[int, str]) -> dict[int, str]:
    """On which side of its point each label stands, so that none lies on another; those without room are left out.

    Parameters
    ----------
    points
        Places in pixels, upwards.
    labels
        What is written beside which point; the first has the first choice.

    Notes
    -----
    The first of right, left, above and below where there is neither a label nor a point; else the first where there is
    no label and no point that has one. The first label always has a place.

    Examples
    --------
    >>> placed_labels(np.array([[0.0, 0.0], [12.0, 0.0]]), {0: "5.11", 1: "0.2"})
    {0: 'middle left', 1: 'middle right'}
    """
    dots = [_box(x - DOT, x + DOT, y - DOT, y + DOT) for x, y in points]
    placed: dict[int, str] = {}
    taken: list[Box] = []
    for head, text in labels.items():
        boxes = {side: _label_box(points[head], text, side) for side in SIDES}
        free = [side for side, box in boxes.items() if not any(_overlap(box, other) for other in taken)]
        others = [[dot for one, dot in enumerate(dots) if one != head], [dots[one] for one in labels if one != head]]
        if not placed:
            others.append([])
        sides = (side for near in others for side in free if not any(_overlap(boxes[side], dot) for dot in near))
        side = next(sides, None)
        if side is not None:
            placed[head] = side
            taken.append(boxes[side])
    return placed


def _box(left: float, right: float, low: float, high: float) -> Box:
    return float(left), float(right), float(low), float(high)


def _label_box(point: Float[np.ndarray, " 2"], text: str, side: str) -> Box:
    """Where a label stands, in pixels."""
    across, up = SIDES[side]
    wide, x, y = LETTER * len(text), point[0] + LABEL_SHIFT * across, point[1] + LABEL_SHIFT * up
    left = x + (across - 1) / 2 * wide
    low = y + ((up > 0) - (up < 0) - 1) / 2 * LINE
    return _box(left, left + wide, low, low + LINE)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _has_more(sizes: Counter[int], colour_of: dict[int, str]) -> bool:
    return any(size > 1 for group, size in sizes.items() if group not in colour_of)


def _entry(name: str, colour: str) -> dict[str, object]:
    """An entry of the legend, without a point of its own."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": np.array([np.nan], dtype=np.float32),
        "y": np.array([np.nan], dtype=np.float32),
        "marker": {"color": colour, "size": 8},
        "hoverinfo": "skip",
    }


def _ranges(points: Float[np.ndarray, "head 2"]) -> tuple[list[float], list[float]]:
    """Ranges that show all points with room for their names, of one scale."""
    low, high = points.min(axis=0), points.max(axis=0)
    across, up = (float(size) for size in high - low)
    width = max(across, up / ASPECT) * (1 + 2 * ROOM) or 1.0
    middle_x, middle_y = (float(place) for place in (low + high) / 2)
    half, half_up = width / 2, width * ASPECT / 2
    return [middle_x - half, middle_x + half], [middle_y - half_up, middle_y + half_up]
