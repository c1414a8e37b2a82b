"""One measure of all heads, as a picture and as a table, of one layer or of all."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.errors import NothingYetError
from attnviz.figures import alt, answers, layer_map, measure_panel, measure_words, offset_bars, received_map
from attnviz.figures.grid import heads_shown
from attnviz.figures.received import received_beyond
from attnviz.metrics import mean_over_queries, measure_label
from attnviz.metrics.offsets import offsets_of
from attnviz.picks import HeadAt
from attnviz.registries import METRICS
from attnviz.scenario import Scenario
from attnviz.tables import measure_table
from attnviz.ui import controls, head_parts, head_repeated, panels, progress, session, show
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.live import Words

OF_THE_SINK = ("first_key", "sink_mass")
WAYS_OUT = {
    "distance_in_image": "With a sentence or vectors, choose the positions 2-D relative (Swin).",
    "same_token": "Choose a text in which a word comes again, and a mask that allows it.",
    "induction": "Choose a text in which a word comes again, and a mask that allows what follows it.",
    "output_share": "Choose a mask that allows some pairs, and leave a head on.",
}


def measure(scenario: Scenario, shown: Shown, head: int) -> None:
    """A measure of all heads, with what it is and where it comes from, and what its mean alone does not tell."""
    entry, columns = METRICS[scenario.measure.name], st.columns(3)
    with columns[0]:
        controls.spec_menu("measure", "Measure", scenario.measure)
    with columns[1]:
        controls.parameters("measure", scenario.measure)
    with columns[2]:
        has_layers = head_parts.scope_picker(shown)
    if entry.group == "Words":
        _once_more(scenario, shown.layer)
    if has_layers and scenario.scope == "all":
        _all_layers(scenario, shown, head)
    else:
        _one_layer(scenario, shown.layer, head)
    if entry.group == "Distance":
        _offsets(scenario, shown, head)
    elif entry.name in OF_THE_SINK and not (has_layers and scenario.scope == "all"):
        _received(shown.layer, head)


def _caption(scenario: Scenario) -> str:
    entry = METRICS[scenario.measure.name]
    unit = f", in {entry.unit}" if entry.unit else ""
    return f"{entry.summary} {measure_label(scenario.measure)} = {entry.formula}{unit}. Source: {entry.source}."


def _nowhere(scenario: Scenario) -> str:
    """That the measure is not defined, what it is, and a way out."""
    entry = METRICS[scenario.measure.name]
    way_out = WAYS_OUT.get(entry.name, "Choose a longer input, or a mask that allows more.")
    label = measure_label(scenario.measure)
    return f"{label} is not defined for any query of this input. {entry.summary} {way_out}"


def _one_layer(scenario: Scenario, layer: Layer, head: int) -> None:
    entry, label = METRICS[scenario.measure.name], measure_label(scenario.measure)
    found = progress.measured(layer, scenario.measure)
    if np.isnan(found.values).all():
        raise NothingYetError(_nowhere(scenario))
    show.figure(
        measure_panel(
            found.values,
            found.uniform,
            layer.roles,
            selected=head,
            name=label,
            unit=entry.unit,
            height=head_parts.height(layer),
        ),
        key="measure_of_heads",
        words=Words(
            f"{label}: which head has how much?",
            answers.measure_answer(found.values, found.uniform, layer.roles, entry.unit),
            _caption(scenario),
            alt.measure(found.values, layer.roles, label),
        ),
    )
    frame, labels = measure_table(scenario.measure, layer.roles, found)
    rows, caption = panels.heads_in_table(head, len(frame))
    show.table(
        frame,
        rows,
        title="The same in numbers",
        caption=f"Mean, least and largest over the queries; uniform: the mean of a head that is uniform over the "
        f"allowed keys.{caption}",
        strong=head,
        labels=labels | {"role": layer.role_title},
        file_name=f"attnviz-{entry.name}.csv",
    )


def _all_layers(scenario: Scenario, shown: Shown, head: int) -> None:
    entry, label = METRICS[scenario.measure.name], measure_label(scenario.measure)
    found = [progress.measured(layer, scenario.measure) for layer in shown.run.layers]
    means = np.stack([mean_over_queries(one.values) for one in found])
    if np.isnan(means).all():
        raise NothingYetError(_nowhere(scenario))
    uniform = np.stack([np.broadcast_to(mean_over_queries(one.uniform), means[0].shape) for one in found])
    name = f"{label} ({entry.unit})" if entry.unit else label
    own = ", on average over the heads" if (np.ptp(uniform, axis=1) > answers.TIE).any() else ""
    show.figure(
        layer_map(
            means, mean_over_queries(uniform), selected=HeadAt(shown.index, head), name=name, scale=scenario.scale
        ),
        key="measure_of_layers",
        words=Words(
            f"{label}: which head of which layer has how much?",
            measure_words.layer_map_answer(means, uniform, [layer.roles for layer in shown.run.layers], entry.unit),
            f"{_caption(scenario)} Mean over the queries; the last column is a head that is uniform over the allowed "
            f"keys{own}. Click a head to choose it.",
            measure_words.layer_map_alt(means, name),
        ),
        on_click=session.head_setter("measure_of_layers", means.shape[1]),
    )


def _offsets(scenario: Scenario, shown: Shown, head: int) -> None:
    layer = shown.layer
    name = answers.named(head, layer.roles)
    if shown.count > 1 and scenario.scope == "all":
        name = measure_words.named_in_layers(HeadAt(shown.index, head), [one.roles for one in shown.run.layers])
    found = layer.kept.once(("offsets", head), lambda: offsets_of(layer.trace, head))
    show.figure(
        offset_bars(found),
        key="offsets_of_head",
        words=Words(
            f"How far does {name} look, and which way?",
            measure_words.offsets_answer(found, name),
            "Sum of the weights of all pairs of query and key with this offset, over the number of queries; before 0 "
            "lies what came earlier. Heads with the same mean distance may look at different places. Source: Vig & "
            "Belinkov 2019, section 4.3.",
            measure_words.offsets_alt(found, name),
        ),
    )


def _received(layer: Layer, head: int) -> None:
    beyond, uniform = received_beyond(layer.survey())
    tokens, heads = layer.trace.key_tokens, heads_shown(head, layer.trace.n_heads)
    show.figure(
        received_map(beyond, tokens, layer.roles, heads, selected=head),
        key="received_by_keys",
        words=Words(
            "Which keys get more than their share?",
            measure_words.received_answer(beyond, uniform, tokens, layer.roles),
            "Mean over the queries of the weight that a key gets, less that from a head uniform over the allowed keys: "
            "under a causal mask the first keys get much from any head. Source: Xiao et al. 2024, section 3.1. Click a "
            "head to choose it.",
            measure_words.received_alt(beyond, tokens, heads),
        ),
        on_click=session.click_setter("received_by_keys"),
    )


def _once_more(scenario: Scenario, layer: Layer) -> None:
    """Where no word comes again, a way to a text in which all do; for the trained model also to random words."""
    is_found = not np.isnan(progress.measured(layer, scenario.measure).values).all()
    head_repeated.ways(scenario, comes_again=is_found)
