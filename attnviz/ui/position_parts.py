"""What a position method is made of, and what it does at the chosen position."""

from __future__ import annotations

import numpy as np

from attnviz.figures import position_words as words
from attnviz.figures.position_bars import pair_planes, vector_bars
from attnviz.figures.position_lines import curve_lines
from attnviz.positions import Curve, Rotation
from attnviz.positions.similarity import Method
from attnviz.ui import show
from attnviz.ui.live import Words

MOST_COLUMNS = 128


def at_place(method: Method, place: int) -> None:
    """What is added at a position, and how the pairs of columns stand there."""
    if method.effects.add is not None:
        _vector(method, place)
    if method.effects.rotate is not None and method.effects.rotate.frequencies.size:
        _planes(method, method.effects.rotate, place)


def turned(method: Method, place: int) -> None:
    """What becomes of a vector at a position, of a method that turns."""
    rotation = method.effects.rotate
    if rotation is None:
        return
    before, after = _example(method, rotation, place)
    of_all = f" The first {MOST_COLUMNS} of {before.size} columns." if before.size > MOST_COLUMNS else ""
    show.figure(
        vector_bars(before[:MOST_COLUMNS], after[:MOST_COLUMNS], name="after"),
        key="position_turned",
        words=Words(
            f"What becomes of the vector 1, 2, … {before.size} at position {place}?",
            words.turned_answer(before, after),
            "A query or key of one head, before and after; each pair (a, b) becomes (a cos φ − b sin φ, a sin φ + "
            f"b cos φ) for its angle φ. No unit.{of_all}",
            words.turned_alt(before, after),
        ),
    )


def curves(method: Method, source: str, *, suffix: str = "") -> None:
    """Numbers that the method is made of, a picture for each kind, with their source."""
    given = list(method.effects.curves)
    rotation = method.effects.rotate
    if rotation is not None and rotation.frequencies.size:
        pairs, formula = np.arange(rotation.frequencies.size), "2π / frequency: the tokens of a whole turn"
        lengths = 2 * np.pi / rotation.frequencies
        given.append(Curve("Wavelength", "tokens", "pair of columns", pairs, lengths, formula, is_log=True))
    for index, curve in enumerate(given):
        over, unit = curve.over.partition(" (")[0], f" ({curve.unit})" if curve.unit else ""
        says = f" {curve.label} = {curve.formula}." if curve.formula else ""
        logarithmic = " The axis is logarithmic." if curve.is_log else ""
        show.figure(
            curve_lines(curve),
            key=f"position_curve_{index}{suffix}",
            words=Words(
                f"Which {curve.label.lower()} has each {over}?",
                words.curve_answer(curve),
                f"{curve.label}{unit} against {over}.{says}{logarithmic}{source}",
                words.curve_alt(curve),
            ),
        )


def _vector(method: Method, place: int) -> None:
    assert method.effects.add is not None
    vector = method.effects.add(np.array([place]))[0].astype(np.float64)
    shown = vector[:MOST_COLUMNS]
    of_all = f" The first {MOST_COLUMNS} of {vector.size} columns." if vector.size > MOST_COLUMNS else ""
    show.figure(
        vector_bars(None, shown, name="added", height=240),
        key="position_vector",
        words=Words(
            f"What is added at position {place}?",
            words.vector_answer(vector, place),
            f"One bar a column of x: what is added to it, no unit.{of_all}",
            f"Bars of the vector: {words.listed_numbers(vector)}.",
        ),
    )


def _planes(method: Method, rotation: Rotation, place: int) -> None:
    before, after = _example(method, rotation, place)
    answer = words.planes_answer(rotation.angles(np.array([place]))[0], place)
    show.figure(
        pair_planes(before, after, rotation, position=place),
        key="position_planes",
        words=Words(
            "How does a pair of columns turn?",
            answer,
            f"The vector of the bars, pair by pair ({rotation.layout}), each to its own length: number of the pair and "
            "angle above. Of more than six pairs the first six.",
            f"Hands before and after turning. {answer}",
        ),
    )


def _example(method: Method, rotation: Rotation, place: int) -> tuple[np.ndarray, np.ndarray]:
    """The vector 1, 2, 3... of a head's columns, and the same turned."""
    before = np.arange(1.0, method.shape.d_head + 1)
    return before, rotation(before[None, None], np.array([place]))[0, 0]
