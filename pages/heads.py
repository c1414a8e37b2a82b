import streamlit as st

from attnviz.scenario import Scenario
from attnviz.ui import compute, controls, head_views, progress, sentences, show
from attnviz.ui.page import page


@page("Heads", question="What does each head do, which do the same, and which can go?")
def heads(scenario: Scenario) -> None:
    shown = compute.shown_layer(scenario)
    layer = shown.layer
    progress.survey(layer)
    show.sentence(sentences.setting(scenario, shown), shown.notes)

    with st.columns(3)[0]:
        head = controls.head_picker(layer)
    head_views.chosen(scenario, shown, head)
