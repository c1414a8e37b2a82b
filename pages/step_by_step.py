import streamlit as st

from attnviz.scenario import Scenario
from attnviz.ui import compute, controls, row_panels, sentences, show, step_panels, stepper
from attnviz.ui.page import page


@page("Step by step", question="Where does this number come from?")
def step_by_step(scenario: Scenario) -> None:
    shown = compute.shown_layer(scenario)
    layer = shown.layer
    show.sentence(sentences.setting(scenario, shown), shown.notes)

    with st.container(horizontal=True, gap="small", key="cell"):
        head = controls.head_picker(layer)
        query, key = controls.cell_picker(layer)
    focus = step_panels.focus(scenario, layer, head, query, key)
    stage = step_panels.stage(focus, stepper.chosen_stage(scenario, focus))

    words, picture = st.columns(2, gap="medium")
    with words:
        step_panels.words(stage)
        step_panels.groups(focus, stage)
        step_panels.terms(stage, below="words")
    with picture:
        step_panels.pictures(scenario, stage)
        step_panels.terms(stage, below="pictures")

    row_panels.chosen_view(scenario, focus)
