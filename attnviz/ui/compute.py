"""The one caching boundary: everything that takes time is computed here, once for each setting."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import RLock

import pandas as pd
import streamlit as st

from attnviz.core import AttentionConfig, AttentionTrace, attend
from attnviz.core.designed import role_of
from attnviz.core.layer import MOST_KEPT
from attnviz.core.projections import Projections, make_projections
from attnviz.core.shuffling import Shuffled, shuffled
from attnviz.core.text import MAX_WORDS, words_of
from attnviz.core.tiles import leave_threads_to_tiles
from attnviz.figures.pattern import map_part
from attnviz.masks import build_mask
from attnviz.metrics import SURVEYED, Measured, Overview, Role, Survey, measured, overview, roles_of, survey
from attnviz.metrics.pooling import Window
from attnviz.metrics.reach import Reach, allowed_in_any_head, reach
from attnviz.numbers import counted
from attnviz.registry import Spec
from attnviz.scenario import Scenario
from attnviz.shapes import MapPart, Mask
from attnviz.steps.what_if import Spread, spread_of_products
from attnviz.tables import head_summary

FEW_WEIGHTS = 1 << 20
FEW_CHARACTERS = 500
MOST_PARTS = 32


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of one setting: its trace, and what is derived from it, each computed when first asked for.

    Attributes
    ----------
    roles
        What each head is called; empty where that is not known.
    trace_seconds
        Time that computing the trace took.
    """

    trace: AttentionTrace
    roles: tuple[str, ...]
    trace_seconds: float
    _survey: list[tuple[Survey, float]] = field(default_factory=list)
    _overview: list[Overview] = field(default_factory=list)
    _measured: dict[str, Measured] = field(default_factory=dict)
    _roles: list[tuple[Role, ...]] = field(default_factory=list)
    _parts: dict[tuple[bool, int, Window], MapPart] = field(default_factory=dict)
    _lock: RLock = field(default_factory=RLock)

    def survey(self, on_progress: Callable[[float], None] | None = None) -> Survey:
        """What is known of all heads; `on_progress` is told how much of it is done, where it is not known yet."""
        with self._lock:
            if not self._survey:
                start = time.perf_counter()
                found = survey(self.trace, on_progress)
                self._survey.append((found, time.perf_counter() - start))
            return self._survey[0][0]

    def measured(self, name: str, on_progress: Callable[[float], None] | None = None) -> Measured:
        """A measure of all heads; of those that the survey does not hold each is computed when first asked for."""
        with self._lock:
            if name in SURVEYED:
                found = self.survey(on_progress)
                return Measured(found.measures[name], found.uniform[name])
            if name not in self._measured:
                self._measured[name] = measured(self.trace, name, on_progress)
            return self._measured[name]

    def found_roles(self) -> tuple[Role, ...]:
        """What each head turns out to do."""
        with self._lock:
            if not self._roles:
                self._roles.append(roles_of(self.trace, self.survey()))
            return self._roles[0]

    @property
    def seconds(self) -> float:
        """Time that the weights took: of a long trace they are computed while its heads are looked through."""
        return self.trace_seconds + (0 if self.trace.kept or not self._survey else self._survey[0][1])

    def overview(self) -> Overview:
        """Small maps of all heads."""
        with self._lock:
            if self._survey:
                return self._survey[0][0].small
            if not self._overview:
                self._overview.append(overview(self.trace))
            return self._overview[0]

    def part(self, head: int, window: Window, *, is_training: bool = False) -> MapPart:
        """Weights of a window of one head, or the largest of each block where there are many."""
        found = self._survey[0][0].large if self._survey and not is_training else None
        if found is not None and window == Window(0, self.trace.n_q, 0, self.trace.n_k):
            return found[head]
        with self._lock:
            wanted = (is_training, head, window)
            if wanted not in self._parts:
                if len(self._parts) >= MOST_PARTS:
                    self._parts.pop(next(iter(self._parts)))
                trace = self.trace.in_training() if is_training else self.trace
                self._parts[wanted] = map_part(trace, head, window)
            return self._parts[wanted]

    def summary(self) -> pd.DataFrame:
        """The table of heads."""
        return head_summary(self.roles, self.survey())


@dataclass(frozen=True)
class Shown:
    """The layer on screen.

    Attributes
    ----------
    index, count
        Which layer it is, of how many.
    notes
        Sentences that the reader should know, such as that a text was cut.
    """

    layer: Layer
    index: int = 0
    count: int = 1
    notes: tuple[str, ...] = ()


def is_long(scenario: Scenario) -> bool:
    """Whether the scenario may take so long to compute that one should be able to leave it before it is done."""
    if scenario.input == "trained":
        return len(scenario.text) > FEW_CHARACTERS
    counts = scenario.counts()
    return counts["head"] * counts.get("query", 0) * counts.get("key", 0) > FEW_WEIGHTS


def shown_layer(scenario: Scenario) -> Shown:
    """The layer that this scenario shows.

    Raises
    ------
    AttnvizError
        If the input is empty, the setting too large or the trained model not there.
    """
    _one_matrix_thread()
    return _trained(scenario) if scenario.input == "trained" else _made(scenario)


@st.cache_resource(show_spinner=False)
def _one_matrix_thread() -> None:
    leave_threads_to_tiles()


