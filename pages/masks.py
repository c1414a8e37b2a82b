import streamlit as st

from attnviz.scenario import Scenario
from attnviz.ui import compute, controls, mask_panels, mask_views, panels, progress, sentences, show
from attnviz.ui.page import page


@page("Masks", question="Which keys may each query look at?")
def masks(scenario: Scenario) -> None:
    shown = compute.shown_layer(scenario)
    layer = shown.layer
    progress.survey(layer)
    show.sentence(sentences.setting(scenario, shown), (*shown.notes, *mask_panels.at_a_glance(scenario, layer)))

    large, beside = st.columns([3, 2], gap="medium")
    with beside:
        head = controls.head_picker(layer)
        query, key = controls.cell_picker(layer)
        panels.steps_link()
        mask_panels.keys_per_query(layer, head, query)
    with large:
        mask_panels.picture(scenario, layer, head, query, key)

    mask_views.chosen(scenario, layer, head, query, key)
