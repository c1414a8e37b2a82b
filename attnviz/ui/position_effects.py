"""What the chosen position method adds, turns or biases, and another one beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.figures import position_words as words
from attnviz.figures.position_lines import angle_lines, bias_lines
from attnviz.figures.position_maps import added_heatmap, scale_end
from attnviz.numbers import counted
from attnviz.positions import Rotation
from attnviz.positions.beyond import bias_reach
from attnviz.positions.similarity import Method
from attnviz.registries import POSITIONS
from attnviz.scenario import Scenario
from attnviz.shapes import Embedded
from attnviz.ui import controls, position_parts, session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words
from attnviz.ui.position_methods import (
    chosen_method,
    compared,
    has_effect,
    is_biased,
    places_shown,
    say_which,
    second_spec,
    text_length,
)

PAIRED = "beside_another"
PLACE = "place"
WIDE = 360


@dataclass(frozen=True, eq=False)
class Setting:
    """What the pictures of an effect share.

    Attributes
    ----------
    scenario, layer
        What is on screen.
    methods
        The method of the layer, and another one where both are drawn, by their names.
    n_places, place, head
        How many positions are shown, the chosen one, and the head whose bias is looked at.
    """

    scenario: Scenario
    layer: Layer
    methods: Mapping[str, Method]
    n_places: int
    place: int
    head: int

    @property
    def is_paired(self) -> bool:
        """Whether another method stands beside that of the layer."""
        return len(self.methods) > 1


def effect(scenario: Scenario, layer: Layer) -> None:
    """Every effect of the method in its own pictures, and what it is made of; on demand another method beside it."""
    length = text_length(layer)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        is_paired = bool(session.keep_view(PAIRED, False))
        st.toggle("Beside another method", key=PAIRED, help=PAIRED_HELP, width="content")
        if is_paired:
            controls.spec_menu("compared", "Beside it", scenario.compared)
            controls.parameters("compared", scenario.compared)
            methods = compared(scenario, layer, length)
        else:
            only = chosen_method(scenario, layer, length)
            methods = {only.label: only}
        setting = Setting(scenario, layer, methods, places_shown(layer), *_pickers(methods, layer))
    if is_paired:
        say_which(scenario, layer, length, has_both=setting.is_paired)
    name, *others = methods
    large, beside = st.columns([1, 1] if others else [3, 2], gap="medium")
    with large:
        _main(setting, name, "")
    for other in others:
        with beside:
            _main(setting, other, "_second")
        large, beside = st.columns(2, gap="medium")
        with beside:
            position_parts.curves(methods[other], _source(scenario, "_second"), suffix="_second")
    with large:
        position_parts.turned(methods[name], setting.place)
    with large if others else beside:
        position_parts.at_place(methods[name], setting.place)
        position_parts.curves(methods[name], _source(scenario, ""))


PAIRED_HELP = "Draws what a second method adds, turns or biases on the same scale."
PLACE_HELP = "The position whose vector is shown; the text starts at 0."


def _source(scenario: Scenario, suffix: str) -> str:
    """Where a method is published; empty for what a trained model has learned."""
    if scenario.input == "trained" and not suffix:
        return ""
    spec = second_spec(scenario) if suffix else scenario.position
    return f" Source: {POSITIONS[spec.name].source}."


def _pickers(methods: Mapping[str, Method], layer: Layer) -> tuple[int, int]:
    """Controls for the position and for the head, as far as a picture has them."""
    place = int(session.keep_view(PLACE, 1))
    if any(method.effects.add or method.effects.rotate for method in methods.values()):
        n_places = places_shown(layer)
        place = session.keep_within(PLACE, n_places)
        st.slider("Position", 0, n_places - 1, key=PLACE, help=PLACE_HELP, width=WIDE)
    is_any_biased = any(is_biased(method) for method in methods.values())
    return place, controls.head_picker(layer) if is_any_biased else 0


def _main(setting: Setting, name: str, suffix: str) -> None:
    """What a method adds, turns and biases; its pictures are on the scale of the other one's."""
    method = setting.methods[name]
    if not has_effect(method):
        show.sentence(f"{name}: {words.NO_EFFECT}", ("See “Same tokens, shuffled” for the numbers.",))
    if method.effects.add is not None:
        _added(setting, name, suffix)
    if method.effects.rotate is not None:
        _angles(setting, name, method.effects.rotate, suffix)
    if method.effects.bias is not None:
        _bias(setting, name, suffix)