def _made(scenario: Scenario) -> Shown:
    config = scenario.config()
    small = config.n_heads * config.n_q * config.n_k <= FEW_WEIGHTS
    notes: tuple[str, ...] = ()
    if scenario.input == "sentence":
        texts = {"The text": scenario.text} | ({"The text of the keys": scenario.key_text} if scenario.cross else {})
        totals = {name: words_of(text)[1] for name, text in texts.items()}
        notes = tuple(
            f"{name} has {counted(total, 'word')}; only the first {MAX_WORDS} are used."
            for name, total in totals.items()
            if total > MAX_WORDS
        )
    return Shown(_few(config) if small else _many(config), notes=notes)


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={AttentionConfig: repr})
def _few(config: AttentionConfig) -> Layer:
    return _attend(config)


@st.cache_resource(max_entries=2, show_spinner="Computing attention…", hash_funcs={AttentionConfig: repr})
def _many(config: AttentionConfig) -> Layer:
    return _attend(config)


def _attend(config: AttentionConfig) -> Layer:
    projections = _projections(
        config.projections, config.d_model, config.n_heads, config.seed, config.n_kv_heads, config.d_value
    )
    start = time.perf_counter()
    trace = attend(config, projections)
    seconds = time.perf_counter() - start
    named = config.projections == "designed"
    return Layer(trace, tuple(role_of(head) if named else "" for head in range(config.n_heads)), seconds)


@st.cache_resource(max_entries=4, show_spinner=False)
def _projections(
    kind: str, d_model: int, n_heads: int, seed: int, n_kv_heads: int | None, d_value: int | None
) -> Projections:
    return make_projections(kind, d_model, n_heads, seed, n_kv_heads=n_kv_heads, d_value=d_value)


def _trained(scenario: Scenario) -> Shown:
    from attnviz.models import MINILM, load_minilm, tokenize

    tokens, total = tokenize(load_minilm(), scenario.text)
    size = MINILM.n_layers * MINILM.n_heads * len(tokens) ** 2
    chosen = (scenario.text, scenario.masks, scenario.sharpness)
    layers = _few_trained(*chosen) if size <= FEW_WEIGHTS else _many_trained(*chosen)
    notes: list[str] = []
    if total > MINILM.max_tokens:
        notes.append(f"The text has {counted(total, 'token')}; only the first {MINILM.max_tokens} are used.")
    if scenario.mask.name != MINILM.mask or scenario.sparsity.name != "dense" or scenario.sharpness != 1:
        notes.append("The model was trained with every pair allowed and sharpness 1; you see it under other settings.")
    index = min(scenario.layer, MINILM.n_layers - 1)
    return Shown(layers[index], index, MINILM.n_layers, tuple(notes))


@st.cache_resource(max_entries=16, show_spinner="Running the model…")
def _few_trained(text: str, masks: tuple[Spec, ...], sharpness: float) -> tuple[Layer, ...]:
    return _encode(text, masks, sharpness)


@st.cache_resource(max_entries=2, show_spinner="Running the model…")
def _many_trained(text: str, masks: tuple[Spec, ...], sharpness: float) -> tuple[Layer, ...]:
    return _encode(text, masks, sharpness)


@st.cache_resource(max_entries=4, show_spinner=False)
def spread(seed: int) -> Spread:
    """How far products of random queries and keys spread, for several widths."""
    return spread_of_products(seed)


def _encode(text: str, masks: tuple[Spec, ...], sharpness: float) -> tuple[Layer, ...]:
    from attnviz.models import load_minilm, run_encoder

    encoder = load_minilm()
    start = time.perf_counter()
    traces = run_encoder(encoder, text, masks=masks, sharpness=sharpness)
    seconds = (time.perf_counter() - start) / len(traces)
    return tuple(Layer(trace, ("",) * trace.n_heads, seconds) for trace in traces)


@st.cache_resource(max_entries=64, show_spinner=False)
def reach_of(masks: tuple[Spec, ...], n: int, n_heads: int) -> Reach:
    """Which token gets to which through how many layers of these masks, whichever head lets it through."""
    return reach(allowed_in_any_head(masks, n, n_heads))


@st.cache_resource(max_entries=16, show_spinner=False)
def masks_alone(specs: tuple[Spec, ...], n_q: int, n_k: int) -> tuple[Mask, ...]:
    """Each of these masks by itself, as the first head has it."""
    return tuple(build_mask([spec], n_q, n_k) for spec in specs)


def shuffled_tokens(scenario: Scenario) -> Shuffled:
    """What another order of the tokens does to the layer on screen; of many tokens the first are taken.

    Raises
    ------
    AttnvizError
        If the input is empty, the setting too large or the trained model not there.
    """
    if scenario.input == "trained":
        layers = _shuffled_text(scenario.text, scenario.masks, scenario.sharpness, scenario.seed)
        return layers[min(scenario.layer, len(layers) - 1)]
    config = scenario.config()
    most = min(MAX_WORDS, math.isqrt(MOST_KEPT // config.n_heads))
    keys = config.key_tokens and config.key_tokens[:most]
    return _shuffled(replace(config, tokens=config.tokens[:most], key_tokens=keys))


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs={AttentionConfig: repr})
def _shuffled(config: AttentionConfig) -> Shuffled:
    return shuffled(config)


@st.cache_resource(max_entries=8, show_spinner="Running the model…")
def _shuffled_text(text: str, masks: tuple[Spec, ...], sharpness: float, seed: int) -> tuple[Shuffled, ...]:
    from attnviz.models import load_minilm
    from attnviz.models.shuffling import shuffled_text

    return shuffled_text(load_minilm(), text, masks=masks, sharpness=sharpness, seed=seed)
