import streamlit as st

from attnviz.ui import compute, controls, panels, sentences, show
from attnviz.ui.page import page

with page("Playground", question="Where does each token look?") as scenario:
    shown = compute.layer(scenario)
    show.sentence(sentences.setting(scenario, shown), shown.notes)

    panels.grid(scenario, shown, head=controls.clamped_head(shown))

    large, chosen = st.columns([3, 2], gap="medium")
    with chosen:
        head = controls.head_picker(shown)
        query, key = controls.cell_picker(shown)
        panels.query_row(shown, head, query, key)
    with large:
        panels.pattern(scenario, shown, head, query, key)

    alike, far = st.columns(2, gap="medium")
    with alike:
        panels.redundancy(scenario, shown, head)
    with far:
        panels.distance(shown, head)

    panels.heads_table(shown)
