"""The stages from the scores to the weight: scale, soft cap, bias, mask, softmax, dropout."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
from jaxtyping import Bool, Float

from attnviz.numbers import counted, percent, significant
from attnviz.registries import MASKS
from attnviz.steps.equation import (
    CAP,
    DROPPED,
    EXPONENTIAL,
    FORBIDDEN,
    KEPT,
    MASKED,
    PRODUCT,
    QUOTIENT,
    SUM,
    Equation,
    Number,
    exact,
    number,
    numbers,
)
from attnviz.steps.focus import Focus
from attnviz.steps.shots import of_pairs, pair_shot, pair_window
from attnviz.steps.stage import Shot, Stage
from attnviz.steps.terms import Terms


def scaling(focus: Focus) -> Stage:
    """The product times the scale."""
    trace, scale = focus.trace, focus.trace.scale
    sharp = "" if abs(focus.sharpness - 1) < 1e-9 else f"{significant(focus.sharpness)} "
    wide = (
        f"a product of {trace.d_head} columns spreads {significant(sqrt(trace.d_head))} times as wide as one, and a "
        "softmax of widely spread scores is all or nothing."
    )
    if focus.is_scaled:
        times = f"{sharp}/ √{trace.d_head}" if sharp else f"1 / √{trace.d_head}"
        answer = f"Times {times} = {significant(scale)}: {wide}"
        above = r"\text{sharpness}" if sharp else "1"
        formula = rf"\frac{{{above}}}{{\sqrt{{d_\text{{head}}}}}}\; q_i \cdot k_j"
    else:
        answer = f"It is not divided here, only multiplied by the sharpness {significant(focus.sharpness)}: {wide}"
        formula = r"\text{sharpness}\; q_i \cdot k_j"
    dot = _dot_total(focus)
    return Stage(
        name="scale",
        question="Why is the product divided?" if focus.is_scaled else "What if the product is not divided?",
        answer=answer,
        equations=[
            Equation("s_{ij}", formula, PRODUCT, (number(scale), dot), number(float(focus.scores[focus.key]))),
        ],
        shapes=f"scores: {trace.n_q} × {trace.n_k} for each of {counted(trace.n_heads, 'head')}",
        shots=[
            of_pairs(focus, "q · k", lambda q, k: q @ k.T),
            of_pairs(focus, "scores", lambda q, k: scale * (q @ k.T)),
        ],
    )


def _dot_total(focus: Focus) -> Number:
    products = focus.q * focus.k
    return Terms("column", (), focus.q, focus.k, products, focus.column).total


def soft_cap(focus: Focus) -> Stage:
    """The score bent so that it stays within the cap."""
    trace, cap = focus.trace, focus.trace.softcap
    score, capped = float(focus.scores[focus.key]), float(focus.capped[focus.key])
    return Stage(
        name="cap",
        question="What keeps scores from growing without bound?",
        answer=f"The score {significant(score)} becomes {significant(capped)}: no score can leave −{cap:g} to {cap:g}.",
        equations=[
            Equation(
                "c_{ij}",
                r"\text{cap} \tanh\frac{s_{ij}}{\text{cap}}",
                CAP,
                (number(score), exact(cap)),
                number(capped),
            )
        ],
        shapes=f"scores: {trace.n_q} × {trace.n_k}, as before",
        shots=[
            of_pairs(focus, "scores", lambda q, k: trace.scale * (q @ k.T)),
            of_pairs(focus, "capped", lambda q, k: cap * np.tanh(trace.scale * (q @ k.T) / cap)),
        ],
    )


def bias(focus: Focus) -> Stage:
    """What the position method adds to the score."""
    trace = focus.trace
    capped, added, total = numbers([float(row[focus.key]) for row in (focus.capped, focus.bias, focus.biased)])
    places = trace.origin.q_positions[focus.query], trace.origin.k_positions[focus.key]
    distance = int(places[1]) - int(places[0])
    where = "the same place" if not distance else f"{abs(distance)} {'after' if distance > 0 else 'before'} the query"
    return Stage(
        name="bias",
        question="What does the distance add?",
        answer=f"The key stands {where}, for which head {focus.head} adds "
        f"{significant(float(focus.bias[focus.key]))} to the score.",
        equations=[Equation("b_{ij}", r"s_{ij} + \text{bias}_{ij}", SUM, (capped, added), total)],
        shapes=f"bias: {trace.n_q} × {trace.n_k} for each head",
        shots=[
            pair_shot(focus, "scores", scores_in_window(focus)),
            pair_shot(focus, "bias", _bias_in_window(focus)),
            pair_shot(focus, "scores + bias", scores_in_window(focus) + _bias_in_window(focus)),
        ],
    )


def scores_in_window(focus: Focus) -> Float[np.ndarray, "row column"]:
    """Scores after the soft cap, of the pairs that fit into a picture."""
    trace = focus.trace
    shot = of_pairs(focus, "", lambda q, k: trace.scale * (q @ k.T))
    scores = shot.values.astype(np.float64)
    return trace.softcap * np.tanh(scores / trace.softcap) if trace.softcap else scores


def _bias_in_window(focus: Focus) -> Float[np.ndarray, "row column"]:
    rows, columns = pair_window(focus)
    bias_of = focus.trace.scorer.pairs.bias_of
    shape = (rows.stop - rows.start, columns.stop - columns.start)
    if bias_of is None:
        return np.zeros(shape)
    made = bias_of(rows)
    whole = np.broadcast_to(made, (focus.trace.n_heads, made.shape[1], focus.trace.n_k))
    return np.broadcast_to(whole[focus.head][:, columns], shape).astype(np.float64)


def allowed_in_window(focus: Focus) -> Bool[np.ndarray, "row column"]:
    """Which pairs of the picture the mask allows."""
    rows, columns = pair_window(focus)
    return focus.trace.window(focus.head, range(rows.start, rows.stop), range(columns.start, columns.stop))[1]


def letter_of(focus: Focus) -> str:
    """What a score is called before the mask: s, c after the soft cap, b with the bias."""
    return "b" if focus.trace.has_bias else "c" if focus.trace.softcap else "s"


def masking(focus: Focus) -> Stage:
    """Whether the key is allowed, and by which of the three masks."""
    trace = focus.trace
    verdicts = {
        f"{name} ({MASKS[spec.name].label})": bool(allowed[focus.key])
        for spec, (name, allowed) in zip(focus.masks, focus.allowed_by.items(), strict=True)
    }
    forbidding = [name for name, is_allowed in verdicts.items() if not is_allowed]
    n_allowed = int(focus.allowed.sum())
    if forbidding:
        answer = f"Forbidden by {' and '.join(forbidding)}: the weight will be exactly 0."
    else:
        answer = f"Allowed by all three: {', '.join(verdicts)}."
    others = f" Query {focus.query} may attend to {n_allowed} of {counted(trace.n_k, 'key')}."
    values = scores_in_window(focus) + _bias_in_window(focus)
    allowed = allowed_in_window(focus)
    letter, score = letter_of(focus), number(float(focus.biased[focus.key]))
    if forbidding:
        equation = Equation(
            "m_{ij}", rf"{letter}_{{ij}} - \infty\;\text{{(forbidden)}}", MASKED, (score,), Number(-inf, 0)
        )
    else:
        equation = Equation("m_{ij}", rf"{letter}_{{ij}} + 0\;\text{{(allowed)}}", SUM, (score, exact(0.0)), score)
    return Stage(
        name="mask",
        question="May this query look at this key?",
        answer=answer + (others if n_allowed else f" Query {focus.query} may attend to no key: its row is 0."),
        equations=[equation],
        shapes=f"mask: {trace.n_q} × {trace.n_k}, True = may attend; a forbidden score counts as −∞ in the softmax",
        shots=[
            pair_shot(focus, "scores", values),
            pair_shot(focus, "after the mask", values, allowed),
        ],
    )


def softmax(focus: Focus) -> Stage:
    """The weight: the exponential of the score, divided by the sum over the allowed keys."""
    trace, key = focus.trace, focus.key
    weight, is_allowed = float(focus.weights[key]), bool(focus.allowed[key])
    rows, columns = pair_window(focus)
    weights, allowed = trace.window(focus.head, range(rows.start, rows.stop), range(columns.start, columns.stop))
    n_allowed = int(focus.allowed.sum())
    equations: list[Equation] = []
    terms = exponentials(focus)
    if is_allowed:
        score, largest = numbers([float(focus.biased[key]), focus.largest], 6)
        letter = letter_of(focus)
        exponential = number(float(focus.exponentials[key]), 5)
        equations = [
            Equation(
                "e_{ij}",
                rf"e^{{\,{letter}_{{ij}} - \max_j {letter}_{{ij}}}}",
                EXPONENTIAL,
                (score, largest),
                exponential,
            ),
            terms.sum("Z_i", r"\sum_{j\ \text{allowed}} e_{ij}" + (" + e_{sink}" if focus.sink is not None else "")),
            Equation("w_{ij}", r"\frac{e_{ij}}{Z_i}", QUOTIENT, (exponential, terms.total), number(weight)),
        ]
        answer = (
            f"The key gets {percent(weight)} of the attention of query {focus.query}; a head that is uniform over its "
            f"{counted(n_allowed, 'allowed key')} would give {percent(1 / n_allowed)}."
        )
    else:
        equations = [Equation("w_{ij}", r"\frac{e^{-\infty}}{Z_i}", FORBIDDEN, (), exact(0.0))]
        answer = "The key is forbidden: its weight is exactly 0."
        if not n_allowed:
            answer = "No key is allowed: the whole row is 0, and so is the output of the head for this query."
    return Stage(
        name="softmax",
        question="How does a score become a weight?",
        answer=answer,
        equations=equations,
        shapes=f"weights: {trace.n_q} × {trace.n_k}; each row sums to "
        f"{'1' if focus.sink is None else 'less than 1'}{'' if n_allowed else '; a row without keys to 0'}",
        shots=[pair_shot(focus, "weights", weights, allowed)],
        kind="weights",
        terms=terms if n_allowed else None,
        notes=""
        if focus.sink is None
        else f"The sink, a key without a value, has the score {significant(focus.sink)} and "
        f"takes {percent(focus.sink_exponential / focus.total)}.",
    )


def exponentials(focus: Focus) -> Terms:
    """The exponentials of the allowed keys, and of the sink as a constant."""
    keys = np.flatnonzero(focus.allowed)
    labels = [f"key {key}" for key in keys]
    chosen = int(np.searchsorted(keys, focus.key)) if focus.allowed[focus.key] else 0
    return Terms(
        "key",
        labels,
        None,
        None,
        focus.exponentials[keys],
        chosen,
        focus.sink_exponential,
        "sink",
        tuple(map(int, keys)),
        digits=5,
    )


def dropout(focus: Focus) -> Stage:
    """What training would do to the weight."""
    trace, p = focus.trace, focus.trace.dropout
    weight, after = float(focus.weights[focus.key]), float(focus.after_dropout[focus.key])
    is_dropped = after == 0
    rows, columns = pair_window(focus)
    window = (focus.head, range(rows.start, rows.stop), range(columns.start, columns.stop))
    before, allowed = trace.window(*window)
    fate = "dropped" if is_dropped else f"kept and divided by 1 − {p:g}"
    equation = Equation(
        "w'_{ij}",
        "0" if is_dropped else r"\frac{w_{ij}}{1 - p}",
        DROPPED if is_dropped else KEPT,
        (number(weight), exact(p)),
        number(after),
    )
    shots: list[Shot] = [
        pair_shot(focus, "weights", before, allowed),
        pair_shot(focus, "after dropout", trace.in_training().window(*window)[0], allowed),
    ]
    return Stage(
        name="dropout",
        question="What would training do to the weight?",
        answer=f"With this seed the weight is {fate}. The next stages, and all other pages, go on with the weight "
        "before dropout.",
        equations=[equation],
        shapes=f"weights after dropout: {trace.n_q} × {trace.n_k}; rows no longer sum to 1",
        shots=shots,
        kind="weights",
    )
