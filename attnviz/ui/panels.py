"""The panels that pages are made of: each a picture with its question, answer and caption."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.figures import (
    alt,
    answers,
    attention_heatmap,
    head_grid,
    measure_panel,
    query_bars,
    similarity_matrix,
    step_words,
    viewing_words,
)
from attnviz.figures.grid import heads_shown, largest_shown
from attnviz.figures.pattern import MOST_SIDE, fitting_window, is_exact
from attnviz.figures.row import MOST_KEYS, keys_to_show
from attnviz.metrics import measure_label
from attnviz.metrics.pooling import Window
from attnviz.numbers import percent, significant
from attnviz.registries import METRICS, SIMILARITIES
from attnviz.scenario import Scenario
from attnviz.steps import Focus
from attnviz.tables import column_name
from attnviz.ui import navigation, session, show, viewing
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words


def _formula(scenario: Scenario, layer: Layer) -> str:
    trace = layer.trace
    is_scaled = scenario.is_scaled or scenario.input == "trained"
    factor = "" if scenario.sharpness == 1 else f"{significant(scenario.sharpness)} · "
    score = f"{factor}query·key{' / √d_head' if is_scaled else ''}"
    if trace.softcap:
        score = f"{trace.softcap:g} tanh({score} / {trace.softcap:g})"
    bias = " + bias" if trace.has_bias else ""
    over, total = ("the allowed keys", "1") if trace.sinks is None else ("the allowed keys and a sink", "less than 1")
    return f"softmax({score}{bias}) over {over}; a row sums to {total}"


def _pooled() -> str:
    return f" Each cell is the largest of its block; zoom in to at most {MOST_SIDE} tokens for every weight."


def grid(scenario: Scenario, layer: Layer, head: int) -> None:
    """All heads; a click chooses one."""
    small = layer.overview()
    heads = heads_shown(head, layer.trace.n_heads)
    view = viewing.view_of(scenario, layer.trace.n_k)
    caption = f"weight = {_formula(scenario, layer)}. Click a head to choose it."
    if small.step_q > 1 or small.step_k > 1:
        caption += f" Each cell is the largest of {small.step_q} × {small.step_k} weights."
    if len(heads) < layer.trace.n_heads:
        caption += f" Heads {heads[0]} to {heads[-1]} of {layer.trace.n_heads} are shown."
    if not scenario.shared_scale:
        caption += " Each head is coloured up to its own largest weight."
    answer, seen = answers.grid_answer(small, heads), None
    if view:
        seen = viewing.maps(layer, view)
        answer += viewing.answer(scenario, layer, view, heads)
        caption += viewing_words.caption(view)
    show.figure(
        head_grid(
            layer.trace,
            small,
            layer.roles,
            selected=head,
            scale=scenario.scale,
            shared_scale=scenario.shared_scale,
            fit=session.fitting_maps("grid"),
            seen=seen,
        ),
        key="grid",
        words=Words(
            "Where does each head look?",
            answer,
            caption,
            viewing_words.seen_as(alt.head_grid(layer.trace, small, heads, layer.roles), seen),
        ),
        on_click=session.click_setter("grid"),
    )


def pattern(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """The chosen head, large; a click on a cell chooses query and key."""
    trace, found = layer.trace, layer.survey()
    window = fitting_window(session.zoomed("pattern", trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    caption = "Click a cell for its numbers; drag to zoom, double-click to go back."
    if not is_exact(window):
        caption += _pooled()
    if not found.small.has_keys.all():
        caption += " ⊘ marks a query with no key allowed."
    if scenario.shared_scale:
        top = largest_shown(found.small, head)
    else:
        top = float(np.nanmax(found.measures["largest_weight"][head], initial=0.0)) or 1.0
    answer, seen = answers.head_answer(trace, found, head, layer.roles), None
    view = viewing.view_of(scenario, trace.n_k)
    if view:
        seen = viewing.part(layer, head, window, view)
        top = viewing.top(layer, head, view, is_shared=scenario.shared_scale)
        answer += viewing.answer(scenario, layer, view, range(head, head + 1), after=answer)
        caption += viewing_words.caption(view, has_empty=bool(seen.is_empty.any()))
    show.figure(
        attention_heatmap(
            trace,
            found,
            head=head,
            role=layer.roles[head],
            query=query,
            key=key,
            scale=scenario.scale,
            top=top,
            window=window,
            part=None if seen else layer.part(head, window),
            seen=seen,
        ),
        key="pattern",
        words=Words(
            f"Which keys does {answers.named(head, layer.roles)} look at?",
            answer,
            caption,
            viewing_words.seen_as(alt.pattern(trace, head, layer.roles), seen),
        ),
        on_click=session.click_setter("pattern"),
    )


def dropout(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """The same head after dropout, beside the weights before it, where there is dropout."""
    trace = layer.trace
    if not trace.dropout:
        return
    after = trace.in_training()
    window = fitting_window(session.zoomed("after_dropout", trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    caption = (
        f"after dropout = 0, or weight / (1 − {trace.dropout:g}); drawn anew in every step of training, here from "
        "the seed. All other pictures show the weights before it."
    )
    if not is_exact(window):
        caption += _pooled()
    everything = Window(0, trace.n_q, 0, trace.n_k)
    seen, view = None, viewing.view_of(scenario, trace.n_k)
    if view:
        seen = viewing.part(layer, head, window, view, is_training=True)
        whole = viewing.part(layer, head, everything, view, is_training=True).weights
        caption += viewing_words.caption(view, has_empty=bool(seen.is_empty.any()))
    else:
        whole = layer.part(head, everything, is_training=True)
    show.figure(
        attention_heatmap(
            after,
            layer.survey(),
            head=head,
            role=layer.roles[head],
            query=query,
            key=key,
            scale=scenario.scale,
            top=max(1.0, float(np.fmax.reduce(whole, axis=None, initial=0))),
            window=window,
            part=None if seen else layer.part(head, window, is_training=True),
            seen=seen,
        ),
        key="after_dropout",
        words=Words(
            "And after dropout?",
            answers.dropout_answer(trace, head),
            caption,
            viewing_words.seen_as(alt.pattern(after, head, layer.roles), seen),
        ),
        on_click=session.click_setter("after_dropout"),
    )


def query_row(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """The chosen query: its bars, and the numbers and the arithmetic of the chosen cell."""
    trace, focus = layer.trace, Focus(layer.trace, head, query, key, scenario.masks)
    caption = "The mark in each row is the weight of a head that is uniform over the allowed keys."
    if scenario.hidden:
        caption += " All keys are shown here, hidden ones too."
    if trace.n_k > MOST_KEYS:
        weights, allowed = trace.row(head, query)
        keys = keys_to_show(weights, allowed, key)
        share = float(weights[keys].sum())
        is_among = sum(weights[other] > weights[key] for other in keys) < len(keys) - 1 or len(keys) == 1
        which = f"The {len(keys)} keys" if is_among else f"The chosen key and the {len(keys) - 1} keys"
        caption = f"{which} with the largest weights: {percent(share)} of the attention. {caption}"
    show.figure(
        query_bars(trace, head=head, query=query, key=key),
        key="query_row",
        words=Words(
            f"What does query {query} {answers.quoted(trace.query_tokens[query])} look at?",
            f"{answers.cell_answer(trace, head, query, key)} {step_words.arithmetic(focus)}",
            caption,
            alt.query_row(trace, head, query),
        ),
    )


def steps_link() -> None:
    """The way to every step of the chosen number."""
    with st.container(key="steps_link"):
        navigation.link_to("step_by_step", "Every step of this number", session.scenario().to_query())


def redundancy(scenario: Scenario, layer: Layer, head: int, *, height: int = 340) -> None:
    """How alike the heads are; a click on a cell chooses its row's head."""
    similarity = layer.survey().cosine
    measure = SIMILARITIES["cosine"]
    show.figure(
        similarity_matrix(similarity, layer.roles, selected=head, scale=scenario.scale, value="cosine", height=height),
        key="redundancy",
        words=Words(
            "Which heads do the same?",
            answers.redundancy_answer(similarity, layer.roles, layer.trace.n_k),
            f"{measure.label}: {measure.formula}, from 0 (never the same key) to 1 (the same map).",
            alt.similarity(similarity),
        ),
        on_click=session.click_setter("redundancy"),
    )


