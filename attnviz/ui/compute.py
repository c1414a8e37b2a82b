"""The one caching boundary: everything that takes time is computed here, once for each setting."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from attnviz.core import AttentionConfig, AttentionTrace, attend
from attnviz.core.designed import role_of
from attnviz.core.projections import Projections, make_projections
from attnviz.core.text import MAX_WORDS, words_of
from attnviz.figures.grid import MOST_HEADS, Overview, overview
from attnviz.numbers import counted
from attnviz.registries import METRICS, SIMILARITIES
from attnviz.registry import Spec
from attnviz.scenario import Scenario
from attnviz.shapes import HeadPairs, PerQuery
from attnviz.tables import baseline, head_summary, measured

FEW_WEIGHTS = 1 << 20


@dataclass(frozen=True, eq=False)
class Run:
    """Every layer's trace of one setting.

    Attributes
    ----------
    traces
        One a layer.
    seconds
        Time that computing them took.
    """

    traces: tuple[AttentionTrace, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Layer:
    """The layer on screen, with what the pictures need to name its parts.

    Attributes
    ----------
    key
        Tells this layer from every other, for caches.
    roles
        What each head is called; empty where that is not known.
    notes
        Sentences that the reader should know, such as that a text was cut.
    """

    key: tuple[object, ...]
    trace: AttentionTrace
    roles: tuple[str, ...]
    seconds: float
    n_layers: int
    notes: tuple[str, ...]


def layer(scenario: Scenario) -> Layer:
    """The layer that this scenario shows.

    Raises
    ------
    AttnvizError
        If the input is empty, the setting too large or the trained model not there.
    """
    return _trained(scenario) if scenario.input == "trained" else _made(scenario)


def _made(scenario: Scenario) -> Layer:
    config = scenario.config()
    small = config.n_heads * config.n_tokens**2 <= FEW_WEIGHTS
    run = _few(config) if small else _many(config)
    notes: tuple[str, ...] = ()
    if scenario.input == "sentence":
        total = words_of(scenario.text)[1]
        if total > MAX_WORDS:
            notes = (f"The text has {counted(total, 'word')}; only the first {MAX_WORDS} are used.",)
    names = scenario.weights == "designed"
    roles = tuple(role_of(head) if names else "" for head in range(config.n_heads))
    return Layer((config,), run.traces[0], roles, run.seconds, 1, notes)


@st.cache_resource(max_entries=64, show_spinner=False)
def _few(config: AttentionConfig) -> Run:
    return _attend(config)


@st.cache_resource(max_entries=2, show_spinner="Computing attention…")
def _many(config: AttentionConfig) -> Run:
    return _attend(config)


def _attend(config: AttentionConfig) -> Run:
    projections = _projections(config.projections, config.d_model, config.n_heads, config.seed)
    start = time.perf_counter()
    return Run((attend(config, projections),), time.perf_counter() - start)


@st.cache_resource(max_entries=4, show_spinner=False)
def _projections(kind: str, d_model: int, n_heads: int, seed: int) -> Projections:
    return make_projections(kind, d_model, n_heads, seed)


def _trained(scenario: Scenario) -> Layer:
    from attnviz.models import MINILM, load_minilm, tokenize

    tokens, total = tokenize(load_minilm(), scenario.text)
    size = MINILM.n_layers * MINILM.n_heads * len(tokens) ** 2
    chosen = (scenario.text, scenario.masks, scenario.sharpness)
    run = _few_trained(*chosen) if size <= FEW_WEIGHTS else _many_trained(*chosen)
    index = min(scenario.layer, MINILM.n_layers - 1)
    notes: list[str] = []
    if total > MINILM.max_tokens:
        notes.append(f"The text has {counted(total, 'token')}; only the first {MINILM.max_tokens} are used.")
    if scenario.mask.name != MINILM.mask or scenario.sparsity.name != "dense" or scenario.sharpness != 1:
        notes.append("The model was trained with every pair allowed and sharpness 1; you see it under other settings.")
    roles = ("",) * MINILM.n_heads
    return Layer(("trained", *chosen, index), run.traces[index], roles, run.seconds, MINILM.n_layers, tuple(notes))


@st.cache_resource(max_entries=16, show_spinner="Running the model…")
def _few_trained(text: str, masks: tuple[Spec, ...], sharpness: float) -> Run:
    return _encode(text, masks, sharpness)


@st.cache_resource(max_entries=2, show_spinner="Running the model…")
def _many_trained(text: str, masks: tuple[Spec, ...], sharpness: float) -> Run:
    return _encode(text, masks, sharpness)


def _encode(text: str, masks: tuple[Spec, ...], sharpness: float) -> Run:
    from attnviz.models import load_minilm, run_encoder

    encoder = load_minilm()
    start = time.perf_counter()
    return Run(run_encoder(encoder, text, masks=masks, sharpness=sharpness), time.perf_counter() - start)


def small_maps(shown: Layer, head: int) -> Overview:
    """Maps of the heads in the grid, as small as a screen can show them."""
    return _small_maps(shown.key, head // MOST_HEADS, shown)


@st.cache_resource(max_entries=64, show_spinner=False)
def _small_maps(key: tuple[object, ...], block: int, _shown: Layer) -> Overview:
    del key
    return overview(_shown.trace, block * MOST_HEADS)


def cosine(shown: Layer) -> HeadPairs:
    """Cosine similarity of the heads' maps."""
    return _similarity(shown.key, "cosine", shown)


@st.cache_resource(max_entries=64, show_spinner=False)
def _similarity(key: tuple[object, ...], name: str, _shown: Layer) -> HeadPairs:
    del key
    return SIMILARITIES[name].function(_shown.trace.weights)


def measure(shown: Layer, name: str) -> PerQuery:
    """A registered measure for each head and query."""
    return _measure(shown.key, name, shown)


@st.cache_resource(max_entries=256, show_spinner=False)
def _measure(key: tuple[object, ...], name: str, _shown: Layer) -> PerQuery:
    del key
    return measured(_shown.trace, name)


def uniform_measure(shown: Layer, name: str) -> PerQuery:
    """The same measure of a head that is uniform over the allowed keys."""
    return _uniform_measure(shown.key, name, shown)


@st.cache_resource(max_entries=256, show_spinner=False)
def _uniform_measure(key: tuple[object, ...], name: str, _shown: Layer) -> PerQuery:
    del key
    return baseline(_shown.trace, name)


def summary(shown: Layer) -> pd.DataFrame:
    """The table of heads."""
    return _summary(shown.key, shown)


@st.cache_resource(max_entries=64, show_spinner=False)
def _summary(key: tuple[object, ...], _shown: Layer) -> pd.DataFrame:
    del key
    return head_summary(
        _shown.roles,
        {metric.name: (measure(_shown, metric.name), uniform_measure(_shown, metric.name)) for metric in METRICS},
        cosine(_shown),
    )
