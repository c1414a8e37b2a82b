import streamlit as st

from attnviz.scenario import Scenario
from attnviz.ui import compute, controls, head_switches, panels, progress, sentences, show
from attnviz.ui.page import page


@page("Playground", question="Where does each token look?")
def playground(scenario: Scenario) -> None:
    shown = compute.shown_layer(scenario)
    layer = shown.layer
    progress.survey(layer)
    show.sentence(sentences.setting(scenario, shown), shown.notes)

    panels.grid(scenario, layer, head=controls.clamped_head(layer))

    large, chosen = st.columns([3, 2], gap="medium")
    with chosen:
        head = controls.head_picker(layer)
        query, key = controls.cell_picker(layer)
        panels.query_row(scenario, layer, head, query, key)
        panels.steps_link()
        head_switches.switches(scenario, shown)
    with large:
        panels.pattern(scenario, layer, head, query, key)
        panels.dropout(scenario, layer, head, query, key)

    alike, far = st.columns(2, gap="medium")
    with alike:
        panels.redundancy(scenario, layer, head)
    with far:
        panels.distance(layer, head)

    panels.heads_table(layer, head)
