"""One measure of all heads of a layer, beside the head that knows nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_rows
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
    """
    function = partial(METRICS[spec.name].function, **dict(METRICS.check(spec).params))

    def work(rows: Rows, which: range) -> tuple[range, PerQuery, UniformPerQuery]:
        return which, function(rows), function(uniform_rows(rows))

    parts = list(trace.each_block(work, on_progress=on_progress))
    values, uniform = (np.concatenate([part[place] for part in parts], axis=1) for place in (1, 2))
    return Measured(values, uniform)
