"""A layer of one setting and a run of several, with what is derived from them kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

import pandas as pd

from attnviz.core import AttentionTrace
from attnviz.figures.pattern import map_part
from attnviz.metrics import SURVEYED, Measured, Overview, Role, Survey, measured_all, overview, roles_of, survey
from attnviz.metrics.pooling import Window
from attnviz.registries import METRICS
from attnviz.registry import Spec
from attnviz.shapes import MapPart
from attnviz.tables import head_summary

MOST_MADE = 64
MOST_NAMED = 1 << 18
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class Kept:
    """Whatever takes time, made when first asked for; of many the earliest is forgotten."""

    _made: dict[Hashable, Any] = field(default_factory=dict[Hashable, Any])
    _lock: RLock = field(default_factory=RLock)

    def has(self, name: Hashable) -> bool:
        """Whether this has been made."""
        with self._lock:
            return name in self._made

    def once(self, name: Hashable, make: Callable[[], Made]) -> Made:
        """What `make` gives, made once for each name."""
        with self._lock:
            if name not in self._made:
                if len(self._made) >= MOST_MADE:
                    self._made.pop(next(iter(self._made)))
                self._made[name] = make()
            return self._made[name]


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer of one setting: its trace, and what is derived from it, each computed when first asked for.

    Attributes
    ----------
    designed
        What each head was designed for; empty where it was not.
    trace_seconds
        Time that computing the trace took.
    kept
        What was derived.
    """

    trace: AttentionTrace
    designed: tuple[str, ...]
    trace_seconds: float
    kept: Kept = field(default_factory=Kept)
    _survey: list[tuple[Survey, float]] = field(default_factory=list)
    _lock: RLock = field(default_factory=RLock)

    def survey(self, on_progress: Callable[[float], None] | None = None) -> Survey:
        """What is known of all heads; `on_progress` is told how much of it is done, where it is not known yet."""
        with self._lock:
            if not self._survey:
                start = time.perf_counter()
                found = survey(self.trace, on_progress)
                self._survey.append((found, time.perf_counter() - start))
            return self._survey[0][0]

    def measured(self, spec: Spec, on_progress: Callable[[float], None] | None = None) -> Measured:
        """A measure of all heads; of those that the survey does not hold each is computed when first asked for."""
        return self.measured_all((spec,), on_progress)[0]

    def measured_all(
        self, specs: Sequence[Spec], on_progress: Callable[[float], None] | None = None
    ) -> tuple[Measured, ...]:
        """Several measures of all heads, those that are not known yet in one pass."""
        found = self.survey(on_progress)
        known = {METRICS[name].spec(): Measured(found.measures[name], found.uniform[name]) for name in SURVEYED}

        def make() -> tuple[Measured, ...]:
            missing = [spec for spec in specs if spec not in known]
            beyond = found.received - found.uniform_received
            made = measured_all(self.trace, missing, on_progress, sink_keys=beyond.argmax(axis=1)) if missing else ()
            by_spec = known | dict(zip(missing, made, strict=True))
            return tuple(by_spec[spec] for spec in specs)

        return self.kept.once(("measured", *specs), make)

    @property
    def roles(self) -> tuple[str, ...]:
        """What each head is called: what it was designed for, or on a short trace what it turns out to do.

        Empty where nothing can be said.
        """
        trace = self.trace
        if any(self.designed) or trace.n_heads * trace.n_q * trace.n_k > MOST_NAMED:
            return self.designed
        return self.kept.once("names", lambda: tuple(role.known_name for role in self.found_roles()))

    def found_roles(self) -> tuple[Role, ...]:
        """What each head turns out to do."""
        return self.kept.once("roles", lambda: roles_of(self.trace, self.survey()))

    @property
    def role_title(self) -> str:
        """What the names of the heads are: what these were designed for, or what they turn out to do."""
        return "Designed as" if any(self.designed) else "Role"

    @property
    def seconds(self) -> float:
        """Time that the weights took: of a long trace they are computed while its heads are looked through."""
        return self.trace_seconds + (0 if self.trace.kept or not self._survey else self._survey[0][1])

    def overview(self) -> Overview:
        """Small maps of all heads."""
        with self._lock:
            if self._survey:
                return self._survey[0][0].small
        return self.kept.once("overview", lambda: overview(self.trace))

    def part(self, head: int, window: Window, *, is_training: bool = False) -> MapPart:
        """Weights of a window of one head, or the largest of each block where there are many."""
        found = self._survey[0][0].large if self._survey and not is_training else None
        if found is not None and window == Window(0, self.trace.n_q, 0, self.trace.n_k):
            return found[head]
        trace = self.trace.in_training() if is_training else self.trace
        return self.kept.once((is_training, head, window), lambda: map_part(trace, head, window))

    def summary(self) -> pd.DataFrame:
        """The table of heads."""
        return head_summary(self.roles, self.survey())


@dataclass(frozen=True, eq=False)
class Run:
    """All layers of one setting, with what is derived from them together."""

    layers: tuple[Layer, ...]
    kept: Kept = field(default_factory=Kept)

    @property
    def traces(self) -> tuple[AttentionTrace, ...]:
        """The trace of each layer."""
        return tuple(layer.trace for layer in self.layers)


@dataclass(frozen=True)
class Shown:
    """The layer on screen, and the run that it belongs to.

    Attributes
    ----------
    run
        Every layer.
    index
        Which layer it is.
    notes
        Sentences that the reader should know, such as that a text was cut.
    """

    run: Run
    index: int = 0
    notes: tuple[str, ...] = ()

    @property
    def layer(self) -> Layer:
        """The layer on screen."""
        return self.run.layers[self.index]

    @property
    def count(self) -> int:
        """How many layers there are."""
        return len(self.run.layers)
