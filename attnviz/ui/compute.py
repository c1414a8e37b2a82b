"""The one caching boundary: everything that takes time is computed here, once for each setting."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import streamlit as st

from attnviz.core import AttentionConfig, attend
from attnviz.core.designed import role_of
from attnviz.core.gating import gates_without
from attnviz.core.layer import MOST_KEPT
from attnviz.core.projections import Projections, make_projections
from attnviz.core.shuffling import Shuffled, shuffled
from attnviz.core.text import MAX_WORDS, words_of
from attnviz.core.tiles import leave_threads_to_tiles
from attnviz.masks import build_mask
from attnviz.metrics.reach import Reach, allowed_in_any_head, reach
from attnviz.numbers import counted
from attnviz.picks import HeadAt, heads_in, heads_within, ignored_heads
from attnviz.registry import Spec
from attnviz.scenario import Scenario
from attnviz.shapes import Mask
from attnviz.steps.what_if import Spread, spread_of_products
from attnviz.ui.layer import Layer, Run, Shown

FEW_WEIGHTS = 1 << 20
FEW_CHARACTERS = 500


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


def with_all_heads(scenario: Scenario, shown: Shown) -> Shown:
    """The same layer where no head of any layer is switched off."""
    if all(trace.gates is None for trace in shown.run.traces):
        return shown
    return shown_layer(replace(scenario, removed="", stand_in="zero"))


@st.cache_resource(show_spinner=False)
def _one_matrix_thread() -> None:
    leave_threads_to_tiles()


def _made(scenario: Scenario) -> Shown:
    setting = scenario.config()
    config = replace(setting, removed=(), stand_in="zero")
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
    picked = heads_in(scenario.removed)
    run = _few(config) if small else _many(config)
    return Shown(_gated(run, setting), notes=(*notes, *ignored_heads(picked, 1, config.n_heads)))


def _gated(run: Run, setting: AttentionConfig) -> Run:
    """The same weights with some heads switched off: all that depends on the weights alone is shared."""
    gates = gates_without(setting.removed, setting.n_heads, setting.stand_in)
    if gates is None:
        return run
    (layer,) = run.layers
    name = ("gated", setting.removed, setting.stand_in)
    return run.kept.once(name, lambda: Run((replace(layer, trace=replace(layer.trace, gates=gates)),)))


@st.cache_resource(max_entries=64, show_spinner=False, hash_funcs={AttentionConfig: repr})
def _few(config: AttentionConfig) -> Run:
    return _attend(config)


@st.cache_resource(max_entries=2, show_spinner="Computing attention…", hash_funcs={AttentionConfig: repr})
def _many(config: AttentionConfig) -> Run:
    return _attend(config)


def _attend(config: AttentionConfig) -> Run:
    projections = _projections(
        config.projections, config.d_model, config.n_heads, config.seed, config.n_kv_heads, config.d_value
    )
    start = time.perf_counter()
    trace = attend(config, projections)
    seconds = time.perf_counter() - start
    named = config.projections == "designed"
    roles = tuple(role_of(head) if named else "" for head in range(config.n_heads))
    return Run((Layer(trace, roles, seconds),))


@st.cache_resource(max_entries=4, show_spinner=False)
def _projections(
    kind: str, d_model: int, n_heads: int, seed: int, n_kv_heads: int | None, d_value: int | None
) -> Projections:
    return make_projections(kind, d_model, n_heads, seed, n_kv_heads=n_kv_heads, d_value=d_value)


def _trained(scenario: Scenario) -> Shown:
    from attnviz.models import MINILM, load_minilm, tokenize

    picked = heads_in(scenario.removed)
    removed = heads_within(picked, MINILM.n_layers, MINILM.n_heads)
    tokens, total = tokenize(load_minilm(), scenario.text)
    size = MINILM.n_layers * MINILM.n_heads * len(tokens) ** 2
    stand_in = scenario.stand_in if removed else "zero"
    chosen = (scenario.text, scenario.masks, scenario.sharpness, removed, stand_in)
    run = _few_trained(*chosen) if size <= FEW_WEIGHTS else _many_trained(*chosen)
    notes = list(ignored_heads(picked, MINILM.n_layers, MINILM.n_heads))
    if total > MINILM.max_tokens:
        notes.append(f"The text has {counted(total, 'token')}; only the first {MINILM.max_tokens} are used.")
    if scenario.mask.name != MINILM.mask or scenario.sparsity.name != "dense" or scenario.sharpness != 1:
        notes.append("The model was trained with every pair allowed and sharpness 1; you see it under other settings.")
    index = min(scenario.layer, MINILM.n_layers - 1)
    return Shown(run, index, tuple(notes))


@st.cache_resource(max_entries=16, show_spinner="Running the model…")
def _few_trained(
    text: str, masks: tuple[Spec, ...], sharpness: float, removed: tuple[HeadAt, ...], stand_in: str
) -> Run:
    return _encode(text, masks, sharpness, removed, stand_in)


@st.cache_resource(max_entries=2, show_spinner="Running the model…")
def _many_trained(
    text: str, masks: tuple[Spec, ...], sharpness: float, removed: tuple[HeadAt, ...], stand_in: str
) -> Run:
    return _encode(text, masks, sharpness, removed, stand_in)


@st.cache_resource(max_entries=4, show_spinner=False)
def spread(seed: int) -> Spread:
    """How far products of random queries and keys spread, for several widths."""
    return spread_of_products(seed)


def _encode(text: str, masks: tuple[Spec, ...], sharpness: float, removed: tuple[HeadAt, ...], stand_in: str) -> Run:
    from attnviz.models import load_minilm, run_encoder
    from attnviz.models.minilm import heads_off

    encoder = load_minilm()
    start = time.perf_counter()
    traces = run_encoder(encoder, text, masks=masks, sharpness=sharpness, gates=heads_off(removed, stand_in))
    seconds = (time.perf_counter() - start) / len(traces)
    return Run(tuple(Layer(trace, ("",) * trace.n_heads, seconds) for trace in traces))


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
        chosen = (scenario.text, scenario.masks, scenario.sharpness, scenario.seed)
        layers = _shuffled_text(*chosen, heads_in(scenario.removed), scenario.stand_in)
        return layers[min(scenario.layer, len(layers) - 1)]
    config = scenario.config()
    most = min(MAX_WORDS, math.isqrt(MOST_KEPT // config.n_heads))
    keys = config.key_tokens and config.key_tokens[:most]
    return _shuffled(replace(config, tokens=config.tokens[:most], key_tokens=keys))


@st.cache_resource(max_entries=32, show_spinner=False, hash_funcs={AttentionConfig: repr})
def _shuffled(config: AttentionConfig) -> Shuffled:
    return shuffled(config)


@st.cache_resource(max_entries=8, show_spinner="Running the model…")
def _shuffled_text(
    text: str, masks: tuple[Spec, ...], sharpness: float, seed: int, picked: tuple[HeadAt, ...], stand_in: str
) -> tuple[Shuffled, ...]:
    from attnviz.models import MINILM, load_minilm
    from attnviz.models.minilm import heads_off
    from attnviz.models.shuffling import shuffled_text

    gates = heads_off(heads_within(picked, MINILM.n_layers, MINILM.n_heads), stand_in)
    return shuffled_text(load_minilm(), text, masks=masks, sharpness=sharpness, seed=seed, gates=gates)
