"""The views of the Heads page; only the chosen one is computed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.figures import alt, answers, measure_panel, role_map, role_words
from attnviz.figures.grid import heads_shown
from attnviz.registries import METRICS
from attnviz.scenario import Scenario
from attnviz.tables import measure_table
from attnviz.ui import controls, panels, progress, session, show
from attnviz.ui.compute import Layer
from attnviz.ui.live import Words

VIEWS = {"alike": "Alike and far", "measure": "One measure", "roles": "Roles"}


def chosen(scenario: Scenario, layer: Layer, head: int) -> None:
    """The view that the scenario names."""
    controls.view_picker("heads_view", VIEWS)
    if scenario.heads_view == "alike":
        panels.redundancy(scenario, layer, head, height=560)
        panels.distance(layer, head, height=_height(layer))
        panels.heads_table(layer, head)
    elif scenario.heads_view == "measure":
        measure(scenario, layer, head)
    else:
        roles(scenario, layer, head)


def _height(layer: Layer) -> int:
    return max(420, 24 * layer.trace.n_heads)


def measure(scenario: Scenario, layer: Layer, head: int) -> None:
    """A measure of all heads as a picture and as a table, with what it is and where it comes from."""
    entry = METRICS[scenario.measure]
    with st.columns(3)[0]:
        st.selectbox(
            "Measure",
            METRICS.names(),
            key="measure",
            format_func=lambda name: METRICS[name].label,
            help=f"{entry.label}: {entry.summary} Source: {entry.source}.",
        )
    found = progress.measured(layer, entry.name)
    unit = f", in {entry.unit}" if entry.unit else ""
    show.figure(
        measure_panel(
            found.values,
            found.uniform,
            layer.roles,
            selected=head,
            name=entry.label,
            unit=entry.unit,
            height=_height(layer),
        ),
        key="measure_of_heads",
        words=Words(
            f"{entry.label}: which head has how much?",
            answers.measure_answer(found.values, found.uniform, layer.roles, entry.unit),
            f"{entry.summary} {entry.label} = {entry.formula}{unit}. Source: {entry.source}.",
            alt.measure(found.values, layer.roles, entry.label),
        ),
    )
    frame, labels = measure_table(entry, layer.roles, found)
    shown, caption = panels.heads_in_table(head, len(frame))
    show.table(
        frame,
        shown,
        title="The same in numbers",
        caption=f"Mean, least and largest over the queries; uniform: the mean of a head that is uniform over the "
        f"allowed keys.{caption}",
        strong=head,
        labels=labels,
        file_name=f"attnviz-{entry.name}.csv",
    )


def roles(scenario: Scenario, layer: Layer, head: int) -> None:
    """What each head turns out to do, the evidence, and why it is not called what it is second most like."""
    trace, found = layer.trace, layer.found_roles()
    heads = heads_shown(head, len(found))
    show.figure(
        role_map(found, heads, selected=head, scale=scenario.scale),
        key="role_map",
        words=Words(
            "What does each head do?",
            role_words.roles_answer(found),
            "0: no more than a head uniform over the allowed keys; 1: nothing else (broad: share of the largest "
            "entropy). Blank: the text has no such places. Click a head to choose it.",
            role_words.roles_alt(found, heads),
        ),
        on_click=session.click_setter("role_map"),
    )
    frame = pd.DataFrame(
        {
            "head": range(len(found)),
            "role": [role.name for role in found],
            "evidence": [role_words.evidence_words(role, trace.key_tokens) for role in found],
            "why_not": [role_words.why_not(role, trace.key_tokens) for role in found],
        }
    )
    shown, caption = panels.heads_in_table(head, len(found))
    show.table(
        frame,
        shown,
        title="Why is it called that?",
        caption="A head is named after what it is at least half of the way to doing alone, from what a head uniform "
        "over the allowed keys does: one place beside the query, the query's word, what followed it earlier "
        "(induction; Olsson et al. 2022), or one key (sink; Xiao et al. 2024). Else it is local (mean distance at most "
        f"half of the uniform head's), broad (entropy at least 90 % of the largest), or mixed.{caption}",
        labels={"head": "Head", "role": "Role", "evidence": "Evidence", "why_not": "Why not another"},
        file_name="attnviz-roles.csv",
        strong=head,
    )
