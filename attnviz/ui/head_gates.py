"""How many heads each token needs."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.figures import cost_lines, gate_map, gate_words
from attnviz.figures.gates import queries_shown
from attnviz.metrics.adaptive import adaptive as adapted
from attnviz.metrics.adaptive import adaptive_gates, costs
from attnviz.numbers import significant
from attnviz.scenario import PARAMS, Scenario
from attnviz.ui import compute, controls, session, show
from attnviz.ui.head_removal import written_by
from attnviz.ui.layer import Run, Shown
from attnviz.ui.live import Words
from attnviz.ui.parameters import parameter

GATE_BY = {"query": "Each token its own", "sentence": "All tokens the same"}
DEFINITION = (
    "A head’s share is ‖p_h‖ / Σ‖p_g‖, with p_h = context_h W_O^h what it writes (Kobayashi et al. 2020, section 2); "
    "the fewest heads that hold the chosen share are on. This is a gate by contribution while the layer runs, and not "
    "trained: Voita et al. 2019 and Michel et al. 2019 close heads for good, Correia et al. 2019 learn sparse weights "
    "inside a head."
)


def adaptive(scenario: Scenario, shown: Shown, head: int) -> None:
    """The fewest heads that hold a share of what is written, for each token or for all, and what is lost."""
    intact = compute.with_all_heads(scenario, shown)
    layer, trace = intact.layer, intact.layer.trace
    share, gate_by = scenario.kept_share, scenario.gate_by
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    with left:
        says = "The fewest heads are kept whose shares in what is written add up to this."
        parameter("kept_share", PARAMS["kept_share"], label="Share of what is written", summary=says)
    with right:
        controls.view_picker("gate_by", GATE_BY)
    made = written_by(layer)
    found = layer.kept.once(("adaptive", share, gate_by), lambda: adapted(made, share, gate_by))
    cost = layer.kept.once(("costs", gate_by), lambda: costs(made, gate_by))
    query = session.keep_within("query", trace.n_q)
    queries = queries_shown(query, trace.n_q)
    part = f" Queries {queries[0]} to {queries[-1]} of {trace.n_q} are shown." if len(queries) < trace.n_q else ""
    left, right = st.columns([3, 2], gap="medium")
    with left:
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
                gate_words.gates_answer(found, share, gate_by),
                f"{DEFINITION} Beside each token: how many heads are on. Click a cell for its token and head.{part}",
                gate_words.gates_alt(found, trace.query_tokens),
            ),
            on_click=_chosen_cell("gate_map", trace.n_heads),
        )
    with right:
        show.figure(
            cost_lines(cost, trace.n_heads, chosen=share),
            key="gate_costs",
            words=Words(
                "What do fewer heads cost?",
                gate_words.costs_answer(cost, trace.n_heads),
                "Heads on, in % of all, mean over the queries, and ‖output with them − output‖ / ‖output‖ in %, for "
                "shares of 5 to 100 %. The upright line is the share that is set.",
                gate_words.costs_alt(cost),
            ),
        )
        words = [gate_words.tokens_words(found, trace.query_tokens)]
        if scenario.input == "trained":
            words.append(_in_every_layer(scenario, intact.run))
        show.sentence(" ".join(words))


def _chosen_cell(key: str, n_heads: int) -> Callable[[], None]:
    """A callback that takes query (row) and head (column) of the cell that was clicked."""

    def take() -> None:
        cell = session.clicked_cell(key)
        if cell is not None and cell[1] < n_heads:
            session.change(query=cell[0], head=cell[1])

    return take


def _in_every_layer(scenario: Scenario, run: Run) -> str:
    """What gates in all layers of the trained model do to the embedding of the text."""
    share, gate_by = scenario.kept_share, scenario.gate_by
    mean, change = run.kept.once(("gated layers", share, gate_by), lambda: _gated_run(scenario, run))
    return (
        f"With every layer gated so, {significant(mean)} heads a layer are on, and the embedding of the text changes "
        f"by {significant(change)} (1 − cosine; 0 with all heads)."
    )


def _gated_run(scenario: Scenario, run: Run) -> tuple[float, float]:
    """Heads on in a layer for a query, on average, and the change of the embedding."""
    from attnviz.models import encode, load_minilm
    from attnviz.models.importance import embedding_change, last_hidden

    encoder = load_minilm()
    gated = encode(
        encoder,
        scenario.text,
        masks=scenario.masks,
        sharpness=scenario.sharpness,
        gates=lambda _, trace: adaptive_gates(trace, scenario.kept_share, scenario.gate_by),
    )
    on = [float(trace.gates.keeps.sum(axis=0).mean()) for trace in gated.traces if trace.gates is not None]
    return sum(on) / len(on), embedding_change(last_hidden(encoder.network, run.traces), gated.last_hidden)
