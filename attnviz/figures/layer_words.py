"""What is said of rollout and flow: answers computed from them, how to read them, and what is seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.figures.answers import quoted
from attnviz.figures.flow import PerToken
from attnviz.metrics.flow import largest_error
from attnviz.metrics.rollout import RESIDUAL
from attnviz.numbers import THIN_SPACE, counted, percent, significant
from attnviz.shapes import Matrix, Tokens

TIE = 1e-9
NEAR = 0.01
"""Difference of two flows that counts as none, as a part of the larger one or of that of uniform attention."""


def through(index: int) -> str:
    """The layers from the chosen one down to the input.

    >>> through(0), through(5)
    ('layer 0', 'layers 0 to 5')
    """
    return f"layers 0 to {index}" if index else "layer 0"


def rollout_answer(rolled: Matrix, uniform: Matrix, index: int, query: int, tokens: Tokens) -> str:
    """Which other input token the chosen query is made of most, and how much of it is still its own token."""
    row, even = rolled[query], uniform[query]
    name = f"query {query} {quoted(tokens[query])}"
    if len(tokens) == 1:
        return "With one token there is nothing else to be made of."
    others = np.where(np.arange(len(row)) == query, -1.0, row)
    most = int(others.argmax())
    if others[most] <= TIE:
        return f"After {through(index)}, {name} is made of its own token alone."
    words = (
        f"After {through(index)}, {percent(row[most])} of {name} comes from token {most} {quoted(tokens[most])} "
        f"(with attention uniform over the allowed keys: {percent(even[most])}), and {percent(row[query])} from its "
        f"own token (uniform: {percent(even[query])})."
    )
    return words if index else f"{words} With one layer this is half its attention and half itself."


def rollout_caption() -> str:
    """How the rollout is computed and what it takes for granted."""
    return (
        f"rollout = A_l ··· A_1 A_0, A = {1 - RESIDUAL:g} W + {RESIDUAL:g} I with rows normalised: shares of the input "
        "tokens, each row sums to 1. W is the mean over the heads and the residual connection counts as half; values, "
        "W_O and the feed-forward part are left out. Source: Abnar & Zuidema 2020, section 3."
    )


def raw_answer(weights: Matrix, uniform: Matrix, index: int, query: int, tokens: Tokens) -> str:
    """What the chosen query looks at most in this layer alone."""
    key = int(weights[query].argmax())
    if not weights[query, key]:
        return f"The mask leaves query {query} {quoted(tokens[query])} no key."
    return (
        f"In layer {index} alone it looks most at key {key} {quoted(tokens[key])}: {percent(weights[query, key])}; "
        f"uniform: {percent(uniform[query, key])}."
    )


def map_alt(shares: Matrix, tokens: Tokens, what: str) -> str:
    """Alt text of a map of tokens by tokens."""
    n = len(tokens)
    lines = [
        f"query {row} {quoted(tokens[row])} mostly {key} {quoted(tokens[key])}"
        for row, key in enumerate(shares[:12].argmax(axis=1).tolist())
    ]
    return f"Heatmap of the {what}, {n} rows by {n} columns: {'; '.join(lines)}{'; …' if n > 12 else ''}."


def flow_answer(flows: PerToken, uniform: PerToken, rolled: PerToken, query: int, tokens: Tokens) -> str:
    """What flow tells of the input tokens, how near it is to that of uniform attention, and what rollout puts first."""
    name, count = f"query {query} {quoted(tokens[query])}", len(tokens)
    if count == 1:
        return "With one token there is nothing else to come from."
    apart = np.abs(flows - uniform)
    n_near, far = int((apart <= NEAR * uniform).sum()), int(apart.argmax())
    said = (
        f"From any one input token {_between(flows)} of {name} could come (with attention uniform over the allowed "
        f"keys: {_between(uniform)})."
    )
    within = f"{100 * NEAR:g}{THIN_SPACE}%"
    as_uniform = f"it is that of uniform attention, to within {within} of that"
    near = f"for {n_near} of {count} tokens {as_uniform}"
    furthest = (
        f"Furthest from uniform, in percentage points, is token {far} {quoted(tokens[far])}: "
        f"{percent(flows[far])}; uniform: {percent(uniform[far])}."
    )
    if n_near == count:
        said += f" Flow tells nothing here: for every token {as_uniform}."
    elif flows.max() - flows.min() <= NEAR * flows.max():
        said += f" Flow tells no token from another here: the least is within {within} of the largest. {furthest}"
    elif 2 * n_near >= count:
        said += f" Flow tells little here: {near}. {furthest}"
    else:
        said += f"{f' Flow tells some tokens apart: {near}.' if n_near else ''} {furthest}"
    first = int(rolled.argmax())
    return (
        f"{said} Rollout, never more than the flow, puts token {first} {quoted(tokens[first])} first: "
        f"{percent(rolled[first])}; its flow: {percent(flows[first])}."
    )


def _between(shares: PerToken) -> str:
    """The least and the most of some shares, or the one that they are all."""
    least, most = percent(float(shares.min())), percent(float(shares.max()))
    return most if least == most else f"{least} to {most}"


def flow_caption(n_tokens: int, n_layers: int, n_shown: int, axis_range: Sequence[float]) -> str:
    """How the flow is computed and what it takes for granted."""
    error = significant(largest_error(n_tokens, n_layers), 1)
    some = ""
    if n_shown < n_tokens:
        some = f" The {n_shown} tokens are shown whose flow is furthest from that of uniform attention, and the query."
    start = f" The axis starts at {significant(axis_range[0])}, not at 0." if axis_range[0] > 0 else ""
    return (
        f"flow = largest flow from the query to an input token through edges of capacity {1 - RESIDUAL:g} W + "
        f"{RESIDUAL:g} I, from 0 to 1, each token by itself, to within {error}; "
        "W is the mean over the heads; values, W_O and the feed-forward part are left out. Bars lead from the flow "
        f"under uniform attention to that of these heads; many layers and tokens bring both near 1.{start}{some} "
        "Source: Abnar & Zuidema 2020, section 4."
    )


def flow_alt(flows: PerToken, uniform: PerToken, shown: Sequence[int], tokens: Tokens) -> str:
    """Alt text of the bars of flow."""
    some = ", ".join(
        f"{place} {quoted(tokens[place])} {significant(float(flows[place]))} (uniform "
        f"{significant(float(uniform[place]))})"
        for place in shown[:8]
    )
    return f"Bars of the flow to {counted(len(shown), 'input token')}: {some}{', …' if len(shown) > 8 else ''}."
