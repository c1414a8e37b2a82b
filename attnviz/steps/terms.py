"""A sum of many products, with the large ones shown and the rest taken together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.steps.equation import DIGITS, PRODUCT, SUM, Equation, Number, number, numbers

MOST_WRITTEN = 4
Line = Float[np.ndarray, " term"]


@dataclass(frozen=True, eq=False)
class Terms:
    """Products a_t b_t and their sum.

    Attributes
    ----------
    name
        What is counted: `column`, `key` or `head`.
    labels
        What each term is called.
    left, right
        The factors of each; None where a term is not a product.
    values
        The terms.
    chosen
        The term that the stages follow.
    constant, constant_name
        Added to the sum of the terms, as a bias is.
    numbered
        What each term counts, where that is not 0, 1, 2...
    digits
        Significant digits of the largest number.
    """

    name: str
    labels: Sequence[str]
    left: Line | None
    right: Line | None
    values: Line
    chosen: int
    constant: float = 0.0
    constant_name: str = "bias"
    numbered: Sequence[int] | None = None
    digits: int = DIGITS

    @property
    def written(self) -> list[int]:
        """The chosen term and the largest of the others, as many as fit into a line."""
        order = [int(place) for place in np.argsort(-np.abs(self.values), kind="stable") if place != self.chosen]
        return [self.chosen, *order[: MOST_WRITTEN - 1]]

    @property
    def n_rest(self) -> int:
        """How many terms are not written out."""
        return len(self.values) - len(self.written)

    @property
    def shown(self) -> tuple[Number, ...]:
        """The written terms, the rest in one, the constant where there is one, and last the total."""
        written = self.values[self.written]
        rest = [float(self.values.sum() - written.sum())] if self.n_rest else []
        constant = [self.constant] if self.constant else []
        total = float(self.values.sum()) + self.constant
        return numbers([*map(float, written), *rest, *constant, total], self.digits)

    @property
    def total(self) -> Number:
        """The sum of all terms."""
        return self.shown[-1]

    def product(self, symbol: str, formula: str) -> Equation:
        """The chosen term as a product."""
        assert self.left is not None
        assert self.right is not None
        left, right = (number(float(factor[self.chosen])) for factor in (self.left, self.right))
        return Equation(symbol, formula, PRODUCT, (left, right), self.shown[0])

    def sum(self, symbol: str, formula: str) -> Equation:
        """The written terms and the rest, added up."""
        places = self.written if self.numbered is None else [self.numbered[place] for place in self.written]
        names = [f"{self.name} {place}" for place in places]
        names += [f"{self.n_rest} more"] if self.n_rest else []
        names += [self.constant_name] if self.constant else []
        return Equation(symbol, formula, SUM, self.shown[:-1], self.total, tuple(names))
