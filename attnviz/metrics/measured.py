"""Measures of all heads of a layer, beside the head that knows nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_rows
from attnviz.metrics.facts import SinkKeys, facts_of
from attnviz.registries import METRICS
from attnviz.registry import Spec
from attnviz.shapes import PerQuery, UniformPerQuery


@dataclass(frozen=True, eq=False)
class Measured:
    """A measure for each head and query, and for a head uniform over the allowed keys; NaN where it is not defined."""

    values: PerQuery
    uniform: UniformPerQuery


def measured(trace: AttentionTrace, spec: Spec, on_progress: Callable[[float], None] | None = None) -> Measured:
    """A registered measure of all heads, in one pass that never holds a whole map.

    Parameters
    ----------
    trace
        A layer; of a long one the rows are computed on the way and not kept.
    spec
        A measure of `METRICS`, with its parameters.
    on_progress
        Told the share of the rows that is done, from 0 to 1.

    Raises
    ------
    UnknownNameError, SettingError
        If no measure has this name, or a parameter breaks its rule.

    Examples
    --------
    >>> from attnviz import METRICS, AttentionConfig, attend
    >>> trace = attend(AttentionConfig(("to", "be", "or"), sharpness=0.0))
    >>> measured(trace, METRICS["entropy"].spec()).values[0].round(3)
    array([0.   , 1.   , 1.585])
    """
    return measured_all(trace, (spec,), on_progress)[0]


def measured_all(
    trace: AttentionTrace,
    specs: Sequence[Spec],
    on_progress: Callable[[float], None] | None = None,
    *,
    sink_keys: SinkKeys | None = None,
) -> tuple[Measured, ...]:
    """Several registered measures of all heads, in one pass together.

    Parameters
    ----------
    trace, on_progress
        As for `measured`.
    specs
        Measures of `METRICS`, with their parameters.
    sink_keys
        The sink of each head where it is known; otherwise a measure that reads it costs a second pass.

    Raises
    ------
    UnknownNameError, SettingError
        If no measure has one of these names, or a parameter breaks its rule.
    """
    functions = [partial(METRICS[spec.name].function, **dict(METRICS.check(spec).params)) for spec in specs]
    facts = facts_of(trace, specs, sink_keys)

    def work(rows: Rows, which: range) -> list[tuple[PerQuery, UniformPerQuery]]:
        del which
        known = replace(rows, facts=facts)
        uniform = uniform_rows(known)
        return [(function(known), function(uniform)) for function in functions]

    parts = list(trace.each_block(work, on_progress=on_progress))
    return tuple(
        Measured(*(np.concatenate([part[place][side] for part in parts], axis=1) for side in (0, 1)))
        for place in range(len(functions))
    )
