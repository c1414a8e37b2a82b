"""Work that takes long, with a bar that tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import streamlit as st

from attnviz.metrics import Measured
from attnviz.numbers import counted, percent
from attnviz.registry import Spec
from attnviz.ui.layer import Layer

LONG = 1 << 27
PAUSE = 0.1


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


@contextmanager
def _bar(layer: Layer) -> Generator[Callable[[float], None] | None]:
    trace = layer.trace
    n_weights = trace.n_heads * trace.n_q * trace.n_k
    if n_weights < LONG:
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
