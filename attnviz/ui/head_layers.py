"""Which token looks at which: the links of one layer, and how attention adds up across layers."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.errors import NothingYetError
from attnviz.figures import flow_bars, layer_words, path_picture, path_words, rollout_map
from attnviz.figures.answers import quoted
from attnviz.figures.colours import rounded_top
from attnviz.figures.flow import flow_range
from attnviz.figures.row import keys_to_show
from attnviz.metrics.flow import MOST_TOKENS, flow, flow_of_classes
from attnviz.metrics.paths import strongest_routes
from attnviz.metrics.rollout import MeanMaps, mean_maps, rollout
from attnviz.numbers import grouped
from attnviz.scenario import Scenario
from attnviz.shapes import Matrix
from attnviz.ui import controls, head_lines, session, show
from attnviz.ui.layer import Run, Shown
from attnviz.ui.live import Words

LONGEST_ROLLOUT = 512
NAMES = {"lines": "Lines", "rollout": "Rollout", "flow": "Flow"}
DRAWN = {"head": "Chosen head", "all": "All heads"}


def layers(scenario: Scenario, shown: Shown, head: int) -> None:
    """Links of one layer, or what all layers up to the chosen one do together."""
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    with left, st.container(horizontal=True, gap="small"):
        controls.view_picker("layers_view", NAMES)
        if scenario.layers_view == "lines":
            controls.view_picker("drawn", DRAWN)
    with right:
        query = controls.query_picker(shown.layer)
    if scenario.layers_view == "lines":
        head_lines.lines(scenario, shown, head, query)
    elif scenario.layers_view == "rollout":
        rolled_out(scenario, shown, query)
    else:
        flowing(shown, query)


def rolled_out(scenario: Scenario, shown: Shown, query: int) -> None:
    """What each token is made of after the chosen layer, beside the attention of that layer alone."""
    maps, index = _maps(shown, LONGEST_ROLLOUT, "Rollout"), shown.index
    if shown.count == 1:
        _invitation("Rollout adds up the attention of several layers; this input has one. Below is that of this layer.")
    tokens, key = shown.layer.trace.query_tokens, session.keep_within("key", shown.layer.trace.n_k)
    rolled, uniform = (found[index] for found in _rollouts(shown.run, maps))
    raw = maps[index]
    top = rounded_top(float(max(rolled.max(), raw.weights.max())))
    pictures: list[tuple[Matrix, str, str, str, Words]] = [
        (
            rolled,
            "rollout",
            "share",
            "input token",
            Words(
                f"What is each token made of after {layer_words.through(index)}?",
                layer_words.rollout_answer(rolled, uniform, index, query, tokens),
                f"{layer_words.rollout_caption()} Click a cell to choose its query.",
                layer_words.map_alt(rolled, tokens, "rollout"),
            ),
        ),
        (
            raw.weights,
            "mean_attention",
            "weight",
            "key",
            Words(
                f"And where does layer {index} alone look?",
                layer_words.raw_answer(raw.weights, raw.uniform, index, query, tokens),
                "weight, mean over the heads of this layer, on the same scale; each row sums to 1.",
                layer_words.map_alt(raw.weights, tokens, f"mean attention of layer {index}"),
            ),
        ),
    ]
    for place, (shares, name, value, column, words) in zip(st.columns(2), pictures, strict=True):
        with place:
            show.figure(
                rollout_map(
                    shares, tokens, query=query, key=key, scale=scenario.scale, top=top, value=value, column=column
                ),
                key=name,
                words=words,
                on_click=session.click_setter(name),
            )
    if shown.count > 1:
        _paths(shown, maps[: index + 1], query)


def _paths(shown: Shown, used: tuple[MeanMaps, ...], query: int) -> None:
    """The strongest paths from the input to the chosen query, below the rollout that they add up to."""
    tokens, n_layers = shown.layer.trace.query_tokens, len(used)
    routes, uniform = shown.run.kept.once(
        ("paths", shown.index, query),
        lambda: (
            strongest_routes([one.weights for one in used], query),
            strongest_routes([one.uniform for one in used], query),
        ),
    )
    show.figure(
        path_picture(routes, tokens, query=query, n_layers=n_layers),
        key="rollout_paths",
        words=Words(
            path_words.paths_question(query, tokens),
            path_words.paths_answer(routes, uniform, query, tokens),
            path_words.paths_caption(len(routes.tokens(query)), len(tokens)),
            path_words.paths_alt(routes, query, n_layers, tokens),
        ),
        on_click=session.click_setter("rollout_paths"),
    )


def flowing(shown: Shown, query: int) -> None:
    """How much of the chosen query could come from each input token along all paths through the layers."""
    maps, index = _maps(shown, MOST_TOKENS, "Flow"), shown.index
    if shown.count == 1:
        _invitation(
            "Flow asks how attention can get through several layers; this input has one, where it is half the weight."
        )
        return
    tokens, used = shown.layer.trace.query_tokens, maps[: index + 1]
    flows, uniform = shown.run.kept.once(
        ("flow", index, query),
        lambda: (flow([one.weights for one in used], query), flow_of_classes([one.uniform for one in used], query)),
    )
    rolled = _rollouts(shown.run, maps)[0][index][query]
    places = keys_to_show(np.abs(flows - uniform), np.ones(len(flows), dtype=np.bool_), query)
    show.figure(
        flow_bars(flows, uniform, tokens, places, key=query),
        key="flow_of_query",
        words=Words(
            f"How much of query {query} {quoted(tokens[query])} could come from each input token?",
            layer_words.flow_answer(flows, uniform, rolled, query, tokens),
            layer_words.flow_caption(len(tokens), index + 1, len(places), flow_range(flows[places], uniform[places])),
            layer_words.flow_alt(flows, uniform, places, tokens),
        ),
    )


def _maps(shown: Shown, longest: int, name: str) -> tuple[MeanMaps, ...]:
    """The mean over the heads of each layer, for a setting that can be followed through layers."""
    trace = shown.layer.trace
    if trace.n_q != trace.n_k or trace.query_tokens != trace.key_tokens:
        raise NothingYetError(
            f"{name} follows tokens from layer to layer, so queries and keys must be the same tokens; here keys come "
            "from another text. Switch off cross-attention, or choose Lines."
        )
    if trace.n_q > longest:
        raise NothingYetError(
            f"{name} is computed for at most {longest} tokens; here are {grouped(trace.n_q)}. Shorten the text, or "
            "choose Lines."
        )
    return shown.run.kept.once("mean maps", lambda: tuple(map(mean_maps, shown.run.traces)))


def _rollouts(run: Run, maps: tuple[MeanMaps, ...]) -> tuple[tuple[Matrix, ...], tuple[Matrix, ...]]:
    """Rollout after each layer, of the weights and of heads uniform over the allowed keys."""
    return run.kept.once(
        "rollout", lambda: (rollout([one.weights for one in maps]), rollout([one.uniform for one in maps]))
    )


def _invitation(sentence: str) -> None:
    st.info(sentence)
    st.button("Read the text with the trained model", on_click=session.setter(input="trained"))
