"""The stages from the tokens to the scores: x, projection, rotation, dot product."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from attnviz.core.affine import Affine
from attnviz.core.origin import Part
from attnviz.numbers import counted, percent, significant
from attnviz.steps.equation import (
    NORMALISED,
    PRODUCT,
    SUM,
    TURNED_FIRST,
    TURNED_SECOND,
    Equation,
    exact,
    number,
    numbers,
)
from attnviz.steps.focus import Focus
from attnviz.steps.shots import of_pairs, of_rows
from attnviz.steps.stage import Shot, Stage
from attnviz.steps.terms import Terms

Side = tuple[str, tuple[Part, ...], int]


def sum_of_parts(focus: Focus) -> Stage:
    """X of query and key: word plus position."""
    trace, column = focus.trace, input_column(focus)
    parts = trace.origin.query_parts
    names = " + ".join(part.name for part in parts)
    sides = [("x_i", parts, focus.query), ("x_j", trace.origin.key_parts, focus.key)]
    is_sum = len(parts) > 1
    equations = [equation for side in sides for equation in _input_equations(focus, side, column)]
    added = f"the sum of {names}" if is_sum else f"the {names} alone"
    norm = ", brought to mean 0 and variance 1 by LayerNorm, then stretched and shifted" if trace.origin.norm else ""
    first, second = (float(x[column]) for x in (focus.x, focus.key_x))
    same = (
        " Query and key are the same vector here."
        if focus.x.shape == focus.key_x.shape and np.array_equal(focus.x, focus.key_x)
        else ""
    )
    return Stage(
        name="input",
        question="What does each token start from?",
        answer=f"x is {added}{norm}: {counted(len(focus.x), 'number')} for each token. In column {column} (c) the "
        f"query has {significant(first)} and the key {significant(second)}.{same}",
        equations=equations,
        shapes=f"x: {trace.n_q} × {trace.x.shape[1]} (tokens × d_model)",
        shots=list(_input_shots(focus, column)),
        has_own_scales=True,
        notes="" if is_sum else "Nothing is added for the place of the token.",
    )


def _input_shots(focus: Focus, column: int) -> Iterator[Shot]:
    """The parts and their sum; in cross-attention of the queries and of the keys, else with both rows marked."""
    trace = focus.trace
    is_cross = trace.x is not trace.key_x
    sides = [("query", trace.origin.query_parts, trace.x, focus.query)]
    sides += [("key", trace.origin.key_parts, trace.key_x, focus.key)] if is_cross else []
    for side, parts, x, row in sides:
        of_side = f" of the {side}" if is_cross else ""
        arrays = [*((part.name, part.rows) for part in parts if len(parts) > 1), ("x", x)]
        for name, rows in arrays:
            yield of_rows(f"{name}{of_side}", rows, row, column, other=None if is_cross else focus.key)


def input_column(focus: Focus) -> int:
    """The column of x that adds most to the query's followed column."""
    W = focus.trace.origin.to_query.W[:, focus.columns("query")][:, focus.column]
    return int(np.argmax(np.abs(focus.x * W)))


def _input_equations(focus: Focus, side: Side, column: int) -> Iterator[Equation]:
    symbol, parts, place = side
    letters = " + ".join(rf"\text{{{part.name}}}_c" for part in parts)
    values = [float(part.rows[place, column]) for part in parts]
    *shown, total = numbers([*values, sum(values)])
    norm = focus.trace.origin.norm
    left = rf"{symbol}[c]" if norm is None else r"\text{sum}_c"
    if len(parts) > 1 or norm is None:
        yield Equation(left, letters, SUM, tuple(shown), total, tuple(part.name for part in parts))
    if norm is None:
        return
    whole = np.sum([part.rows[place] for part in parts], axis=0, dtype=np.float64)
    spread = float(np.sqrt(whole.var() + norm.epsilon))
    gain, shift = float(norm.gain[column]), float(norm.shift[column])
    made = gain * (sum(values) - float(whole.mean())) / spread + shift
    inputs = (total, number(float(whole.mean())), number(spread), number(gain), number(shift))
    formula = r"\text{gain}_c \frac{\text{sum}_c - \text{mean}}{\sqrt{\text{variance} + \varepsilon}} + \text{shift}_c"
    yield Equation(rf"{symbol}[c]", formula, NORMALISED, inputs, number(made))


