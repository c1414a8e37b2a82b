import streamlit as st

from attnviz.ui import compute, controls, panels, sentences, show
from attnviz.ui.page import page

with page("Heads", question="Which heads do the same, and how far do they look?") as scenario:
    shown = compute.layer(scenario)
    show.sentence(sentences.setting(scenario, shown), shown.notes)

    with st.columns(3)[0]:
        head = controls.head_picker(shown)
    panels.redundancy(scenario, shown, head, height=560)
    panels.distance(shown, head, height=max(420, 24 * shown.trace.n_heads))

    panels.heads_table(shown)
