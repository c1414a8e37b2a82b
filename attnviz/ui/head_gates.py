"""How many heads each token needs, in one layer."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.figures import cost_lines, gate_map, gate_words
from attnviz.figures.gates import queries_shown
from attnviz.metrics.adaptive import Adaptive, costs
from attnviz.scenario import PARAMS, Scenario
from attnviz.ui import compute, controls, head_parts, session, show
from attnviz.ui.head_gates_layers import adapted_layer, every_layer
from attnviz.ui.head_removal import written_by
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.live import Words
from attnviz.ui.parameters import parameter

GATE_BY = {"query": "Each token its own", "sentence": "All tokens the same"}
DEFINITION = (
    "A head’s share is ‖p_h‖ / Σ‖p_g‖, with p_h = context_h W_O^h what it writes (Kobayashi et al. 2020, section 2); "
    "the fewest heads that hold the chosen share are on. This is a gate by contribution while the layer runs, and not "
    "trained: Voita et al. 2019 and Michel et al. 2019 close heads for good, Correia et al. 2019 learn sparse weights "
    "inside a head. “At random”: root of the mean square over all sets of as many heads."
)


def adaptive(scenario: Scenario, shown: Shown, head: int) -> None:
    """The fewest heads that hold a share of what is written, for each token or for all, and what is lost."""
    intact = compute.with_all_heads(scenario, shown)
    is_one, query = shown.count == 1 or scenario.scope == "layer", 0
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    with left, st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        says = "The fewest heads are kept whose shares in what is written add up to this."
        parameter("kept_share", PARAMS["kept_share"], label="Share of what is written", summary=says)
        if is_one:
            query = controls.query_picker(intact.layer)
    with right, st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        head_parts.scope_picker(shown)
        controls.view_picker("gate_by", GATE_BY)
    if is_one:
        _one_layer(scenario, intact.layer, head=head, query=query)
    else:
        every_layer(scenario, intact, head)


def _one_layer(scenario: Scenario, layer: Layer, *, head: int, query: int) -> None:
    found = adapted_layer(layer, scenario)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _tokens(scenario, layer, found, head=head, query=query)
    with right:
        _costs(scenario, layer)
        tokens = layer.trace.query_tokens
        said = (gate_words.query_words(found, query, tokens), gate_words.tokens_words(found, tokens))
        show.sentence(" ".join(words for words in said if words))


def _tokens(scenario: Scenario, layer: Layer, found: Adaptive, *, head: int, query: int) -> None:
    trace = layer.trace
    queries = queries_shown(query, trace.n_q)
    part = ""
    if len(queries) < trace.n_q:
        part = f" Queries {queries[0]} to {queries[-1]} of {trace.n_q} are shown; choose a query for those around it."
    show.figure(
        gate_map(
            found.shares,
            found.keeps,
            found.n_kept,
            trace.query_tokens,
            queries,
            head=head,
            query=query,
            scale=scenario.scale,
        ),
        key="gate_map",
        words=Words(
            "How many heads does each token need?",
            gate_words.gates_answer(found, scenario.kept_share),
            f"{DEFINITION} Beside each token: how many heads are on. Click a cell for its token and head.{part}",
            gate_words.gates_alt(found, trace.query_tokens),
        ),
        on_click=_chosen_cell("gate_map", trace.n_heads),
    )


def _costs(scenario: Scenario, layer: Layer) -> None:
    made, n_heads = written_by(layer), layer.trace.n_heads
    cost = layer.kept.once(("costs", scenario.gate_by), lambda: costs(made, scenario.gate_by))
    show.figure(
        cost_lines(cost, n_heads, chosen=scenario.kept_share),
        key="gate_costs",
        words=Words(
            "What do fewer heads cost?",
            gate_words.costs_answer(cost, n_heads),
            "Heads on, in % of all, mean over the queries, and ‖output with them − output‖ / ‖output‖ in %, for "
            "shares of 5 to 100 %. The upright line is the share that is set.",
            gate_words.costs_alt(cost),
        ),
    )


def _chosen_cell(key: str, n_heads: int) -> Callable[[], None]:
    """A callback that takes query (row) and head (column) of the cell that was clicked."""

    def take() -> None:
        cell = session.clicked_cell(key)
        if cell is not None and cell[1] < n_heads:
            session.change(query=cell[0], head=cell[1])

    return take
