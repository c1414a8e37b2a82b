"""How many directions heads use, in words computed from the data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from attnviz.figures.answers import named
from attnviz.metrics.baseline import mean_of_defined
from attnviz.metrics.ranks import directions_for_most, numerical_rank
from attnviz.metrics.spectra import LayerSpectra, Spectra, UniformPerHead
from attnviz.numbers import THIN_SPACE, counted, grouped, significant
from attnviz.shapes import PerHead

MOST_NAMED = 16
SAME = 0.005


def limit(d_head: int, n_q: int, n_k: int) -> tuple[int, str]:
    """The most directions that scores can have, and what limits them.

    >>> limit(8, 11, 11), limit(64, 11, 9)
    ((8, 'd_head = 8'), (9, '9 keys'))
    """
    if d_head <= min(n_q, n_k):
        return d_head, f"d_head = {d_head}"
    return (n_q, counted(n_q, "query", "queries")) if n_q < n_k else (n_k, counted(n_k, "key"))


def rank_answer(found: LayerSpectra, head: int, roles: Sequence[str], most: int, most_name: str) -> str:
    """How many directions one head uses before and after the softmax, beside a uniform head."""
    common = head if len(found.uniform.values) > 1 else 0
    before, after = (int(numerical_rank(part)[head]) for part in (found.scores, found.weights))
    full = min(found.weights.shape)
    least = directions_for_most(found.weights)[head]
    uniform = int(numerical_rank(found.uniform)[common])
    who = named(head, roles)
    begins = f"{who[:1].upper()}{who[1:]}"
    if before == 0:
        start = f"{begins} has scores of 0 only, so it uses no direction before the softmax"
    else:
        reason = (
            f"{most_name} is the most" if most_name.startswith("d_head") else f"{most} is the most, with {most_name}"
        )
        start = f"{begins} uses {counted(before, 'direction')} before the softmax ({reason})"
    if math.isnan(least):
        return f"{start}; no query has a key it may attend to."
    return (
        f"{start} and {after} of {full} after it; 90{THIN_SPACE}% of the sum of its squared weights lies in "
        f"{int(least)}. A head uniform over the allowed keys uses {uniform}."
    )


def ranks_answer(scores: PerHead, weights: PerHead, uniform: UniformPerHead, most: int, most_name: str) -> str:
    """What the softmax does to the effective rank of all heads, beside the uniform head."""
    both = ~(np.isnan(scores) | np.isnan(weights))
    even = significant(mean_of_defined(uniform))
    if not both.any():
        return f"No head has scores other than 0. A uniform head's effective rank is {even}."
    n_heads = int(both.sum())
    raised, lowered = (int((sign * (weights - scores)[both] > SAME).sum()) for sign in (1, -1))
    means = [significant(float(values[both].mean())) for values in (scores, weights)]
    if not raised and not lowered:
        same = f"The softmax leaves the effective rank of all heads as it is: {means[0]} on average"
        return f"{same}; a uniform head has {even}."
    verb, count, other = ("raises", raised, lowered) if raised >= lowered else ("lowers", lowered, raised)
    others = f", and {'lowers' if verb == 'raises' else 'raises'} that of {grouped(other)}" if other else ""
    return (
        f"The softmax {verb} the effective rank of {grouped(count)} of {counted(n_heads, 'head')}{others}: from "
        f"{means[0]} to {means[1]} on average. The scores can have {most} at most ({most_name}); "
        f"a uniform head has {even}."
    )


def rank_caption(found: LayerSpectra, n_q: int) -> str:
    """How to read the singular values."""
    return (
        "Singular values σᵢ / σ₁: how strong each direction is beside the strongest; a line ends where they are no "
        "more than rounding (σ₁ · longer side · ε). Scores: query·key · scale, before soft cap, bias and mask; their "
        "rank is at most d_head (Bhojanapalli et al. 2020, section 3). A uniform head: by the same code on the same "
        f"mask.{rows_left_out(found, n_q)}"
    )


def rows_left_out(found: LayerSpectra, n_q: int) -> str:
    """That the weights of some queries only are looked at, where it is so."""
    return f" Weights: of the first {found.n_rows} of {grouped(n_q)} queries." if found.n_rows < n_q else ""


def spectrum_alt(found: LayerSpectra, head: int) -> str:
    """Alt text of the lines of singular values."""
    common = head if len(found.uniform.values) > 1 else 0
    parts = (
        ("scores", found.scores, head),
        ("weights", found.weights, head),
        ("a uniform head", found.uniform, common),
    )
    words = "; ".join(f"{name}: {_first(spectra, row)}" for name, spectra, row in parts)
    return f"Singular values as shares of the largest, from the first on. {words}."


def _first(spectra: Spectra, row: int) -> str:
    shares = spectra.shares()[row]
    real = shares[~np.isnan(shares)]
    if not real.size:
        return "none"
    shown = ", ".join(significant(float(share)) for share in real[:6])
    return f"{counted(int(real.size), 'value')}, {shown}{', …' if real.size > 6 else ''}"


def ranks_alt(scores: PerHead, weights: PerHead) -> str:
    """Alt text of the picture of the ranks of all heads."""
    words = ", ".join(
        f"head {head} {significant(float(one))} and {significant(float(other))}"
        for head, (one, other) in enumerate(zip(scores[:MOST_NAMED], weights[:MOST_NAMED], strict=True))
    )
    return f"Effective rank of scores and of weights of each head: {words}{', …' if len(scores) > MOST_NAMED else ''}."
