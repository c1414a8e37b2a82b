"""Colours of all pictures, for the light and the dark theme.

Figures are made in the light palette. `DARK_FOR_LIGHT` says which colour replaces which in the dark theme, so that a
figure follows the reader's theme without being made again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

SINGLE_HUE = "single hue"
FONT = "Source Sans, Source Sans Pro, Segoe UI, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Palette:
    """Colours with a meaning each.

    Attributes
    ----------
    background, text, muted, line
        The page, words, lesser words, frames and grid lines.
    accent
        What is chosen.
    mark, soft
        A measure, and its spread.
    baseline
        What a head that knows nothing would score.
    forbidden
        Pairs that the mask forbids; no weight has this colour.
    hidden
        Keys that are left out of a picture; no weight has this colour either.
    weights
        From no weight (the page's background) to the most.
    signed
        From the most negative number over 0 (the page's background) to the most positive one.
    heads
        One for each of twelve heads, told apart by the colour-blind too.
    """

    background: str
    text: str
    muted: str
    line: str
    accent: str
    mark: str
    soft: str
    baseline: str
    forbidden: str
    hidden: str
    weights: tuple[str, ...]
    signed: tuple[str, ...]
    heads: tuple[str, ...]


LIGHT = Palette(
    background="#fefefe",
    text="#1d2733",
    muted="#5d6875",
    line="#cfd6dd",
    accent="#d1480c",
    mark="#1f62a8",
    soft="#a9c8e6",
    baseline="#7d5a2b",
    forbidden="#e8e4dc",
    hidden="#d9bfba",
    weights=("#fefefe", "#d6e6f5", "#abcdea", "#79aedb", "#4789c5", "#2164aa", "#0d4482", "#082a55"),
    signed=("#6b2c06", "#a8500f", "#d98546", "#f3c9a0", "#fefefe", "#b4d2ee", "#5f9ad0", "#2265ab", "#0c3c73"),
    heads=(
        *("#4b96d2", "#f04b00", "#0f965a", "#5a1ec3", "#f04ba5", "#784b00"),
        *("#005a87", "#960f5a", "#003c00", "#965aff", "#0f0087", "#4b004b"),
    ),
)
DARK = Palette(
    background="#11161d",
    text="#e3e9f0",
    muted="#9aa7b5",
    line="#3a4552",
    accent="#ff9b62",
    mark="#7db9f0",
    soft="#345a80",
    baseline="#d8b27c",
    forbidden="#37322b",
    hidden="#5c403c",
    weights=("#11161d", "#17324f", "#1e4c79", "#2b6aa4", "#478bc8", "#78b0e2", "#b1d5f3", "#eef7ff"),
    signed=("#ffa45c", "#e87f30", "#b35a1d", "#613512", "#11161d", "#183c60", "#2a6cb0", "#4f9dee", "#8fcaff"),
    heads=(
        *("#1e69d2", "#ffa500", "#00e187", "#a578ff", "#f06987", "#a54b1e"),
        *("#2da5c3", "#a53c96", "#87960f", "#d2b4f0", "#78ffff", "#f0f05a"),
    ),
)


def _pairs() -> dict[str, str]:
    pairs: dict[str, str] = {}
    for item in fields(Palette):
        light, dark = getattr(LIGHT, item.name), getattr(DARK, item.name)
        pairs.update(zip(light, dark, strict=True) if isinstance(light, tuple) else [(light, dark)])
    return pairs


DARK_FOR_LIGHT: dict[str, str] = _pairs()
LEGEND: dict[str, object] = {
    "orientation": "h",
    "x": 0,
    "y": 1.02,
    "yanchor": "bottom",
    "font": {"size": 11, "color": LIGHT.muted},
    "itemclick": False,
    "itemdoubleclick": False,
}


def recoloured(value: object) -> object:
    """The same figure as JSON-like data with every light colour replaced by its dark one.

    >>> recoloured({"font": {"color": LIGHT.text}})
    {'font': {'color': '#e3e9f0'}}
    """
    if isinstance(value, str):
        return DARK_FOR_LIGHT.get(value, value)
    if isinstance(value, dict):
        return {key: recoloured(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [recoloured(item) for item in value]
    return value


def layout(**own: object) -> dict[str, object]:
    """Layout that all figures share, with what is the figure's own."""
    return {
        "font": {"family": FONT, "size": 12, "color": LIGHT.text},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "showlegend": False,
        "hovermode": "closest",
        "uirevision": "keep",
        **own,
    }


def around_zero(*values: Float[np.ndarray, "..."]) -> list[float]:
    """Range of an axis that shows all values, and 0.

    >>> around_zero(np.array([1.0, 2.0]))
    [0.0, 2.1]
    """
    least = min(0.0, *(float(np.nanmin(one, initial=0.0)) for one in values))
    most = max(0.0, *(float(np.nanmax(one, initial=0.0)) for one in values))
    room = 0.05 * (most - least) or 0.05
    return [least - room if least else 0.0, most + room if most or not least else 0.0]


def axis(title: str | None, **own: object) -> dict[str, object]:
    """An axis in the common style, without a title where that is None."""
    return {
        "title": {"text": title, "standoff": 6, "font": {"size": 12, "color": LIGHT.muted}} if title else None,
        "tickfont": {"size": 11, "color": LIGHT.text},
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "automargin": True,
        **own,
    }


def rectangle(
    left: float, right: float, top: float, bottom: float, *, width: float = 1, colour: str = LIGHT.accent
) -> dict[str, object]:
    """A frame around what is chosen."""
    return {
        "type": "rect",
        "x0": left,
        "x1": right,
        "y0": top,
        "y1": bottom,
        "line": {"color": colour, "width": width},
    }


def figure(data: list[dict[str, object]], picture_layout: dict[str, object]) -> go.Figure:
    """A Plotly figure of plain traces and a layout, free of a template.

    Notes
    -----
    Plotly's own check of every property takes longer than making the figure; the tests do it instead. An empty
    template keeps the default one from being copied in.
    """
    return go.Figure({"data": data, "layout": {"template": {}, **picture_layout}}, _validate=False)