def projection(focus: Focus) -> Stage:
    """Q = x W_Q, k = x W_K, v = x W_V."""
    trace, origin, d = focus.trace, focus.trace.origin, focus.column
    terms = [
        _mapped(focus, which, x, column)
        for which, x, column in (
            ("query", focus.x, d),
            ("key", focus.key_x, d),
            ("value", focus.key_x, focus.value_column),
        )
    ]
    names = ("q_i", "k_j", "v_j")
    letters = ("W_Q", "W_K", "W_V")
    biased = ("", "", "") if origin.to_query.b is None else (" + b_Q[d]", " + b_K[d]", " + b_V[d]")
    column = ("d", "d", "e")
    equations = [
        one.sum(rf"{name}[{place}]", rf"\sum_c x_{name[-1]}[c]\, {W}[c,{place}]{b.replace('d', place)}")
        for one, name, W, b, place in zip(terms, names, letters, biased, column, strict=True)
    ]
    return Stage(
        name="projection",
        question="What does the head ask for, and what does the key offer?",
        answer=f"Three matrices turn x into a query, a key and a value of head {focus.head}: column {d} (d) of the "
        f"query is {significant(float(focus.query_before[d]))}, of the key {significant(float(focus.key_before[d]))}; "
        f"column {focus.value_column} (e) of the value is {significant(float(focus.v[focus.value_column]))}.",
        equations=[terms[0].product(r"x_i[c]\, W_Q[c,d]", r"x_i[c] \cdot W_Q[c,d]"), *equations],
        shapes=f"W_Q: {trace.x.shape[1]} × {trace.d_head} for each head, so q: {trace.n_q} × {trace.d_head}, "
        f"k: {trace.n_k} × {trace.d_head}, v: {trace.n_k} × {trace.value.shape[2]}",
        shots=[
            of_rows("query", queries_before(focus), focus.query, d),
            of_rows("key", keys_before(focus), focus.key, d),
            of_rows("value", trace.value[focus.kv_head], focus.key, focus.value_column),
        ],
        has_own_scales=True,
        terms=terms[0],
    )


def queries_before(focus: Focus) -> Float[np.ndarray, "q d_head"]:
    """The queries of the head before they are turned."""
    return split_columns(focus.trace.origin.to_query, focus.trace.x, focus.columns("query"))


def keys_before(focus: Focus) -> Float[np.ndarray, "k d_head"]:
    """The keys that serve the head, before they are turned."""
    return split_columns(focus.trace.origin.to_key, focus.trace.key_x, focus.columns("key"))


def split_columns(
    affine: Affine, x: Float[np.ndarray, "token d_model"], columns: slice
) -> Float[np.ndarray, "token column"]:
    """Some columns of x W + b."""
    made = x @ affine.W[:, columns]
    return made if affine.b is None else made + affine.b[columns]


def _mapped(focus: Focus, which: str, x: np.ndarray, column: int) -> Terms:
    origin = focus.trace.origin
    affine = {"query": origin.to_query, "key": origin.to_key, "value": origin.to_value}[which]
    place = focus.columns(which).start + column
    W = affine.W[:, place].astype(np.float64)
    products = x * W
    chosen = input_column(focus) if which == "query" else int(np.argmax(np.abs(products)))
    constant = 0.0 if affine.b is None else float(affine.b[place])
    return Terms("column", [f"column {c}" for c in range(len(x))], x, W, products, chosen, constant)


