"""Work that takes long, with a bar that tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.metrics import Measured
from attnviz.metrics.alike import Alike
from attnviz.metrics.links import Links, strongest_links
from attnviz.metrics.viewing import PLAIN, View, Viewed
from attnviz.metrics.viewing import viewed as viewed_maps
from attnviz.numbers import counted, percent
from attnviz.registries import SIMILARITIES
from attnviz.registry import Spec
from attnviz.shapes import Context
from attnviz.ui.layer import Layer, Run

LONG = 1 << 27
PAUSE = 0.1
LONG_SECONDS = 0.3


def survey(layer: Layer) -> None:
    """Look through all heads of a layer; a long one with a bar, and until a control is changed.

    Notes
    -----
    Streamlit stops a run that is no longer wanted where it writes to the page: here with every step of the bar.
    """
    with _bar(layer) as tell:
        layer.survey(tell)


def measured(layer: Layer, spec: Spec) -> Measured:
    """A measure of all heads of a layer, with a bar as `survey` has one."""
    with _bar(layer) as tell:
        return layer.measured(spec, tell)


def viewed(layer: Layer, view: View) -> Viewed:
    """The maps of all heads in a view, with a bar as `survey` has one."""
    with _bar(layer) as tell:
        return layer.kept.once(("viewed", view), lambda: viewed_maps(layer.trace, view, tell))


def context(layer: Layer) -> Context:
    """What each head makes of each query, with a bar as `survey` has one."""
    with _bar(layer) as tell:
        return layer.kept.once("context", lambda: layer.trace.stream_context(tell))


def links(layer: Layer, heads: range, view: View = PLAIN) -> Links:
    """The strongest links of some heads in a view, with a bar as `survey` has one."""
    with _bar(layer) as tell:
        return layer.kept.once(
            ("links", heads, view), lambda: strongest_links(layer.trace, heads, view=view, on_progress=tell)
        )


def alike(run: Run, layers: Sequence[Layer], spec: Spec) -> Alike:
    """How alike the heads of some layers are, with a bar as `survey` has one."""
    entry, traces = SIMILARITIES[spec.name], [layer.trace for layer in layers]
    name = ("alike", spec, *(run.layers.index(layer) for layer in layers))
    with _bar(layers[0], rounds=sum(trace.n_heads for trace in traces)) as tell:
        return run.kept.once(name, lambda: entry.function(traces, tell, **dict(spec.params)))


def measured_all(layer: Layer, specs: Sequence[Spec]) -> tuple[Measured, ...]:
    """Several measures of all heads of a layer in one pass, with a bar as `survey` has one."""
    with _bar(layer) as tell:
        return layer.measured_all(specs, tell)


@contextmanager
def steps(room: DeltaGenerator, of_what: str) -> Generator[Callable[[float], None]]:
    """A bar in a room of the page, for work that tells the share that is done; gone at the end."""
    started = told = time.monotonic()

    def tell(share: float) -> None:
        nonlocal told
        now = time.monotonic()
        if now - started > LONG_SECONDS and now - told > PAUSE:
            told = now
            room.progress(share, text=f"{percent(share)} {of_what}.")

    yield tell
    if told > started:
        room.empty()


@contextmanager
def _bar(layer: Layer, rounds: int = 1) -> Generator[Callable[[float], None] | None]:
    trace = layer.trace
    n_weights = trace.n_heads * trace.n_q * trace.n_k
    if n_weights * rounds < LONG:
        yield None
        return
    told = time.monotonic()
    room = st.empty()

    def tell(share: float) -> None:
        nonlocal told
        if time.monotonic() - told > PAUSE:
            told = time.monotonic()
            text = f"{percent(share)} of {counted(n_weights, 'weight')} computed. Changing a control stops it."
            room.progress(share, text=text)

    yield tell
    room.empty()
