"""Positions as curves: what a method is made of, how far its pairs turn, its bias and its scores against distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.numbers import MINUS, THIN_SPACE, grouped, significant
from attnviz.positions import Curve, Rotation
from attnviz.positions.beyond import FarScores
from attnviz.positions.similarity import ByDistance

MOST_MARKS = 64
MOST_NUMBERS = 12
FEW_POWERS = 2
MOST_PAIRS = 5
MOST_HEADS = 64
MOST_POINTS = 1 << 15
LEAST_GROUPED = 1000
MOST_GROUPED = 1e6
FLAT = 1e-9
SEPARATORS = f".{THIN_SPACE}"
SERIES = (LIGHT.mark, LIGHT.accent)


def spaced(value: float) -> str:
    """A number with three significant digits, its thousands parted as on the axes.

    >>> print(spaced(47_117.0).replace(THIN_SPACE, " "), spaced(-0.12345))
    47 100 −0.123
    """
    text = significant(value)
    return grouped(int(text)) if LEAST_GROUPED <= value < MOST_GROUPED and text.isdecimal() else text


def curve_lines(curve: Curve) -> go.Figure:
    """Numbers that a method is made of, written out where they are few; a line in steps where they are many."""
    is_numbered = curve.at.size <= MOST_NUMBERS
    title = f"{curve.label} ({curve.unit})" if curve.unit else curve.label
    across: dict[str, object] = {"dtick": 1} if is_numbered else {"nticks": 9}
    top = 1.5 if is_numbered and not curve.is_log else 1.0
    picture = layout(
        separators=SEPARATORS,
        bargap=0.4,
        xaxis=axis(curve.over, range=_padded(curve.at, 0.12 if is_numbered else 0.03), **across),
        yaxis=axis(title, **_height_axis(np.append(curve.values, top * curve.values.max()), curve.is_log)),
        height=300,
    )
    return figure([_curve_trace(curve)], picture)


def _curve_trace(curve: Curve) -> dict[str, object]:
    unit = f" {curve.unit}" if curve.unit else ""
    shared: dict[str, object] = {
        "name": curve.label,
        "x": curve.at.astype(np.float64),
        "y": curve.values.astype(np.float64),
        "marker": {"color": LIGHT.mark},
        "hovertemplate": f"{curve.over.partition(' (')[0]} %{{x}}: %{{y:,.6~g}}{unit}<extra></extra>",
    }
    written: dict[str, object] = {"textfont": {"size": 11, "color": LIGHT.text}, "cliponaxis": False}
    if curve.at.size > MOST_MARKS:
        line = {"color": LIGHT.mark, "width": 2, "shape": "hvh"}
        return {"type": "scatter", "mode": "lines", "line": line, **shared}
    if curve.at.size > MOST_NUMBERS:
        return {"type": "scatter", "mode": "markers", **shared}
    if curve.is_log:
        text = [spaced(float(value)) for value in curve.values]
        return (
            {"type": "scatter", "mode": "markers+text", "text": text, "textposition": "top center"} | shared | written
        )
    text = [f"{value:.6g}".replace("-", MINUS) for value in curve.values]
    angled: dict[str, object] = {"textangle": -90, "textposition": "outside", "constraintext": "none"}
    return {"type": "bar", "text": text} | shared | written | angled


def pairs_to_show(n_pairs: int) -> list[int]:
    """At most five pairs, evenly spread, the first and the last among them.

    >>> pairs_to_show(4), pairs_to_show(32)
    ([0, 1, 2, 3], [0, 8, 16, 23, 31])
    """
    return [int(pair) for pair in np.rint(np.linspace(0, n_pairs - 1, min(n_pairs, MOST_PAIRS)))]


def angle_lines(rotation: Rotation, n_places: int, *, among: Sequence[Rotation] = ()) -> go.Figure:
    """Angle of some pairs of columns at each position from 1 on, in turns, and where a turn is complete.

    Parameters
    ----------
    rotation
        What turns.
    n_places
        How many positions are drawn.
    among
        Others that are drawn beside it, on the same axes.
    """
    positions = np.arange(1, n_places)
    turns = rotation.angles(positions) / (2 * np.pi)
    shown = pairs_to_show(turns.shape[1])
    every = [np.ones(1), *(_drawn_turns(one, positions).ravel() for one in (rotation, *among))]
    traces = [
        _line(
            f"pair {pair}",
            positions,
            turns[:, pair],
            LIGHT.weights[-1 - place],
            hover=f"position %{{x}}: %{{y:.4g}} turns<extra>pair {pair}</extra>",
        )
        for place, pair in enumerate(shown)
    ]
    traces.append(
        _line("one whole turn", np.array([1, n_places - 1]), np.ones(2), LIGHT.baseline, width=1, hover="", dash="dot")
    )
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("position", **_log_axis(positions)),
        yaxis=axis("angle (turns)", **_log_axis(np.concatenate(every)), showgrid=True, gridcolor=LIGHT.line),
        height=300,
    )
    return figure(traces, picture)


def _drawn_turns(rotation: Rotation, positions: Int[np.ndarray, " place"]) -> Float[np.ndarray, "place pair"]:
    return rotation.angles(positions)[:, pairs_to_show(rotation.frequencies.size)] / (2 * np.pi)


def heads_drawn(bias: Float[np.ndarray, "head distance"]) -> int:
    """How many heads have a line: up to 64, fewer over many distances.

    >>> heads_drawn(np.zeros((100, 127))), heads_drawn(np.zeros((100, 2049)))
    (64, 15)
    """
    return min(len(bias), MOST_HEADS, max(MOST_POINTS // bias.shape[1], 1))


def is_stepped(values: Float[np.ndarray, "... distance"]) -> bool:
    """Whether some neighbouring distances share one value while others do not, so that it changes in steps.

    >>> is_stepped(np.array([0.0, 1, 1, 3])), is_stepped(np.array([0.0, -1, -2])), is_stepped(np.zeros(3))
    (True, False, False)
    """
    flat = np.abs(np.diff(values, axis=-1)) < FLAT
    return bool(flat.any() and not flat.all())


def bias_lines(
    distance_tokens: Int[np.ndarray, " distance"],
    bias: Float[np.ndarray, "head distance"],
    *,
    head: int,
    among: Sequence[Float[np.ndarray, "head distance"]] = (),
) -> go.Figure:
    """The bias of each head against the distance, the chosen head in front.

    Parameters
    ----------
    distance_tokens
        Key minus query.
    bias
        The bias at these distances, in steps where neighbouring distances share a value.
    head
        The chosen head.
    among
        Those of other methods that are drawn beside it, on the same axes.
    """
    shape = "hvh" if is_stepped(bias) else "linear"
    others = [other for other in range(heads_drawn(bias)) if other != head]
    traces: list[dict[str, object]] = []
    if others:
        x = np.tile(np.append(distance_tokens.astype(np.float64), np.nan), len(others))
        y = np.concatenate([np.append(bias[other], np.nan) for other in others])
        traces.append(_line("other heads", x, y, LIGHT.soft, width=1.2, shape=shape))
    traces.append(_line(f"head {head}", distance_tokens, bias[head], LIGHT.accent, width=2.5, shape=shape))
    every = np.concatenate([one[: heads_drawn(one)].ravel() for one in (bias, *among)] + [bias[head]])
    return _against_distance(
        traces, "distance (key − query, tokens)", "bias", _padded(distance_tokens, 0.0), _padded(every, 0.06)
    )


def distance_lines(found: Mapping[str, ByDistance]) -> go.Figure:
    """Mean score of the same word against the distance of its two places, a line for each method."""
    traces = [
        _line(name, one.distance_tokens, one.mean, colour, width=2.2, shape=_shape(one.mean))
        for (name, one), colour in zip(found.items(), SERIES, strict=False)
    ]
    places = np.concatenate([one.distance_tokens for one in found.values()])
    means = np.concatenate([one.mean for one in found.values()])
    return _against_distance(
        traces, "distance (key − query, tokens)", "score", _padded(places, 0.0), _padded(np.append(means, 0.0), 0.06)
    )


def beyond_lines(found: Mapping[str, FarScores], *, trained_length: int, length: int) -> go.Figure:
    """Score of the same word against the distance back, past the trained length, which is marked."""
    every = np.concatenate([*(one.scores for one in found.values()), np.zeros(1)])
    low, high = _padded(every, 0.06)
    traces = [
        _line(name, one.distance_tokens, one.scores, colour, width=2.2, shape=_shape(one.scores))
        for (name, one), colour in zip(found.items(), SERIES, strict=False)
    ]
    mark = np.array([trained_length, trained_length])
    traces.append(_line("trained length", mark, np.array([low, high]), LIGHT.baseline, width=2, hover="", dash="dot"))
    across = (0.0, float(length))
    return _against_distance(traces, "distance (query − key, tokens)", "score", across, (low, high), height=420)


def _shape(values: Float[np.ndarray, " distance"]) -> str:
    return "hvh" if is_stepped(values) else "linear"


def _against_distance(
    traces: list[dict[str, object]],
    across: str,
    up: str,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    *,
    height: int = 380,
) -> go.Figure:
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        separators=SEPARATORS,
        xaxis=axis(across, range=list(x_range), nticks=9, separatethousands=True, exponentformat="none"),
        yaxis=axis(
            up, range=list(y_range), showgrid=True, gridcolor=LIGHT.line, zeroline=True, zerolinecolor=LIGHT.muted
        ),
        height=height,
    )
    return figure(traces, picture)


def _line(
    name: str,
    x: np.ndarray,
    y: np.ndarray,
    colour: str,
    *,
    width: float = 2.0,
    dash: str = "solid",
    shape: str = "linear",
    hover: str | None = None,
) -> dict[str, object]:
    told = f"distance %{{x:,}}: %{{y:.4g}}<extra>{name}</extra>" if hover is None else hover
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x.astype(np.float64),
        "y": y.astype(np.float64),
        "line": {"color": colour, "width": width, "dash": dash, "shape": shape},
        **({"hovertemplate": told} if told else {"hoverinfo": "skip"}),
    }


def _padded(values: Sequence[float] | np.ndarray, share: float) -> tuple[float, float]:
    """The range of values with some room on both sides; of a single value, one unit to each side."""
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        return low - 1.0, high + 1.0
    room = share * (high - low)
    return low - room, high + room


def _height_axis(values: np.ndarray, is_log: bool) -> dict[str, object]:
    grid: dict[str, object] = {"showgrid": True, "gridcolor": LIGHT.line}
    if is_log and bool((values > 0).all()):
        return {**_log_axis(values), **grid}
    return {"range": list(_padded(np.append(values, 0.0), 0.06)), **grid}


def _log_axis(values: np.ndarray) -> dict[str, object]:
    """A logarithmic axis around positive values, labelled at the powers of ten, and between them where they are few."""
    low, high = _padded(np.log10(values[values > 0]) if (values > 0).any() else np.zeros(1), 0.05)
    powers = np.floor(high) - np.ceil(low) + 1
    if powers > FEW_POWERS:
        every = range(int(np.ceil(low)), int(np.floor(high)) + 1, int(np.ceil(powers / 7)))
        return _log_ticks(low, high, [10.0**power for power in every])
    steps = [times * 10.0**power for power in range(int(np.floor(low)), int(np.ceil(high))) for times in (1, 2, 5)]
    return _log_ticks(low, high, [step for step in steps if low <= np.log10(step) <= high])


def _log_ticks(low: float, high: float, at: Sequence[float]) -> dict[str, object]:
    texts = [grouped(round(value)) if value >= 1 else f"{value:.12f}".rstrip("0") for value in at]
    return {"type": "log", "range": [low, high], "tickmode": "array", "tickvals": list(at), "ticktext": texts}
