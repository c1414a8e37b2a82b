"""What the number of heads changes at a fixed width, as small pictures over the same axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout

HEIGHT = 270
FACTOR = 1.25
MOST_LABELS = 7
SHARES = (-0.03, 1.04)


class Series(NamedTuple):
    """A value for each number of heads, the colour of its line, and whether the line is dotted."""

    values: Float[np.ndarray, " count"]
    colour: str
    is_dotted: bool = False


def sweep_lines(
    n_heads: Sequence[int], series: Mapping[str, Series], *, present: int, name: str, is_doubling: bool = False
) -> go.Figure:
    """Lines over the number of heads, the present number marked.

    Parameters
    ----------
    n_heads
        Numbers of heads in ascending order.
    series
        Values by their names; NaN where they are not defined.
    present
        The number of heads on screen.
    name
        What the axis of the values is called.
    is_doubling
        Whether that axis is logarithmic with base 2; else it goes from 0 to 1.
    """
    counts = np.array(n_heads, dtype=np.float64)
    values = np.concatenate([one.values for one in series.values()])
    low, high = _ends(values) if is_doubling else SHARES
    up = _doubling(values) if is_doubling else {"range": list(SHARES), "dtick": 0.25}
    mark: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": f"now: {present}",
        "x": np.array([present, present], dtype=np.float64),
        "y": np.array([low, high]),
        "line": {"color": LIGHT.soft, "width": 5},
        "hoverinfo": "skip",
    }
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("number of heads", tickangle=0, **_doubling(counts)),
        yaxis=axis(name, showgrid=True, gridcolor=LIGHT.line, **up),
        height=HEIGHT,
    )
    return figure([mark, *(_line(label, counts, one) for label, one in series.items())], picture)


def _line(name: str, counts: Float[np.ndarray, " count"], one: Series) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines" if one.is_dotted else "lines+markers",
        "name": name,
        "x": counts,
        "y": one.values.astype(np.float64),
        "line": {"color": one.colour, "width": 2, "dash": "dot" if one.is_dotted else "solid"},
        "marker": {"color": one.colour, "size": 7},
        "hovertemplate": f"%{{x}} heads: %{{y:.3g}}<extra>{name}</extra>",
    }


def _ends(values: Float[np.ndarray, " value"]) -> tuple[float, float]:
    real = values[values > 0]
    return (float(real.min()) / FACTOR, float(real.max()) * FACTOR) if real.size else (1 / FACTOR, 2.0)


def _doubling(values: Float[np.ndarray, " value"]) -> dict[str, object]:
    """A logarithmic axis around positive values with a tick at some powers of two."""
    low, high = _ends(values)
    powers = list(range(int(np.ceil(np.log2(low))), int(np.floor(np.log2(high))) + 1))
    ticks = [2.0**power for power in powers[:: -(-len(powers) // MOST_LABELS)]]
    return {
        "type": "log",
        "range": [float(np.log10(low)), float(np.log10(high))],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
    }
