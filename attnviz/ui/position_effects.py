"""What the chosen position method adds, turns or biases."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.figures import position_words as words
from attnviz.figures.position_bars import pair_planes, vector_bars
from attnviz.figures.position_lines import angle_lines, bias_lines, curve_lines
from attnviz.figures.position_maps import added_heatmap, scale_end
from attnviz.numbers import counted
from attnviz.positions import Curve, Rotation
from attnviz.positions.similarity import Method
from attnviz.registries import POSITIONS
from attnviz.scenario import Scenario
from attnviz.ui import controls, show
from attnviz.ui.compute import Layer
from attnviz.ui.live import Words
from attnviz.ui.position_methods import chosen_method, has_effect, places_shown, text_length

MOST_COLUMNS = 128


def effect(scenario: Scenario, layer: Layer) -> None:
    """Every effect of the method in its own pictures, and what it is made of."""
    method, n_places = chosen_method(scenario, layer, text_length(layer)), places_shown(layer)
    if not has_effect(method):
        show.sentence(f"{method.label}: {words.NO_EFFECT}", ("See “Same tokens, shuffled” for the numbers.",))
        return
    effects = method.effects
    is_placed = effects.add is not None or effects.rotate is not None
    large, beside = st.columns([3, 2], gap="medium")
    with beside:
        place = st.slider("Position", 0, n_places - 1, 1, key="place", help=PLACE) if is_placed else 0
        head = controls.head_picker(layer) if effects.bias is not None else 0
    if effects.add is not None:
        with large:
            _added(method, n_places, place, layer)
        with beside:
            _vector(method, place)
    if effects.rotate is not None:
        with large:
            _angles(effects.rotate, n_places)
            _turned(method, effects.rotate, place)
        with beside:
            _planes(method, effects.rotate, place)
    if effects.bias is not None:
        with large:
            _bias(method, n_places, head)
    with beside:
        _curves(scenario, method)


PLACE = "The position whose vector is shown; the text starts at 0."


def _source(scenario: Scenario) -> str:
    return "" if scenario.input == "trained" else f" Source: {POSITIONS[scenario.position.name].source}."


def _added(method: Method, n_places: int, place: int, layer: Layer) -> None:
    assert method.effects.add is not None
    table = method.effects.add(np.arange(n_places)).astype(np.float64)
    total = max(layer.trace.n_q, layer.trace.n_k)
    of_all = f" The first {n_places} of {counted(total, 'position')}." if total > n_places else ""
    show.figure(
        added_heatmap(table, place=place),
        key="position_added",
        words=Words(
            "What is added at each position?",
            f"{method.label}: {words.added_answer(table)}",
            "x = word + this row. Blue adds, orange takes away; one scale, symmetric about 0, no unit. The framed row "
            f"is the chosen position.{words.clipped(scale_end(table), table)}{of_all}",
            words.added_alt(table),
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


def _curves(scenario: Scenario, method: Method) -> None:
    curves = list(method.effects.curves)
    rotation = method.effects.rotate
    if rotation is not None and rotation.frequencies.size:
        pairs = np.arange(rotation.frequencies.size)
        curves.append(
            Curve("Wavelength", "tokens", "pair of columns", pairs, 2 * np.pi / rotation.frequencies, is_log=True)
        )
    for index, curve in enumerate(curves):
        over, unit = curve.over.partition(" (")[0], f" ({curve.unit})" if curve.unit else ""
        formula = " Wavelength = 2π / frequency: the tokens of a whole turn." if curve.label == "Wavelength" else ""
        logarithmic = " The axis is logarithmic." if curve.is_log else ""
        show.figure(
            curve_lines(curve),
            key=f"position_curve_{index}",
            words=Words(
                f"Which {curve.label.lower()} has each {over}?",
                words.curve_answer(curve),
                f"{curve.label}{unit} against {over}.{formula}{logarithmic}{_source(scenario)}",
                words.curve_alt(curve),
            ),
        )


def _angles(rotation: Rotation, n_places: int) -> None:
    if not rotation.frequencies.size:
        show.sentence("No column turns: query and key stay as they are at every position.")
        return
    show.figure(
        angle_lines(rotation, n_places),
        key="position_angles",
        words=Words(
            "How far does each pair of columns turn?",
            words.angles_answer(rotation, n_places),
            "Angle of pair i at position p = p · frequency of the pair, in turns of 2π; both axes are logarithmic. Of "
            "more than five pairs five are drawn.",
            words.angles_alt(rotation, n_places),
        ),
    )


def _example(method: Method, rotation: Rotation, place: int) -> tuple[np.ndarray, np.ndarray]:
    """The vector 1, 2, 3... of a head's columns, and the same turned."""
    before = np.arange(1.0, method.shape.d_head + 1)
    return before, rotation(before[None, None], np.array([place]))[0, 0]


def _turned(method: Method, rotation: Rotation, place: int) -> None:
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


def _planes(method: Method, rotation: Rotation, place: int) -> None:
    if not rotation.frequencies.size:
        return
    before, after = _example(method, rotation, place)
    angles = rotation.angles(np.array([place]))[0]
    answer = words.planes_answer(angles, place)
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


def _bias(method: Method, n_places: int, head: int) -> None:
    assert method.effects.bias is not None
    query = n_places - 1
    keys = np.arange(2 * query + 1)
    given = method.effects.bias(np.array([query]), keys)
    bias = np.broadcast_to(given, (method.shape.n_heads, 1, keys.size))[:, 0].astype(np.float64)
    distance = keys - query
    show.figure(
        bias_lines(distance, bias, head=head),
        key="position_bias",
        words=Words(
            "What is added to the score at each distance?",
            f"{method.label}: {words.bias_answer(distance, bias, head)}",
            f"score = q · k / √d_head + bias; no unit. Here for the query at position {query}, keys before it on the "
            "left.",
            words.bias_alt(distance, bias, head),
        ),
    )
