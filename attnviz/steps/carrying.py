"""The stages from the weights to the output: context, then all heads together."""

from __future__ import annotations

import numpy as np

from attnviz.core.projections import merge_heads
from attnviz.numbers import counted, percent, significant
from attnviz.steps.equation import DROPPED, REPLACED, Equation, number
from attnviz.steps.focus import Focus
from attnviz.steps.shots import of_rows
from attnviz.steps.stage import Stage
from attnviz.steps.terms import Terms


def context(focus: Focus) -> Stage:
    """Weight times value, summed over the keys."""
    trace, e = focus.trace, focus.value_column
    values = focus.values[:, e]
    products = np.where(focus.allowed, focus.weights * np.where(focus.allowed, values, 0.0), 0.0)
    labels = [f"key {key}" for key in range(trace.n_k)]
    terms = Terms("key", labels, focus.weights, values, products, focus.key)
    head = trace.attention.context[focus.head] if trace.kept else focus.contexts[focus.head][None]
    marked = focus.query if trace.kept else 0
    return Stage(
        name="context",
        question="What does the query take from the keys?",
        answer=f"Every value times its weight, added up: column {e} (e) of the context is "
        f"{significant(terms.total.value)}, of which this key brings {significant(float(products[focus.key]))}.",
        equations=[
            terms.product("w_{ij}\\, v_j[e]", r"w_{ij} \cdot v_j[e]"),
            terms.sum("z_i[e]", r"\sum_j w_{ij}\, v_j[e]"),
        ],
        shapes=f"weights: {trace.n_q} × {trace.n_k}, value: {trace.n_k} × {values_width(focus)}, "
        f"so context: {trace.n_q} × {values_width(focus)} for each head",
        shots=[
            of_rows("value", trace.value[focus.kv_head], focus.key, e),
            of_rows("context", head, marked, e),
        ],
        has_own_scales=True,
        terms=terms,
        notes="" if focus.is_on[focus.head] else "The head is switched off: its context does not reach the output.",
    )


def values_width(focus: Focus) -> int:
    """Columns of a head's value."""
    return focus.trace.value.shape[2]


def output(focus: Focus) -> Stage:
    """The heads that are on side by side times W_O, and what this head adds."""
    trace, column = focus.trace, focus.output_column
    own, b = focus.additions[focus.head], trace.origin.to_output.b
    W = trace.origin.to_output.W[focus.columns("output"), column].astype(np.float64)
    z = focus.gated[focus.head]
    from_context = Terms("column", [f"column {e}" for e in range(len(z))], z, W, z * W, focus.value_column)
    heads = [f"head {head}{'' if is_on else ' (off)'}" for head, is_on in enumerate(focus.is_on)]
    constant = 0.0 if b is None else float(b[column])
    terms = Terms("head", heads, None, None, focus.additions[:, column], focus.head, constant)
    norms = np.linalg.norm(focus.additions, axis=1)
    size = float(np.linalg.norm(focus.output))
    share = float(norms[focus.head] / norms.sum()) if norms.sum() else 0.0
    cosine = float(own @ focus.output / (norms[focus.head] * size)) if norms[focus.head] and size else float("nan")
    beside = "not defined, as one of them is 0" if np.isnan(cosine) else significant(cosine)
    shots = [of_rows("output", trace.output, focus.query, column)] if trace.kept else []
    merged = merge_heads(trace.gated) if trace.kept else focus.gated.reshape(1, -1)
    place = focus.columns("output").start + focus.value_column
    return Stage(
        name="output",
        question="What does this head add to the output?",
        answer=f"{_switched_off(focus)}A vector of length {significant(float(norms[focus.head]))}, {percent(share)} of "
        f"the lengths of what {counted(trace.n_heads, 'head')} add (equal heads: {percent(1 / trace.n_heads)} each); "
        f"its cosine with the output is {beside}.",
        equations=[
            *_replaced(focus),
            from_context.product(r"z_i[e]\, W_O[e,m]", r"z_i[e] \cdot W_O[e,m]"),
            from_context.sum(rf"o_{{{focus.head}}}[m]", r"\sum_e z_i[e]\, W_O[e,m]"),
            terms.sum("o_i[m]", r"\sum_{\text{heads}} o_h[m]" + ("" if b is None else " + b_O[m]")),
        ],
        shapes=f"contexts side by side: {trace.n_q} × {merged.shape[1]} ({trace.n_heads} × {len(z)}), "
        f"W_O: {merged.shape[1]} × {len(focus.output)}, output: {trace.n_q} × {len(focus.output)}; "
        f"followed is column {column} (m)",
        shots=[of_rows("contexts", merged, focus.query if trace.kept else 0, place), *shots],
        has_own_scales=True,
        terms=terms,
    )


def _switched_off(focus: Focus) -> str:
    """That the head is off, and what takes its place."""
    gates = focus.trace.gates
    if gates is None or focus.is_on[focus.head]:
        return ""
    instead = "0" if gates.stand_in == "zero" else "its mean over the queries"
    return f"Head {focus.head} is switched off: {instead} takes the place of its context. "


def _replaced(focus: Focus) -> list[Equation]:
    """What takes the place of the context of a head that is off, in the column that the stages follow."""
    gates = focus.trace.gates
    if gates is None or focus.is_on[focus.head]:
        return []
    before, after = (number(float(of[focus.head, focus.value_column])) for of in (focus.contexts, focus.gated))
    if gates.stand_in == "zero":
        return [Equation("z'_i[e]", r"0 \cdot z_i[e]", DROPPED, (before,), after)]
    formula = r"0 \cdot z_i[e] + \tfrac{1}{n} \sum_q z_q[e]"
    return [Equation("z'_i[e]", formula, REPLACED, (before, after), after)]
