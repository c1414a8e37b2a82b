"""What one stage of the arithmetic shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.steps.equation import Equation
from attnviz.steps.terms import Terms


@dataclass(frozen=True, eq=False)
class Shot:
    """A small picture of an array, or of the part of it around what is marked.

    Attributes
    ----------
    title
        What the array is.
    values
        Its numbers.
    row, column, other_row
        What is marked of `values`; a whole row where `column` is None, and another row where there is one.
    first_row, first_column
        Where the part begins.
    row_name, column_name
        What a row and a column are.
    is_part
        Whether the array is larger than the picture.
    allowed
        Which cells the mask allows; all where it is left out.
    """

    title: str
    values: Float[np.ndarray, "row column"]
    row: int
    column: int | None = None
    first_row: int = 0
    first_column: int = 0
    row_name: str = "token"
    column_name: str = "column"
    is_part: bool = False
    other_row: int | None = None
    allowed: Bool[np.ndarray, "row column"] | None = None


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage: its question, its answer, its equations, and pictures of its arrays.

    Attributes
    ----------
    name
        Its name in links.
    question, answer
        What it asks, and what came out, in a sentence.
    equations
        Formulas with numbers.
    shapes
        Sizes of the arrays, in a sentence.
    shots, kind
        Pictures, and what their colours show: `signed` numbers, `weights`, or a `mask`.
    has_own_scales
        Whether each picture is coloured up to its own largest number, where they hold unlike things.
    terms
        The sum that is drawn term by term.
    notes
        What else a reader should know.
    """

    name: str
    question: str
    answer: str
    equations: Sequence[Equation]
    shapes: str
    shots: Sequence[Shot]
    kind: str = "signed"
    has_own_scales: bool = False
    terms: Terms | None = None
    notes: str = ""
