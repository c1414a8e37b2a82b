"""Weights in another view: what is drawn of them, and what the picture says of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from attnviz.figures.colours import ViewedScale
from attnviz.figures.meta import Cells
from attnviz.metrics.viewing import View


@dataclass(frozen=True, eq=False)
class Seen:
    """Numbers of a view: `(head, row, column)` of the small maps, or `(row, column)` of a part of one.

    Attributes
    ----------
    view
        Which view it is.
    numbers
        What is drawn: `HIDDEN` where a key is hidden, NaN where the mask forbids.
    weights
        The weights behind them, hidden keys left out and the rest divided by its sum.
    is_empty
        Queries, of all heads or of one, that have no weight left.
    badge
        What the picture says of it at its top.
    """

    view: View
    numbers: Float[np.ndarray, "..."]
    weights: Float[np.ndarray, "..."]
    is_empty: Bool[np.ndarray, "..."]
    badge: str

    def colours(self, name: str, top: float, *, has_forbidden: bool) -> ViewedScale:
        """The scale of the numbers up to `top`; where each row has its own range they end at 1."""
        end = 1.0 if self.view.row_scale else top
        return ViewedScale(name, end, has_forbidden, bool(self.view.hidden), self.view.log_scale)

    def described(self, cells: Cells, colours: ViewedScale) -> Cells:
        """What cells are, with what they are in this view."""
        weight = f"{'renormalised ' if self.view.hidden else ''}weight"
        has_own_range = self.view.row_scale or cells.value != "weight"
        own_range = "weight over largest of row" if self.view.row_scale else f"{weight} over largest of head"
        return replace(
            cells,
            value=own_range if has_own_range else weight,
            lowest=colours.numbers_from,
            hidden_from=colours.hidden_from,
            hidden=f"this key is hidden{', or no weight is left in this row' if self.is_empty.any() else ''}",
            is_log=self.view.log_scale,
            behind=weight if has_own_range or self.view.log_scale else "",
        )

    def behind(self, cells: Cells, heads: range | None = None) -> Float[np.ndarray, "..."] | None:
        """The weights that the description of the cells speaks of, of some heads; None where these are drawn."""
        if not cells.behind:
            return None
        weights = self.weights if heads is None else self.weights[heads.start : heads.stop]
        return np.where(weights < 0, np.float32(np.nan), weights)

    def bar_title(self, usual: str) -> str:
        """What stands above the colour bar."""
        if self.view.row_scale:
            return "share of the<br>row's largest"
        return "renormalised<br>weight" if self.view.hidden and usual == "weight" else usual
