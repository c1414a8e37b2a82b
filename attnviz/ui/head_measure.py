"""One measure of all heads, as a picture and as a table."""

from __future__ import annotations

import streamlit as st

from attnviz.figures import alt, answers, measure_panel
from attnviz.registries import METRICS
from attnviz.scenario import Scenario
from attnviz.tables import measure_table
from attnviz.ui import controls, head_parts, panels, progress, show
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words


def measure(scenario: Scenario, shown: Shown, head: int) -> None:
    """A measure of all heads as a picture and as a table, with what it is and where it comes from."""
    layer, entry = shown.layer, METRICS[scenario.measure.name]
    with st.columns(3)[0]:
        controls.spec_menu("measure", "Measure", scenario.measure)
        controls.parameters("measure", scenario.measure)
    found = progress.measured(layer, scenario.measure)
    unit = f", in {entry.unit}" if entry.unit else ""
    show.figure(
        measure_panel(
            found.values,
            found.uniform,
            layer.roles,
            selected=head,
            name=entry.label,
            unit=entry.unit,
            height=head_parts.height(layer),
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
    rows, caption = panels.heads_in_table(head, len(frame))
    show.table(
        frame,
        rows,
        title="The same in numbers",
        caption=f"Mean, least and largest over the queries; uniform: the mean of a head that is uniform over the "
        f"allowed keys.{caption}",
        strong=head,
        labels=labels,
        file_name=f"attnviz-{entry.name}.csv",
    )
