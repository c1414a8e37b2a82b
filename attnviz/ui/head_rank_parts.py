"""What the views of rank share: the singular values of a layer, and its table."""

from __future__ import annotations

import pandas as pd

from attnviz.figures import rank_words
from attnviz.metrics import copying
from attnviz.metrics.copying import copying_scores
from attnviz.metrics.ranks import effective_rank
from attnviz.metrics.spectra import LayerSpectra, layer_spectra, matrix_spectra, rows_taken
from attnviz.registries import SPECTRA
from attnviz.scenario import Scenario
from attnviz.shapes import PerHead
from attnviz.tables import rank_table
from attnviz.ui.layer import Layer

FILE = "attnviz-ranks.csv"
TITLE = "The same in numbers"
COPYING = (
    f"Copying: {copying.FORMULA}, with E the table of words less their mean: 1 where a head only makes the words "
    "that it reads more likely, −1 the reverse, 0 for random matrices; LayerNorm and the other layers left out "
    f"({copying.SOURCE})."
)


def spectra_of(layer: Layer, among: int) -> LayerSpectra:
    """Singular values of all heads of a layer, of so many queries as so many heads together allow."""
    trace = layer.trace
    name = ("spectra", rows_taken(among, trace.n_q, trace.n_k))
    return layer.kept.once(name, lambda: layer_spectra(trace, among))


def limit(layer: Layer) -> tuple[int, str]:
    """The most directions that the scores of a layer can have, and what limits them."""
    return rank_words.limit(layer.trace.d_head, layer.trace.n_q, layer.trace.n_k)


def how_counted() -> str:
    """What the effective rank is, and how it is read."""
    entry = SPECTRA["effective_rank"]
    return f"{entry.label}: {entry.formula}, in {entry.unit}: 1 for a single one, n for n equally strong ones."


def table_of(scenario: Scenario, layer: Layer, found: LayerSpectra) -> tuple[pd.DataFrame, dict[str, str]]:
    """A row for each head of a layer with all measures of singular values, and their headings."""
    looks, writes = layer.kept.once("matrix_spectra", lambda: matrix_spectra(layer.trace))
    more = {
        "looks_effective_rank": ("W_Q W_Kᵀ: effective rank", effective_rank(looks)),
        "writes_effective_rank": ("W_V W_O: effective rank", effective_rank(writes)),
    }
    if scenario.input == "trained":
        more["copying"] = ("Copying", _copying(layer))
    frame, labels = rank_table(layer.roles, found, more)
    return frame, labels | {"role": layer.role_title}


def how_measured(scenario: Scenario) -> str:
    """What the columns of the table are."""
    measures = "; ".join(f"{entry.label.lower()}: {entry.formula}" for entry in SPECTRA)
    note = (
        f"In directions. {measures[:1].upper()}{measures[1:]}; the share is 0.9. “uniform”: a head uniform over the "
        "allowed keys. W_Q W_Kᵀ says what a head looks for and W_V W_O what it writes, whatever the input."
    )
    return f"{note} {COPYING}" if scenario.input == "trained" else note


def _copying(layer: Layer) -> PerHead:
    from attnviz.models import load_minilm
    from attnviz.models.word_table import word_products

    return layer.kept.once("copying", lambda: copying_scores(layer.trace, word_products(load_minilm())))
