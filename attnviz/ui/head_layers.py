"""Which token looks at which: the links of one layer, and how attention adds up across layers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.core.trace import AttentionTrace
from attnviz.errors import NothingYetError
from attnviz.figures import attention_lines, flow_bars, layer_words, rollout_map
from attnviz.figures.answers import quoted
from attnviz.figures.colours import rounded_top
from attnviz.figures.grid import heads_shown
from attnviz.figures.labels import visible
from attnviz.figures.row import keys_to_show
from attnviz.metrics.flow import MOST_TOKENS, flow
from attnviz.metrics.links import Links, strongest_links
from attnviz.metrics.rollout import MeanMaps, mean_maps, rollout
from attnviz.numbers import grouped
from attnviz.scenario import Scenario
from attnviz.shapes import Matrix
from attnviz.ui import controls, progress, session, show
from attnviz.ui.layer import Run, Shown
from attnviz.ui.live import Words

LONGEST_ROLLOUT = 512
MOST_OF_QUERY = 200
MOST_DRAWN_SHARE = 0.9
MOST_ROWS = 12
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
        lines(scenario, shown, head, query)
    elif scenario.layers_view == "rollout":
        rolled_out(scenario, shown, query)
    else:
        flowing(shown, query)


def lines(scenario: Scenario, shown: Shown, head: int, query: int) -> None:
    """The strongest links of the chosen head or of all heads, between two columns of tokens."""
    layer = shown.layer
    trace = layer.trace
    heads = range(head, head + 1) if scenario.drawn == "head" else heads_shown(head, trace.n_heads)
    links = progress.links(layer, heads).holding(MOST_DRAWN_SHARE)
    rows = range(query, query + 1)
    of_query = layer.kept.once(("links", heads, query), lambda: strongest_links(trace, heads, MOST_OF_QUERY, rows=rows))
    left, right = st.columns([3, 2])
    with left:
        _lines_picture(links, of_query, trace, heads=heads, query=query)
    with right:
        _links_table(links, trace)


def _lines_picture(links: Links, of_query: Links, trace: AttentionTrace, *, heads: range, query: int) -> None:
    is_one = len(heads) == 1
    show.figure(
        attention_lines(links, of_query, trace.query_tokens, trace.key_tokens, heads=heads, query=query),
        key="attention_lines",
        words=Words(
            f"Which tokens does {f'head {heads[0]}' if is_one else 'each head'} link?",
            layer_words.lines_answer(links, of_query, query, trace.query_tokens, trace.key_tokens),
            layer_words.lines_caption(heads, 1 if is_one else trace.n_heads),
            layer_words.lines_alt(links, heads, trace.query_tokens, trace.key_tokens),
        ),
        on_click=session.click_setter("attention_lines"),
    )


def _links_table(links: Links, trace: AttentionTrace) -> None:
    queries, keys = ([visible(token) for token in tokens] for tokens in (trace.query_tokens, trace.key_tokens))
    frame = pd.DataFrame(
        {
            "head": links.head,
            "query": links.query,
            "query_token": [queries[place] for place in links.query],
            "key": links.key,
            "key_token": [keys[place] for place in links.key],
            "weight": links.weight,
        }
    )
    few = min(MOST_ROWS, len(frame))
    show.table(
        frame,
        slice(0, few),
        title="The strongest links in numbers",
        caption=f"The first {few} of {grouped(len(frame))}; the file has all.",
        labels={
            "head": "Head",
            "query": "Query",
            "query_token": "Token",
            "key": "Key",
            "key_token": "Token",
            "weight": "Weight",
        },
        file_name="attnviz-links.csv",
        strong=-1,
    )


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


def flowing(shown: Shown, query: int) -> None:
    """How much of the chosen query could come from each input token along all paths through the layers."""
    maps, index = _maps(shown, MOST_TOKENS, "Flow"), shown.index
    if shown.count == 1:
        _invitation(
            "Flow asks how attention can get through several layers; this input has one, where it is half the weight."
        )
        return
    tokens, used = shown.layer.trace.query_tokens, maps[: index + 1]
    flows = shown.run.kept.once(("flow", index, query), lambda: flow([one.weights for one in used], query))
    rolled = _rollouts(shown.run, maps)[0][index][query]
    places = keys_to_show(flows, np.ones(len(flows), dtype=np.bool_), query)
    uniform = shown.run.kept.once(
        ("uniform flow", index, query), lambda: flow([one.uniform for one in used], query, places)
    )
    show.figure(
        flow_bars(flows, uniform, rolled, tokens, places, key=query),
        key="flow_of_query",
        words=Words(
            f"How much of query {query} {quoted(tokens[query])} could come from each input token?",
            layer_words.flow_answer(flows, rolled, uniform, places, query, tokens),
            layer_words.flow_caption(len(tokens), index + 1, len(places)),
            layer_words.flow_alt(flows, places, tokens),
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
