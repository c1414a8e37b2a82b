"""How a weight becomes a colour: one scale for all pictures of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from plotly.colors import get_colorscale

from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.numbers import MINUS, significant

# Long maps reach the browser as 254 steps from `lowest` to `top`: with 27 of them below it, 0 is a step of its own.
FORBIDDEN_SHARE = 27 / (2 * (254 - 27))


@dataclass(frozen=True)
class WeightScale:
    """Colours from 0 to `top`, and below 0 the flat colour of what the mask forbids.

    Attributes
    ----------
    name
        `single hue`, `viridis` or `cividis`.
    top
        Weight that has the strongest colour.
    has_forbidden
        Whether the picture has forbidden cells, and so the scale an entry for them.
    """

    name: str
    top: float
    has_forbidden: bool

    @property
    def forbidden_value(self) -> float:
        """Value that stands for a forbidden cell."""
        return -FORBIDDEN_SHARE * self.top

    @property
    def lowest(self) -> float:
        """Value at the low end of the scale."""
        return 2 * self.forbidden_value if self.has_forbidden else 0.0

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale from `lowest` to `top`."""
        colours: list[list[object]] = (
            [[i / (len(LIGHT.weights) - 1), colour] for i, colour in enumerate(LIGHT.weights)]
            if self.name == SINGLE_HUE
            else [[place, colour] for place, colour in get_colorscale(self.name)]
        )
        if not self.has_forbidden:
            return colours
        zero = -self.lowest / (self.top - self.lowest)
        edge = zero * 0.98
        forbidden: list[list[object]] = [[0.0, LIGHT.forbidden], [edge, LIGHT.forbidden]]
        return forbidden + [[zero + (1 - zero) * float(str(place)), colour] for place, colour in colours]

    def colorbar(self, title: str = "weight") -> dict[str, object]:
        """Colour bar with the range written out, and the entry for forbidden cells."""
        ticks = [0.0, self.top / 2, self.top]
        texts = ["0", significant(self.top / 2, 2), significant(self.top, 2)]
        if self.top == 1:
            texts = ["0", "0.5", "1"]
        if self.has_forbidden:
            ticks, texts = [self.forbidden_value, *ticks], ["forbidden", *texts]
        return {
            "title": {"text": title, "side": "top", "font": {"size": 11, "color": LIGHT.muted}},
            "tickmode": "array",
            "tickvals": ticks,
            "ticktext": texts,
            "tickfont": {"size": 11, "color": LIGHT.text},
            "thickness": 10,
            "len": 1.0,
            "outlinewidth": 1,
            "outlinecolor": LIGHT.line,
            "xpad": 6,
            "ypad": 0,
        }

    def trace_options(self) -> dict[str, object]:
        """What a heatmap trace needs of this scale."""
        return {"colorscale": self.colorscale(), "zmin": self.lowest, "zmax": self.top}


@dataclass(frozen=True)
class MaskScale(WeightScale):
    """Two colours: a pair may attend, or it is forbidden."""

    name: str = "mask"
    top: float = 1.0
    has_forbidden: bool = True

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale of the two."""
        return [[0.0, LIGHT.forbidden], [0.6, LIGHT.forbidden], [0.6, LIGHT.soft], [1.0, LIGHT.soft]]

    def colorbar(self, title: str = "") -> dict[str, object]:
        """Both colours by name."""
        bar = super().colorbar(title)
        return bar | {"tickvals": [self.forbidden_value, 1.0], "ticktext": ["forbidden", "may attend"]}


@dataclass(frozen=True)
class SignedScale(WeightScale):
    """Colours from `-top` over 0 to `top`, for scores and differences; forbidden cells are below."""

    name: str = "signed"
    top: float = 1.0
    has_forbidden: bool = False

    @property
    def forbidden_value(self) -> float:
        """Value that stands for a forbidden cell."""
        return -(1 + FORBIDDEN_SHARE) * self.top

    @property
    def lowest(self) -> float:
        """Value at the low end of the scale."""
        return -(1 + 2 * FORBIDDEN_SHARE) * self.top if self.has_forbidden else -self.top

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale from `lowest` to `top`."""
        first = (-self.top - self.lowest) / (self.top - self.lowest)
        steps = len(LIGHT.signed) - 1
        signed: list[list[object]] = [
            [first + (1 - first) * i / steps, colour] for i, colour in enumerate(LIGHT.signed)
        ]
        return [[0.0, LIGHT.forbidden], [first * 0.98, LIGHT.forbidden], *signed] if self.has_forbidden else signed

    def colorbar(self, title: str = "score") -> dict[str, object]:
        """Colour bar from the most negative to the most positive number, and the entry for forbidden cells."""
        end = significant(self.top, 2)
        ticks, texts = [-self.top, 0.0, self.top], [f"{MINUS}{end}", "0", end]
        if self.has_forbidden:
            ticks, texts = [self.forbidden_value, *ticks], ["forbidden", *texts]
        return super().colorbar(title) | {"tickvals": ticks, "ticktext": texts}


def rounded_top(largest: float) -> float:
    """End of the scale for a largest weight: 1 from a half on, else the largest weight itself.

    >>> rounded_top(0.8), rounded_top(0.25), rounded_top(0.0)
    (1.0, 0.25, 1.0)
    """
    return 1.0 if largest >= 0.5 or largest <= 0 else largest


def with_forbidden(
    values: Float[np.ndarray, "*shape"], allowed: np.ndarray, scale: WeightScale
) -> Float[np.ndarray, "*shape"]:
    """Values to draw: the weights in float32, forbidden cells at the value that stands for them."""
    drawn = values.astype(np.float32)
    if scale.has_forbidden:
        drawn[~np.broadcast_to(allowed, values.shape)] = scale.forbidden_value
    return drawn
