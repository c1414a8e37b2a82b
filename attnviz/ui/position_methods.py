"""The position methods on screen: that of the scenario and the one beside it, or what prevents them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from attnviz.errors import SettingError
from attnviz.figures.labels import escaped
from attnviz.positions import Positional, PositionShape
from attnviz.positions.beyond import TIMES_LONGER
from attnviz.positions.similarity import Method, are_different
from attnviz.registries import POSITIONS
from attnviz.registry import Spec
from attnviz.scenario import PARAMS, Scenario
from attnviz.shapes import Embedded, PositionIds
from attnviz.ui import controls
from attnviz.ui.layer import Layer
from attnviz.ui.parameters import parameter
from attnviz.ui.show import marked, sentence

LEAST_PLACES = 64
MOST_PLACES = 128
MOST_CELLS = 1 << 17
OTHERS = (POSITIONS["rotary"].spec(), POSITIONS["alibi"].spec())


@dataclass(frozen=True)
class Comparison:
    """Two methods by their names, or one where the other is refused, and the head whose bias is looked at."""

    methods: Mapping[str, Method]
    head: int


def places_shown(layer: Layer) -> int:
    """How many positions are shown: at least 64, all of the text up to 128, and no more cells than can be exact."""
    trace = layer.trace
    most = min(MOST_PLACES, MOST_CELLS // trace.x.shape[1])
    return min(max(trace.n_q, trace.n_k, LEAST_PLACES), most)


def text_length(layer: Layer) -> int:
    """One more than the largest position of the text on screen."""
    origin = layer.trace.origin
    return 1 + max(int(origin.q_positions.max()), int(origin.k_positions.max()))


def is_biased(method: Method) -> bool:
    """Whether the method is one for each head."""
    return method.effects.bias is not None


def has_effect(method: Method) -> bool:
    """Whether the method does anything."""
    effects = method.effects
    return any(effect is not None for effect in (effects.add, effects.rotate, effects.bias))


def chosen_method(scenario: Scenario, layer: Layer, n_positions: int, *, in_words: bool = False) -> Method:
    """The method of the layer on screen, for a text of so many positions; of a trained model, its own vectors.

    Parameters
    ----------
    scenario, layer, n_positions
        What is on screen, and the length of the text.
    in_words
        Whether a trained model's vectors are divided by the root mean square of its word vectors, so that they stand
        beside words of variance 1 as those of a method do.

    Raises
    ------
    SettingError
        If the method refuses the sizes of the layer.
    """
    if scenario.input != "trained":
        return _registered(scenario.position, scenario, layer, n_positions)
    from attnviz.models import MINILM, load_minilm, word_size

    encoder = load_minilm()
    table = encoder.network.positions / (word_size(encoder) if in_words else 1.0)

    def add(positions: PositionIds) -> Embedded:
        return table[positions].astype(np.float64)

    label = f"Learned ({MINILM.label})"
    return Method(label, _shape(scenario, layer, n_positions), Positional(add=add), n_places=len(table))


def _registered(spec: Spec, scenario: Scenario, layer: Layer, n_positions: int) -> Method:
    entry, shape = POSITIONS[spec.name], _shape(scenario, layer, n_positions)
    effects, others = (
        entry.function(replace(shape, seed=seed), **dict(spec.params)) for seed in (shape.seed, shape.seed + 1)
    )
    return Method(escaped(entry.label), shape, effects, is_drawn=are_different(effects, others))


def _shape(scenario: Scenario, layer: Layer, n_positions: int) -> PositionShape:
    return PositionShape(layer.trace.x.shape[1], layer.trace.n_heads, scenario.seed, n_positions)


def longest_trained(scenario: Scenario) -> int:
    """The longest text of the training: that of the trained model on screen, else the chosen one."""
    if scenario.input != "trained":
        return scenario.trained_length
    from attnviz.models import MINILM

    return MINILM.max_tokens


def second_spec(scenario: Scenario) -> Spec:
    """The method beside that of the scenario: the chosen one, or another where both would be the same."""
    if scenario.input == "trained" or scenario.compared != scenario.position:
        return scenario.compared
    return next(spec for spec in OTHERS if spec.name != scenario.position.name)


def compared(scenario: Scenario, layer: Layer, n_positions: int) -> dict[str, Method]:
    """Both methods by their names; without the second where it refuses the sizes of the layer."""
    first = chosen_method(scenario, layer, n_positions, in_words=True)
    methods = {first.label: first}
    try:
        second = _registered(second_spec(scenario), scenario, layer, n_positions)
    except SettingError:
        return methods
    return {**methods, f"{second.label} (second)" if second.label in methods else second.label: second}


def comparison(scenario: Scenario, layer: Layer, n_positions: int, *, has_length: bool = False) -> Comparison:
    """Both methods, after the controls for the second and for the head; a refused one is said in a sentence.

    With `has_length` there is a control for the trained length too.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        if has_length:
            _length_control(scenario)
        controls.spec_menu("compared", "Beside it", scenario.compared)
        controls.parameters("compared", scenario.compared)
        methods = compared(scenario, layer, n_positions)
        head = (
            controls.head_picker(layer)
            if any(is_biased(method) for method in methods.values())
            else controls.clamped_head(layer)
        )
    say_which(scenario, layer, n_positions, has_both=len(methods) > 1)
    return Comparison(methods, head)


def _length_control(scenario: Scenario) -> None:
    label = "Trained length (tokens)"
    if scenario.input != "trained":
        summary = f"Suppose that no text in training was longer; the text here is {TIMES_LONGER} times as long."
        parameter("trained_length", PARAMS["trained_length"], label=label, summary=summary)
        return
    reason = "The trained model has a vector for so many positions, so no text in its training was longer."
    st.selectbox(label, [str(longest_trained(scenario))], disabled=True, help=reason, key="fixed.trained_length")


def say_which(scenario: Scenario, layer: Layer, n_positions: int, *, has_both: bool) -> None:
    """That another method stands beside the first than the chosen one, or why none does."""
    spec = second_spec(scenario)
    label = POSITIONS[spec.name].label
    if not has_both:
        try:
            _registered(spec, scenario, layer, n_positions)
        except SettingError as error:
            st.warning(marked(f"{label} is not shown: {error}"))
    elif spec != scenario.compared:
        sentence(
            f"{POSITIONS[scenario.compared.name].label} is chosen twice, with the same parameters, so {label} stands "
            "beside it. Choose another method, or change a parameter of one."
        )
