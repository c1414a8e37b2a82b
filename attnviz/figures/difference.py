"""One head's map less another's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.colours import FORBIDDEN_SHARE, SignedScale
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.pattern import map_figure
from attnviz.figures.theme import LIGHT
from attnviz.metrics.difference import ONE_SIDED, Side
from attnviz.metrics.pooling import Window
from attnviz.numbers import MINUS, significant
from attnviz.shapes import MapPart


@dataclass(frozen=True)
class DifferenceScale(SignedScale):
    """Colours of a difference, and below them flat ones of the pairs that both masks forbid, and that one does.

    Attributes
    ----------
    has_one_sided
        Whether there are pairs that one of the masks forbids, and so an entry for them.
    """

    has_one_sided: bool = False

    @property
    def flats(self) -> list[tuple[str, str]]:
        """What has no difference: its name and its colour, from the low end of the scale on."""
        both = ("forbidden in both" if self.has_one_sided else "forbidden", LIGHT.forbidden)
        there = [(both, self.has_forbidden), (("forbidden in one", LIGHT.hidden), self.has_one_sided)]
        return [flat for flat, is_there in there if is_there]

    @property
    def _flat_size(self) -> float:
        return 2 * FORBIDDEN_SHARE * self.top

    def _flat_value(self, place: int) -> float:
        return self.lowest + (place + 0.5) * self._flat_size

    @property
    def lowest(self) -> float:
        """Value at the low end of the scale."""
        return -self.top - len(self.flats) * self._flat_size

    @property
    def forbidden_value(self) -> float:
        """Value that stands for a pair that both masks forbid."""
        return self._flat_value(0)

    @property
    def one_sided_value(self) -> float:
        """Value that stands for a pair that one of the masks forbids."""
        return self._flat_value(len(self.flats) - 1)

    @property
    def one_sided_from(self) -> float | None:
        """A value below those of the pairs that one mask forbids and above that of both; None without such pairs."""
        return -self.top - 0.9 * self._flat_size if self.has_one_sided else None

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale from `lowest` to `top`."""
        zero = (-self.top - self.lowest) / (self.top - self.lowest)
        count, steps = len(self.flats), len(LIGHT.signed) - 1
        stops: list[list[object]] = []
        for place, (_, colour) in enumerate(self.flats):
            last = (place + 1) * zero / count
            stops.append([place * zero / count, colour])
            stops.append([last * 0.98 if place == count - 1 else last, colour])
        return stops + [[zero + (1 - zero) * i / steps, colour] for i, colour in enumerate(LIGHT.signed)]

    def colorbar(self, title: str = "difference") -> dict[str, object]:
        """Colour bar from the most negative to the most positive number, and the entries for what has none."""
        bar = SignedScale(top=self.top).colorbar(title)
        values, texts = (
            [self._flat_value(place) for place in range(len(self.flats))],
            [name for name, _ in self.flats],
        )
        numbers = [-self.top, 0.0, self.top]
        end = significant(self.top, 2)
        return bar | {"tickvals": [*values, *numbers], "ticktext": [*texts, f"{MINUS}{end}", "0", end]}


def difference_map(
    first: Side, part: MapPart, window: Window, *, query: int, key: int, largest: float, names: tuple[str, str]
) -> go.Figure:
    """What the first of two heads gives more, and less, than the second, on one scale that is symmetric about 0.

    Parameters
    ----------
    first
        The head whose tokens are on the axes.
    part, window
        The differences, NaN where both masks forbid the pair and −∞ where one does, and what part of the map they are.
    query, key
        The cell that is framed.
    largest
        Size of the difference at either end of the scale.
    names
        What the two are called.
    """
    trace = first.trace
    is_one_sided = part == ONE_SIDED
    colours = DifferenceScale(
        top=largest or 1.0, has_forbidden=bool(np.isnan(part).any()), has_one_sided=bool(is_one_sided.any())
    )
    cells = Cells(
        value=f"{names[0]} less {names[1]}",
        heads=(),
        roles=(),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        lowest=-colours.top,
        below="forbidden in both",
        hidden_from=colours.one_sided_from,
        hidden="forbidden in one of the two",
        click="cell",
    )
    return map_figure(
        trace,
        np.where(is_one_sided, colours.one_sided_value, part),
        cells,
        colours,
        window,
        query=query,
        key=key,
        has_keys=np.ones(trace.n_q, dtype=bool),
        bar_title="difference",
    )
