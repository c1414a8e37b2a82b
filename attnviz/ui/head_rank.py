"""How many directions a head uses, before and after the softmax."""

from __future__ import annotations

import streamlit as st

from attnviz.figures import rank_words
from attnviz.figures.spectrum import rank_panel, spectrum_lines
from attnviz.metrics import copying
from attnviz.metrics.copying import copying_scores
from attnviz.metrics.ranks import effective_rank
from attnviz.metrics.spectra import LayerSpectra, layer_spectra, matrix_spectra
from attnviz.registries import SPECTRA
from attnviz.scenario import Scenario
from attnviz.shapes import PerHead
from attnviz.tables import rank_table
from attnviz.ui import head_parts, panels, show
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.live import Words

HEIGHT = 420
COPYING = (
    f"Copying: {copying.FORMULA}, with E the table of words less their mean: 1 where a head only makes the words "
    "that it reads more likely, −1 the reverse, 0 for random matrices; LayerNorm and the other layers left out "
    f"({copying.SOURCE})."
)


def rank(scenario: Scenario, shown: Shown, head: int) -> None:
    """How many directions a head uses: its singular values, and the ranks of all heads."""
    layer = shown.layer
    found = layer.kept.once("spectra", lambda: layer_spectra(layer.trace))
    one, every = st.columns(2, gap="medium")
    with one:
        _lines(layer, found, head)
    with every:
        _ranks(layer, found, head)
    _table(scenario, layer, found, head)


def _limit(layer: Layer) -> tuple[int, str]:
    return rank_words.limit(layer.trace.d_head, layer.trace.n_q, layer.trace.n_k)


def _lines(layer: Layer, found: LayerSpectra, head: int) -> None:
    most, most_name = _limit(layer)
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
    most, most_name = _limit(layer)
    entry = SPECTRA["effective_rank"]
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
            f"{entry.label}: {entry.formula}, in {entry.unit}: 1 for a single one, n for n equally strong ones. Many "
            f"heads at a fixed width mean few directions before the softmax for each. Source: {entry.source}.",
            rank_words.ranks_alt(scores, weights),
        ),
    )


def _table(scenario: Scenario, layer: Layer, found: LayerSpectra, head: int) -> None:
    looks, writes = layer.kept.once("matrix_spectra", lambda: matrix_spectra(layer.trace))
    more = {
        "looks_effective_rank": ("W_Q W_Kᵀ: effective rank", effective_rank(looks)),
        "writes_effective_rank": ("W_V W_O: effective rank", effective_rank(writes)),
    }
    measures = "; ".join(f"{entry.label.lower()}: {entry.formula}" for entry in SPECTRA)
    note = (
        f"In directions. {measures[:1].upper()}{measures[1:]}; the share is 0.9. “uniform”: a head uniform over the "
        "allowed keys. W_Q W_Kᵀ says what a head looks for and W_V W_O what it writes, whatever the input."
    )
    if scenario.input == "trained":
        more["copying"] = ("Copying", _copying(layer))
        note += f" {COPYING}"
    frame, labels = rank_table(layer.roles, found, more)
    rows, shown = panels.heads_in_table(head, len(frame))
    show.table(
        frame,
        rows,
        title="The same in numbers",
        caption=f"{note}{shown}",
        labels=labels | {"role": layer.role_title},
        file_name="attnviz-ranks.csv",
        strong=head,
    )


def _copying(layer: Layer) -> PerHead:
    from attnviz.models import load_minilm
    from attnviz.models.word_table import word_products

    return layer.kept.once("copying", lambda: copying_scores(layer.trace, word_products(load_minilm())))
