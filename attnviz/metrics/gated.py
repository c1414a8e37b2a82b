"""What the heads that are switched off change in the output of their own layer."""

from __future__ import annotations

import numpy as np

from attnviz.core.projections import merge_heads
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.contribution import Change
from attnviz.shapes import Context, Output


def change_of_output(trace: AttentionTrace, *, context: Context | None = None) -> Change:
    """The output as it is beside that with all heads on; the input of the layer stays as it is.

    Parameters
    ----------
    trace
        A layer; heads of it may be off, for all queries or for some.
    context
        The contexts of the layer where they are known; else those of a long trace are streamed.

    References
    ----------
    Michel et al. 2019, section 3.2.
    """
    to_output = trace.origin.to_output
    if context is None:
        return change_between(to_output(merge_heads(trace.context)), trace.output)
    now = context if trace.gates is None else trace.gates.of(context)
    return change_between(to_output(merge_heads(context)), to_output(merge_heads(now)))


def change_between(before: Output, after: Output) -> Change:
    """How one output differs from another, in float64.

    Examples
    --------
    >>> change_between(np.array([[3.0, 4.0]]), np.array([[3.0, 0.0]])).relative
    0.8
    """
    whole, now = before.astype(np.float64), after.astype(np.float64)
    lost, squares, left = (np.square(rows).sum(axis=1) for rows in (now - whole, whole, now))
    size = float(np.sqrt(squares.sum()))
    with np.errstate(invalid="ignore", divide="ignore"):
        cosines = np.vecdot(whole, now) / np.sqrt(squares * left)
        at = np.where(squares > 0, np.sqrt(lost / squares), np.nan)
    known = (squares > 0) & (left > 1e-24 * squares)
    cosine = float(np.clip(cosines[known], -1, 1).mean()) if known.any() else float("nan")
    return Change(float(np.sqrt(lost.sum())) / size if size else float("nan"), cosine, at)