def _drawn(method: Method) -> str:
    return words.drawn_from_seed([method.label]) if method.is_drawn else ""


def _table(setting: Setting, method: Method) -> Embedded | None:
    if method.effects.add is None:
        return None
    return method.effects.add(np.arange(setting.n_places)).astype(np.float64)


def _added(setting: Setting, name: str, suffix: str) -> None:
    method, layer, n_places = setting.methods[name], setting.layer, setting.n_places
    tables = {other: _table(setting, one) for other, one in setting.methods.items()}
    table = tables[name]
    assert table is not None
    every = np.stack([one for one in tables.values() if one is not None])
    total = max(layer.trace.n_q, layer.trace.n_k)
    of_all = f" The first {n_places} of {counted(total, 'position')}." if total > n_places else ""
    one_scale = "one scale for both methods" if len(every) > 1 else "one scale"
    show.figure(
        added_heatmap(table, place=setting.place, end=scale_end(every)),
        key=f"position_added{suffix}",
        words=Words(
            "What is added at each position?",
            f"{name}: {words.added_answer(table)}",
            f"{_sum(setting, is_own=not suffix)} Blue adds, orange takes away; {one_scale}, symmetric about 0, no "
            "unit. The framed row is the chosen position."
            f"{words.clipped(scale_end(every), table)}{of_all}{_drawn(method)}",
            words.added_alt(table),
        ),
    )


def _sum(setting: Setting, *, is_own: bool) -> str:
    """Where the rows are added: in a trained model once, before its first layer."""
    if setting.scenario.input != "trained" or not is_own:
        return "x = word + this row."
    index = setting.scenario.layer
    reads = "layer 0 reads the result" if index == 0 else f"layer {index} reads the output of layer {index - 1}"
    in_words = " The rows are divided by the root mean square of the model's word vectors." if setting.is_paired else ""
    return f"Added once, before layer 0: LayerNorm(word + this row + segment); {reads}.{in_words}"


def _angles(setting: Setting, name: str, rotation: Rotation, suffix: str) -> None:
    if not rotation.frequencies.size:
        show.sentence(f"{name}: no column turns, query and key stay as they are at every position.")
        return
    others = [method.effects.rotate for method in setting.methods.values()]
    show.figure(
        angle_lines(
            rotation,
            setting.n_places,
            among=[one for one in others if one is not None and one.frequencies.size],
        ),
        key=f"position_angles{suffix}",
        words=Words(
            "How far does each pair of columns turn?",
            f"{name}: {words.angles_answer(rotation, setting.n_places)}",
            "Angle of pair i at position p = p · frequency of the pair, in turns of 2π; both axes are logarithmic. Of "
            "more than five pairs five are drawn.",
            words.angles_alt(rotation, setting.n_places),
        ),
    )


def _bias(setting: Setting, name: str, suffix: str) -> None:
    biased = {other: method for other, method in setting.methods.items() if is_biased(method)}
    reach = max(bias_reach(method, setting.n_places - 1) for method in biased.values())
    distance = np.arange(-reach, reach + 1)
    lines = {other: _bias_of(method, reach) for other, method in biased.items()}
    bias, head = lines[name], setting.head
    both = " One scale for both methods." if len(lines) > 1 else ""
    show.figure(
        bias_lines(distance, bias, head=head, among=list(lines.values())),
        key=f"position_bias{suffix}",
        words=Words(
            "What is added to the score at each distance?",
            f"{name}: {words.bias_answer(distance, bias, head)}",
            f"score = q · k / √d_head + bias; no unit. Here for the query at position {reach}, keys before it on the "
            f"left.{both}{words.some_heads(bias)}{_drawn(biased[name])}",
            words.bias_alt(distance, bias, head),
        ),
    )


def _bias_of(method: Method, query: int) -> np.ndarray:
    """The bias of every head (row) for a query at this position, for keys as far before as after it."""
    assert method.effects.bias is not None
    keys = np.arange(2 * query + 1)
    given = method.effects.bias(np.array([query]), keys)
    return np.broadcast_to(given, (method.shape.n_heads, 1, keys.size))[:, 0].astype(np.float64)
