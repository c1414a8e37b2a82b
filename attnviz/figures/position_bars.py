"""Positions at one place, and the outputs of shuffled tokens, as bars; pairs of columns as hands that turn."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.core.shuffling import Shuffled
from attnviz.figures.labels import escaped, token_axis, visible
from attnviz.figures.meta import Ticks, tick_labels
from attnviz.figures.pattern import MOST_TICKS
from attnviz.figures.position_maps import largest_size, whole_numbers
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.numbers import MINUS, significant
from attnviz.positions import Rotation

MOST_LABELLED = 8
MOST_LEVEL = 5
MOST_PLANES = 6
PITCH = 2.7
SLOT = 0.76
UNSEEN = 1e-4
WITH, MASK_ALONE, NEITHER = "with positions", "no positions, same mask", "no positions, no mask"

Vector = Float[np.ndarray, " column"]


def vector_bars(before: Vector | None, after: Vector, *, name: str, height: int = 300) -> go.Figure:
    """A vector column by column, beside what it was before where that is known.

    Parameters
    ----------
    before, after
        The vectors; few numbers are written on the bars of `after`, with four decimals.
    name
        What `after` is.
    height
        In pixels.
    """
    columns = np.arange(after.size)
    traces: list[dict[str, object]] = []
    if before is not None:
        traces.append(_bars("before", columns, before, LIGHT.soft))
    bars = _bars(name, columns, after, LIGHT.mark)
    room = 1.08
    if after.size <= MOST_LABELLED:
        room = 1.3 if after.size <= MOST_LEVEL else 1.6
        bars |= {
            "text": [four_decimals(float(value)) for value in after],
            "textposition": "outside",
            "textangle": 0 if after.size <= MOST_LEVEL else -90,
            "textfont": {"size": 11, "color": LIGHT.text},
            "cliponaxis": False,
            "constraintext": "none",
        }
    traces.append(bars)
    top = room * max(largest_size(after), 0.0 if before is None else largest_size(before))
    lowest = min(0.0, float(after.min()), 0.0 if before is None else float(before.min()))
    picture = layout(
        showlegend=before is not None,
        legend=LEGEND,
        bargap=0.2,
        xaxis=axis("column", range=[-0.5, after.size - 0.5], **whole_numbers(after.size)),
        yaxis=axis(
            "value",
            range=[-top if lowest < 0 else 0.0, top],
            showgrid=True,
            gridcolor=LIGHT.line,
            zeroline=True,
            zerolinecolor=LIGHT.muted,
            nticks=6,
        ),
        height=height,
    )
    return figure(traces, picture)


def four_decimals(value: float) -> str:
    """A number as it stands on a bar.

    >>> four_decimals(-1.14264)
    '−1.1426'
    """
    return f"{value:.4f}".replace("-", MINUS)


def pair_planes(before: Vector, after: Vector, rotation: Rotation, *, position: int) -> go.Figure:
    """The first pairs of columns, each in a plane of its own: a hand that turns from before to after.

    Notes
    -----
    Across is the first column of the pair, up the second; the circle has the length of the hand before.
    """
    angles = rotation.angles(np.array([position]))[0]
    shown = min(angles.size, MOST_PLANES)
    hands: dict[str, list[float]] = {"x0": [], "y0": [], "x1": [], "y1": []}
    for pair in range(shown):
        first, second = columns_of(rotation, pair)
        size = float(np.hypot(before[first], before[second])) or 1.0
        for key, vector in (("0", before), ("1", after)):
            hands[f"x{key}"] += [PITCH * pair, PITCH * pair + float(vector[first]) / size, np.nan]
            hands[f"y{key}"] += [0.0, float(vector[second]) / size, np.nan]
    titles: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "x": [PITCH * pair - 1.0 for pair in range(shown)],
        "y": [1.45] * shown,
        "text": [f"{pair} {turned_by(float(angles[pair]))}" for pair in range(shown)],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": LIGHT.text},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    circles = [
        {
            "type": "circle",
            "x0": PITCH * pair - 1,
            "x1": PITCH * pair + 1,
            "y0": -1,
            "y1": 1,
            "line": {"color": LIGHT.line, "width": 1},
        }
        for pair in range(shown)
    ]
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        shapes=circles,
        xaxis=axis("first column of a pair →", range=[-1.3, PITCH * (shown - 1) + 1.3], showticklabels=False),
        yaxis=axis("second →", range=[-1.3, 1.7], scaleanchor="x", constrain="domain", showticklabels=False),
        height=240,
    )
    traces = [
        _hands("before", hands["x0"], hands["y0"], LIGHT.soft),
        _hands("after", hands["x1"], hands["y1"], LIGHT.mark),
        titles,
    ]
    return figure(traces, picture)


def columns_of(rotation: Rotation, pair: int) -> tuple[int, int]:
    """The two columns of a pair.

    >>> columns_of(Rotation(np.ones(2)), 1)
    (1, 3)
    """
    found = (rotation.pair(column) for column in range(2 * len(rotation.frequencies)))
    return next((one[1], one[2]) for one in found if one is not None and one[0] == pair)


def turned_by(angle: float) -> str:
    """An angle of less than a turn in degrees, a larger one in turns.

    >>> turned_by(1.0), turned_by(63.0)
    ('57.3°', '10.0 turns')
    """
    turns = angle / (2 * np.pi)
    return f"{significant(360 * turns)}°" if abs(turns) < 1 else f"{significant(turns)} turns"


def shuffled_bars(found: Shuffled, *, has_positions: bool, has_mask: bool) -> go.Figure:
    """Relative change of each token's output when the tokens are shuffled: with positions, and without.

    Bars that can be seen share the room over their token; those that are zero everywhere take none of it.

    Parameters
    ----------
    found
        What the other order changed.
    has_positions, has_mask
        Whether there is a position method, and a mask that forbids some pair, so that both are worth comparing.
    """
    tokens = found.outputs_of
    places = np.arange(len(tokens))
    series = [(WITH, found.with_positions, LIGHT.mark)] if has_positions else []
    if has_mask:
        series.append((MASK_ALONE, found.without_positions, LIGHT.soft))
    series.append((NEITHER, found.without_either, LIGHT.accent))
    seen = [name for name, change, _ in series if change.max(initial=0.0) >= UNSEEN]
    top = max(1.0, *(float(change.max(initial=0.0)) for _, change, _ in series))
    picture = layout(
        meta=Ticks(x=tick_labels(tokens)).to_meta(),
        showlegend=True,
        legend=LEGEND,
        barmode="overlay",
        xaxis=axis(
            "token",
            range=[-0.5, len(tokens) - 0.5],
            tickangle=-45,
            **token_axis(tokens, range(0, len(tokens), max(1, -(-len(tokens) // MOST_TICKS)))),
        ),
        yaxis=axis("relative change", range=[0, 1.05 * top], showgrid=True, gridcolor=LIGHT.line, nticks=6),
        height=380,
    )
    labels = [f"{place} {escaped(visible(token))}" for place, token in enumerate(tokens)]
    bars = [
        _bars(name, places, change, colour)
        | _share_of_slot(name, seen)
        | {"customdata": labels, "hovertemplate": f"%{{customdata}}: %{{y:.3~%}}<extra>{name}</extra>"}
        for name, change, colour in series
    ]
    return figure(bars, picture)


def _share_of_slot(name: str, seen: list[str]) -> dict[str, object]:
    """Where the bars of a series begin, from their token on, and how wide they are."""
    width = SLOT / max(len(seen), 1) if name in seen else SLOT
    return {"width": width, "offset": -SLOT / 2 + (seen.index(name) * width if name in seen else 0.0)}


def _bars(name: str, x: np.ndarray, y: np.ndarray, colour: str) -> dict[str, object]:
    return {
        "type": "bar",
        "name": name,
        "x": x.astype(np.float64),
        "y": y.astype(np.float64),
        "marker": {"color": colour},
        "hovertemplate": f"%{{x}}: %{{y:.5g}}<extra>{name}</extra>",
    }


def _hands(name: str, x: list[float], y: list[float], colour: str) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": np.array(x),
        "y": np.array(y),
        "line": {"color": colour, "width": 2.5},
        "marker": {"color": colour, "size": [0 if place % 3 == 0 else 8 for place in range(len(x))]},
        "hoverinfo": "skip",
    }
