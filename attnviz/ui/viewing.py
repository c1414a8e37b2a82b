"""The view of the weights that a person chose: hidden keys, a range for each row, logarithmic colours."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.errors import AttnvizError
from attnviz.figures import viewing_words
from attnviz.figures.grid import largest_shown
from attnviz.figures.pattern import MOST_SIDE
from attnviz.figures.viewed import Seen
from attnviz.masks.lists import numbers_in
from attnviz.metrics.pooling import Window
from attnviz.metrics.viewing import LEAST_EXCESS, View, Viewed, rows_left_empty, sink_keys, viewed_window
from attnviz.numbers import percent
from attnviz.scenario import PARAMS, Scenario
from attnviz.shapes import HasKeys, MapPart
from attnviz.ui import compute, progress, session
from attnviz.ui.layer import Layer
from attnviz.ui.parameters import parameter
from attnviz.ui.show import plain

NO_SINK = "No key gets {} of the attention more than a uniform head gives it: there is no sink to hide in this layer."
WITHOUT_SINK = "without sink"


def controls() -> None:
    """The controls of the view."""
    summary = (
        "Playground, and the lines across layers: keys left out of the pictures of weights, as places with commas "
        "between them, such as 0, 12. "
        "The other weights of each row are divided by their sum."
    )
    parameter("hidden", PARAMS["hidden"], label="Hide keys", summary=summary)
    shown = session.scenario()
    if shown.hidden:
        st.button("Show all keys", on_click=session.setter(hidden=""), width="stretch")
    else:
        says = "Hides the keys that the heads of this layer look at much more than a uniform head would."
        st.button("Hide sinks", on_click=hide_sinks, width="stretch", help=says)
        if session.earlier(WITHOUT_SINK) == [_setting(shown)]:
            st.caption(plain(NO_SINK.format(percent(LEAST_EXCESS))))
    summary = "Playground: each row is divided by its largest weight, so that every query shows where it looks most."
    parameter("row_scale", PARAMS["row_scale"], label="Each row its own scale", summary=summary)
    summary = "Playground: colours follow the logarithm of the weights, so that small ones can be told from 0."
    parameter("log_scale", PARAMS["log_scale"], label="Log colours", summary=summary)


def hide_sinks() -> None:
    """Hide the keys that get most beyond a uniform head in the layer on screen, or say that there is none."""
    shown = session.scenario()
    try:
        keys = sink_keys(compute.shown_layer(shown).layer.survey())
    except AttnvizError:
        return
    if keys:
        session.change(hidden=", ".join(str(key) for key in keys))
    else:
        session.remember(WITHOUT_SINK, [_setting(shown)])


def _setting(scenario: Scenario) -> str:
    return str(scenario.to_query())


def tell_what_has_no_effect(scenario: Scenario) -> None:
    """What of the view is on, but changes nothing in the chosen view of the heads; nothing where there is no such."""
    has_lines = scenario.heads_view == "layers" and scenario.layers_view == "lines"
    settings = {
        "hidden keys": scenario.hidden and not has_lines,
        "each row its own scale": scenario.row_scale,
        "log colours": scenario.log_scale,
        "a scale for each head": not scenario.shared_scale,
    }
    said = viewing_words.without_effect([name for name, is_on in settings.items() if is_on])
    if said:
        st.caption(plain(said))


def asked_for(scenario: Scenario) -> list[int]:
    """Keys to hide, each once and in order, whether there are so many or not."""
    return sorted(set(numbers_in(scenario.hidden))) if scenario.hidden else []


def view_of(scenario: Scenario, n_k: int) -> View | None:
    """The view of maps with so many keys; None where none is asked for."""
    if not (scenario.hidden or scenario.row_scale or scenario.log_scale):
        return None
    hidden = tuple(key for key in asked_for(scenario) if key < n_k)
    return View(hidden, scenario.row_scale, scenario.log_scale)


def maps(layer: Layer, view: View) -> Seen:
    """The small maps of all heads in a view."""
    found, badge = layer.overview(), viewing_words.badge(view, layer.trace.key_tokens)
    weights = progress.viewed(layer, view.of_weights) if view.hidden else None
    shown = progress.viewed(layer, view.of_numbers) if view.row_scale else weights
    drawn, behind = (found.maps if one is None else one.maps for one in (shown, weights))
    is_empty = np.zeros((layer.trace.n_heads, layer.trace.n_q), dtype=bool) if weights is None else weights.is_empty
    return Seen(view, drawn, behind, is_empty, badge)


def part(layer: Layer, head: int, window: Window, view: View, *, is_training: bool = False) -> Seen:
    """A window of one head in a view."""
    badge = viewing_words.badge(view, layer.trace.key_tokens)
    weights = _part(layer, head, window, view.of_weights, is_training=is_training)
    drawn = _part(layer, head, window, view.of_numbers, is_training=is_training) if view.row_scale else weights
    return Seen(view, drawn, weights, _is_empty(layer, head, view, is_training=is_training), badge)


def top(layer: Layer, head: int, view: View, *, is_shared: bool) -> float:
    """The largest weight of the heads that are shown, or of this one: the end of the colours of a large head."""
    weights = maps(layer, view)
    own = float(np.fmax.reduce(weights.weights[head], axis=None, initial=0.0))
    return largest_shown(weights, head) if is_shared else own or 1.0


def answer(scenario: Scenario, layer: Layer, view: View, heads: range, *, after: str = "") -> str:
    """What hiding keys takes from some heads and, of the one that is spoken of before, where most of the rest goes."""
    beyond = viewing_words.past_the_last(asked_for(scenario), layer.trace.n_k)
    if not view.hidden:
        return beyond
    found, rest = layer.survey(), left(layer, view)
    said = viewing_words.hidden_answer(layer.trace, found, rest, view, heads, after=after)
    if after:
        said += viewing_words.rest_answer(layer.trace, rest, found.small.has_keys, heads.start)
    return f"{said}{beyond}"


def left(layer: Layer, view: View) -> Viewed:
    """What hiding keys leaves of all heads."""
    return progress.viewed(layer, view.of_weights)


def _part(layer: Layer, head: int, window: Window, view: View, *, is_training: bool) -> MapPart:
    if view.is_plain:
        return layer.part(head, window, is_training=is_training)
    trace = layer.trace.in_training() if is_training else layer.trace
    name = ("viewed part", is_training, head, window, view)
    return layer.kept.once(name, lambda: viewed_window(trace, head, window, MOST_SIDE, view))


def _is_empty(layer: Layer, head: int, view: View, *, is_training: bool) -> HasKeys:
    if not view.hidden:
        return np.zeros(layer.trace.n_q, dtype=bool)
    if not is_training:
        return left(layer, view).is_empty[head]
    name = ("rows left empty", head, view.of_weights)
    return layer.kept.once(name, lambda: rows_left_empty(layer.trace.in_training(), head, view.of_weights))
