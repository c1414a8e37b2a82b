"""How many directions the heads of all layers use, before and after the softmax."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.figures import layer_map, rank_layer_words, rank_words
from attnviz.figures.overview_map import ByLayer
from attnviz.figures.rank_layer_words import PerLayer
from attnviz.metrics import mean_over_queries
from attnviz.metrics.ranks import effective_rank
from attnviz.metrics.spectra import LayerSpectra
from attnviz.picks import HeadAt
from attnviz.registries import SPECTRA
from attnviz.scenario import Scenario
from attnviz.ui import head_parts, progress, session, show
from attnviz.ui.head_rank_parts import FILE, TITLE, how_counted, how_measured, limit, spectra_of, table_of
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words


def all_layers(scenario: Scenario, shown: Shown, head: int) -> None:
    """The effective rank of each head of each layer before and after the softmax, and all measures in a table."""
    found = _spectra(shown)
    scores = np.stack([effective_rank(one.scores) for one in found])
    weights = np.stack([effective_rank(one.weights) for one in found])
    uniform = mean_over_queries(np.stack([np.resize(effective_rank(one.uniform), len(weights[0])) for one in found]))
    before, after = st.columns(2, gap="medium")
    with before:
        _before(scenario, shown, head, scores)
    with after:
        _after(scenario, shown, head, weights, uniform, rank_words.rows_left_out(found[0], shown.layer.trace.n_q))
    _table(scenario, shown, found, head)


def _spectra(shown: Shown) -> list[LayerSpectra]:
    layers = shown.run.layers
    n_heads = sum(layer.trace.n_heads for layer in layers)
    with progress.steps(st.empty(), "of the singular values computed") as tell:
        found: list[LayerSpectra] = []
        for layer in layers:
            found.append(spectra_of(layer, n_heads))
            tell(len(found) / len(layers))
    return found


def _before(scenario: Scenario, shown: Shown, head: int, ranks: ByLayer) -> None:
    most, most_name = limit(shown.layer)
    show.figure(
        layer_map(
            ranks,
            None,
            selected=HeadAt(shown.index, head),
            name="directions",
            scale=scenario.scale,
            beside_uniform=True,
        ),
        key="ranks_before",
        words=Words(
            "How many directions before the softmax?",
            rank_layer_words.scores_answer(ranks, most, most_name),
            f"Of query·key · scale. {how_counted()} Source: {SPECTRA['effective_rank'].source}. Click a head to choose "
            "it.",
            rank_layer_words.ranks_alt(ranks, "scores"),
        ),
        on_click=session.head_setter("ranks_before", ranks.shape[1]),
    )


def _after(scenario: Scenario, shown: Shown, head: int, ranks: ByLayer, uniform: PerLayer, left_out: str) -> None:
    show.figure(
        layer_map(ranks, uniform, selected=HeadAt(shown.index, head), name="directions", scale=scenario.scale),
        key="ranks_after",
        words=Words(
            "How many directions after it?",
            rank_layer_words.weights_answer(ranks, uniform),
            "Effective rank of the weights, in directions; the last column is a head that is uniform over the allowed "
            f"keys, by the same code on the same mask.{left_out} Click a head to choose it.",
            rank_layer_words.ranks_alt(ranks, "weights"),
        ),
        on_click=session.head_setter("ranks_after", ranks.shape[1]),
    )


def _table(scenario: Scenario, shown: Shown, found: list[LayerSpectra], head: int) -> None:
    tables = [table_of(scenario, layer, one) for layer, one in zip(shown.run.layers, found, strict=True)]
    for index, (frame, _) in enumerate(tables):
        frame.insert(0, "layer", index)
    frame = pd.concat([frame for frame, _ in tables], ignore_index=True)
    labels = {name: label for _, own in tables for name, label in own.items()}
    show.table(
        head_parts.with_head_names(frame, shown.count).drop(columns="layer"),
        slice(0, len(frame)),
        title=TITLE,
        caption=how_measured(scenario),
        labels=labels,
        file_name=FILE,
        file=frame,
        strong=sum(layer.trace.n_heads for layer in shown.run.layers[: shown.index]) + head,
    )