def distance(layer: Layer, head: int, *, height: int = 340) -> None:
    """How far each head looks, beside the head that knows nothing."""
    values, uniform = (found["mean_distance"] for found in (layer.survey().measures, layer.survey().uniform))
    measure = METRICS["mean_distance"]
    show.figure(
        measure_panel(
            values,
            uniform,
            layer.roles,
            selected=head,
            name="distance from query to key",
            unit=measure.unit,
            height=height,
        ),
        key="distance",
        words=Words(
            "How far does each head look?",
            answers.distance_answer(values, uniform, layer.roles),
            f"{measure.label}: {measure.formula}, in {measure.unit}.",
            alt.measure(values, layer.roles, "Mean distance in tokens"),
        ),
    )


def heads_table(layer: Layer, head: int) -> None:
    """Every registered measure of the heads in the grid, beside its baseline; the file has all heads."""
    frame = layer.summary()
    if not any(layer.roles):
        frame = frame.drop(columns="role")
    labels = {"head": "Head", "role": layer.role_title, "most_alike_head": "Most alike", "most_alike_cosine": "Cosine"}
    for metric in METRICS:
        unit = f" ({metric.unit})" if metric.unit else ""
        labels[column_name(metric)] = f"{measure_label(metric.spec())}{unit}"
        labels[f"{column_name(metric)}_uniform"] = "uniform"
    shown, note = heads_in_table(head, len(frame))
    caption = "Means over the queries. “uniform”: the same measure for a head that is uniform over the allowed keys."
    show.table(
        frame,
        shown,
        title="The heads in numbers",
        caption=f"{caption}{note}",
        strong=head,
        labels=labels,
        file_name="attnviz-heads.csv",
    )


def heads_in_table(head: int, n_heads: int) -> tuple[slice, str]:
    """Heads that a table shows, and what its caption says where these are not all."""
    heads = heads_shown(head, n_heads)
    note = f" Heads {heads[0]} to {heads[-1]} of {n_heads} are shown; the file has all." if len(heads) < n_heads else ""
    return slice(heads.start, heads.stop), note
