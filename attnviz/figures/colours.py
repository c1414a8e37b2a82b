"""How a weight becomes a colour: one scale for all pictures of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from plotly.colors import get_colorscale

from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics.viewing import floor_below, in_log
from attnviz.numbers import MINUS, RAISED, significant

# Long maps reach the browser as 254 steps from `lowest` to `top`: with 27 of them for each flat colour below it, 0 is a
# step of its own.
STEPS, FLAT_STEPS = 254, 27
FORBIDDEN_SHARE = FLAT_STEPS / (2 * (STEPS - FLAT_STEPS))
LEAST_WRITTEN = -3
LEAST_APART = 0.15


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

    def of_numbers(self) -> list[list[object]]:
        """Plotly colour scale of the numbers alone."""
        if self.name == SINGLE_HUE:
            return [[i / (len(LIGHT.weights) - 1), colour] for i, colour in enumerate(LIGHT.weights)]
        return [[place, colour] for place, colour in get_colorscale(self.name)]

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale from `lowest` to `top`."""
        colours = self.of_numbers()
        if not self.has_forbidden:
            return colours
        zero = -self.lowest / (self.top - self.lowest)
        edge = zero * 0.98
        forbidden: list[list[object]] = [[0.0, LIGHT.forbidden], [edge, LIGHT.forbidden]]
        return forbidden + [[zero + (1 - zero) * float(str(place)), colour] for place, colour in colours]

    def colorbar(self, title: str = "weight") -> dict[str, object]:
        """Colour bar with the range written out, and the entry for forbidden cells."""
        numbers = _linear_ticks(self.top)
        ticks, texts = [value for value, _ in numbers], [text for _, text in numbers]
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
class ViewedScale(WeightScale):
    """Colours of a view: those of the weights or of their logarithms, and a flat one of hidden keys below them.

    Attributes
    ----------
    has_hidden
        Whether the picture has hidden keys, and so the scale an entry for them.
    is_log
        Whether what is drawn is the base-10 logarithm of the numbers, from `least` to `top`.
    """

    has_hidden: bool = False
    is_log: bool = False

    @property
    def least(self) -> float:
        """The number that the colours begin at."""
        return floor_below(self.top) if self.is_log else 0.0

    @property
    def start(self) -> float:
        """What is drawn for `least`."""
        return math.log10(self.least) if self.is_log else 0.0

    @property
    def end(self) -> float:
        """What is drawn for `top`."""
        return math.log10(self.top) if self.is_log else self.top

    @property
    def flats(self) -> list[tuple[str, str]]:
        """What has no number: its name and its colour, from the low end of the scale on."""
        both = [("forbidden", LIGHT.forbidden, self.has_forbidden), ("hidden", LIGHT.hidden, self.has_hidden)]
        return [(name, colour) for name, colour, is_there in both if is_there]

    @property
    def forbidden_value(self) -> float:
        """Value that stands for a forbidden cell."""
        return self._flat_value(0)

    @property
    def hidden_value(self) -> float:
        """Value that stands for a cell of a hidden key."""
        return self._flat_value(len(self.flats) - 1)

    @property
    def lowest(self) -> float:
        """Value at the low end of the scale."""
        return self.start - len(self.flats) * self._flat_size

    @property
    def numbers_from(self) -> float:
        """A value below those of all numbers and above those of hidden keys."""
        return self.start - self._flat_size / 4

    @property
    def hidden_from(self) -> float | None:
        """A value below those of hidden keys and above that of forbidden cells; None where nothing is hidden."""
        return self.start - self._flat_size * 0.9 if self.has_hidden else None

    @property
    def _flat_size(self) -> float:
        return (self.end - self.start) * FLAT_STEPS / (STEPS - FLAT_STEPS * len(self.flats))

    def _flat_value(self, place: int) -> float:
        return self.lowest + (place + 0.5) * self._flat_size

    def drawn(self, numbers: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """What is drawn of numbers of a view, in float32: NaN as forbidden, `HIDDEN` as hidden."""
        values = in_log(numbers, self.least, self.top) if self.is_log else numbers
        values = np.where(numbers < 0, self.hidden_value, values).astype(np.float32)
        return with_forbidden(values, ~np.isnan(numbers), self)

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale from `lowest` to the end."""
        zero = (self.start - self.lowest) / (self.end - self.lowest)
        stops: list[list[object]] = []
        for place, (_, colour) in enumerate(self.flats):
            is_last = place == len(self.flats) - 1
            first, last = place * zero / len(self.flats), (place + 1) * zero / len(self.flats)
            stops.append([first, colour])
            stops.append([last * 0.98 if is_last else last, colour])
        stops.extend([zero + (1 - zero) * float(str(place)), colour] for place, colour in self.of_numbers())
        return stops

    def colorbar(self, title: str = "weight") -> dict[str, object]:
        """Colour bar with the numbers written out, and the entries for what has none."""
        numbers = self._ticks() if self.is_log else _linear_ticks(self.top)
        flats = [(self._flat_value(place), name) for place, (name, _) in enumerate(self.flats)]
        ticks = {"tickvals": [value for value, _ in flats + numbers], "ticktext": [text for _, text in flats + numbers]}
        return super().colorbar(title) | ticks

    def _ticks(self) -> list[tuple[float, str]]:
        """The floor, the powers of ten above it and the top, each with its text."""
        powers = range(round(self.start) + 1, math.ceil(self.end - LEAST_APART))
        inside = [(float(power), power_of_ten(power)) for power in powers]
        last = "1" if self.top == 1 else significant(self.top, 2)
        return [(self.start, f"≤ {power_of_ten(round(self.start))}"), *inside, (self.end, last)]

    def trace_options(self) -> dict[str, object]:
        """What a heatmap trace needs of this scale."""
        return {"colorscale": self.colorscale(), "zmin": self.lowest, "zmax": self.end}


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


def _linear_ticks(top: float) -> list[tuple[float, str]]:
    """0, the middle and the top, each with its text."""
    middle, end = ("0.5", "1") if top == 1 else (significant(top / 2, 2), significant(top, 2))
    return [(0.0, "0"), (top / 2, middle), (top, end)]


def power_of_ten(power: int) -> str:
    """A power of ten as a colour bar has it.

    >>> power_of_ten(0), power_of_ten(-3), power_of_ten(-5)
    ('1', '0.001', '10⁻⁵')
    """
    return f"{10.0**power:g}" if power >= LEAST_WRITTEN else f"10{str(power).translate(RAISED)}"


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
