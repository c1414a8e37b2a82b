from attnviz.scenario import Scenario
from attnviz.ui import compute, position_panels, sentences, show
from attnviz.ui.page import page


@page("Positions", question="How does attention know where a token stands?")
def positions(scenario: Scenario) -> None:
    shown = compute.shown_layer(scenario)
    show.sentence(sentences.setting(scenario, shown), shown.notes)
    position_panels.chosen(scenario, shown.layer)
