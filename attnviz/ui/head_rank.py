"""How many directions a head uses, before and after the softmax, of one layer or of all."""

from __future__ import annotations

import streamlit as st

from attnviz.figures import rank_words
from attnviz.figures.spectrum import rank_panel, spectrum_lines
from attnviz.metrics.ranks import effective_rank
from attnviz.metrics.spectra import LayerSpectra
from attnviz.registries import SPECTRA
from attnviz.scenario import Scenario
from attnviz.ui import head_parts, panels, session, show
from attnviz.ui.head_rank_layers import all_layers
from attnviz.ui.head_rank_parts import FILE, TITLE, how_counted, how_measured, limit, spectra_of, table_of
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.live import Words

HEIGHT = 420


def rank(scenario: Scenario, shown: Shown, head: int) -> None:
    """How many directions a head uses: its singular values, and the ranks of all heads."""
    has_layers = head_parts.scope_picker(shown)
    if has_layers and scenario.scope == "all":
        all_layers(scenario, shown, head)
        return
    found = spectra_of(shown.layer, shown.layer.trace.n_heads)
    one, every = st.columns(2, gap="medium")
    with one:
        _lines(shown.layer, found, head)
    with every:
        _ranks(shown.layer, found, head)
    _table(scenario, shown.layer, found, head)


def _lines(layer: Layer, found: LayerSpectra, head: int) -> None:
    most, most_name = limit(layer)
    common = head if len(found.uniform.values) > 1 else 0
    show.figure(
        spectrum_lines(
            found.scores.shares()[head],
            found.weights.shares()[head],
            found.uniform.shares()[common],
            most=most,
            most_name=most_name,
            height=HEIGHT,
        ),
        key="singular_values",
        words=Words(
            f"How many directions does head {head} use?",
            rank_words.rank_answer(found, head, layer.roles, most, most_name),
            rank_words.rank_caption(found, layer.trace.n_q),
            rank_words.spectrum_alt(found, head),
        ),
    )


def _ranks(layer: Layer, found: LayerSpectra, head: int) -> None:
    most, most_name = limit(layer)
    scores, weights, uniform = (effective_rank(part) for part in (found.scores, found.weights, found.uniform))
    show.figure(
        rank_panel(
            scores,
            weights,
            uniform,
            layer.roles,
            most=most,
            most_name=most_name,
            selected=head,
            height=head_parts.height(layer),
        ),
        key="ranks_of_heads",
        words=Words(
            "What does the softmax do to the rank?",
            rank_words.ranks_answer(scores, weights, uniform, most, most_name),
            f"{how_counted()} Many heads at a fixed width mean few directions before the softmax for each. Click a "
            f"point to choose its head. Source: {SPECTRA['effective_rank'].source}.",
            rank_words.ranks_alt(scores, weights),
        ),
        on_click=session.click_setter("ranks_of_heads"),
    )


def _table(scenario: Scenario, layer: Layer, found: LayerSpectra, head: int) -> None:
    frame, labels = table_of(scenario, layer, found)
    rows, shown = panels.heads_in_table(head, len(frame))
    show.table(
        frame,
        rows,
        title=TITLE,
        caption=f"{how_measured(scenario)}{shown}",
        labels=labels,
        file_name=FILE,
        strong=head,
    )
