from attnviz.ui import compute, position_panels, sentences, show
from attnviz.ui.page import page

with page("Positions", question="How does attention know where a token stands?") as scenario:
    shown = compute.shown_layer(scenario)
    show.sentence(sentences.setting(scenario, shown), shown.notes)
    position_panels.chosen(scenario, shown.layer)