def rotation(focus: Focus) -> Stage:
    """Query and key turned by their position, where the position method turns them."""
    trace, turn = focus.trace, focus.trace.origin.rotation
    assert turn is not None
    pair = turn.pair(focus.column)
    places = {"i": int(trace.origin.q_positions[focus.query]), "j": int(trace.origin.k_positions[focus.key])}
    shots = [
        of_rows("query", queries_before(focus), focus.query, focus.column),
        of_rows("query, turned", trace.query[focus.head], focus.query, focus.column),
        of_rows("key", keys_before(focus), focus.key, focus.column),
        of_rows("key, turned", trace.key[focus.kv_head], focus.key, focus.column),
    ]
    shapes = f"{len(turn.frequencies)} pairs of columns turn, of {trace.d_head} columns"
    question = "How does the place turn query and key?"
    if pair is None:
        return Stage(
            name="rotation",
            question=question,
            answer=f"Column {focus.column} is not among the columns that turn: it stays as it is.",
            equations=[],
            shapes=shapes,
            shots=shots,
            has_own_scales=True,
        )
    index, first, second = pair
    frequency = float(turn.frequencies[index])
    equations: list[Equation] = []
    is_first = focus.column == first
    for letter, before, after in (("q", focus.query_before, focus.q), ("k", focus.key_before, focus.k)):
        place = "i" if letter == "q" else "j"
        angle = number(places[place] * frequency)
        equations.append(
            Equation(
                rf"\theta_{place}",
                rf"\text{{position}}_{place} \cdot \omega_{{{index}}}",
                PRODUCT,
                (exact(places[place]), number(frequency)),
                angle,
            )
        )
        a, b = number(float(before[first])), number(float(before[second]))
        signs = (
            rf"{letter}[{first}] \cos\theta - {letter}[{second}] \sin\theta"
            if is_first
            else rf"{letter}[{first}] \sin\theta + {letter}[{second}] \cos\theta"
        )
        factor = exact(1.0) if turn.attention_factor == 1 else number(turn.attention_factor)
        written = signs if turn.attention_factor == 1 else rf"a\,({signs})"
        operation = TURNED_FIRST if is_first else TURNED_SECOND
        made = number(float(after[focus.column]))
        equations.append(Equation(rf"{letter}'[{focus.column}]", written, operation, (a, b, angle, factor), made))
    apart = (places["j"] - places["i"]) * frequency
    return Stage(
        name="rotation",
        question=question,
        answer=f"Columns {first} and {second} turn together, the query by {significant(places['i'] * frequency)} and "
        f"the key by {significant(places['j'] * frequency)} radians; their product feels only "
        f"the difference, {significant(apart)}.",
        equations=equations,
        shapes=shapes,
        shots=shots,
        has_own_scales=True,
    )


def dot_product(focus: Focus) -> Stage:
    """The dot product of query and key, term by term."""
    trace = focus.trace
    products = focus.q * focus.k
    labels = [f"column {d}" for d in range(len(products))]
    terms = Terms("column", labels, focus.q, focus.k, products, focus.column)
    size = float(np.abs(products).sum())
    share = (
        f", {percent(abs(float(products[focus.column])) / size)} of all that is added and taken away" if size else ""
    )
    rank = rank_of_scores(focus)
    most = min(trace.d_head, trace.n_q, trace.n_k)
    known = "" if rank is None else f" The matrix q kᵀ has rank {rank}; {most} is the most (d_head, or the tokens)."
    return Stage(
        name="dot",
        question="How well do query and key agree?",
        answer=f"Column by column the products add up to {significant(float(focus.dots[focus.key]))}; column "
        f"{focus.column} alone gives {significant(float(products[focus.column]))}{share}.{known}",
        equations=[
            terms.product(r"q_i[d]\,k_j[d]", r"q_i[d] \cdot k_j[d]"),
            terms.sum(r"q_i \cdot k_j", r"\sum_d q_i[d]\,k_j[d]"),
        ],
        shapes=f"q: {trace.n_q} × {trace.d_head}, kᵀ: {trace.d_head} × {trace.n_k}, so q kᵀ: {trace.n_q} × {trace.n_k}",
        shots=[of_pairs(focus, "query · key", lambda q, k: q @ k.T)],
        terms=terms,
    )


def rank_of_scores(focus: Focus) -> int | None:
    """Rank of all products of queries and keys of the head; None of more than 2048 tokens.

    Notes
    -----
    At most d_head, however many tokens there are (Bhojanapalli et al. 2020, section 3).
    """
    query, key = focus.trace.query[focus.head], focus.trace.key[focus.kv_head]
    if max(len(query), len(key)) > 2048:
        return None
    tall = [np.asarray(np.linalg.qr(array.astype(np.float64), mode="r")) for array in (query, key)]
    singular = np.linalg.svd(tall[0] @ tall[1].T, compute_uv=False)
    precision = np.finfo(query.dtype).eps * max(len(query), len(key))
    return int((singular > precision * singular.max(initial=0.0)).sum())
