"""The same row under other settings, and why products are divided by the square root of d_head."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from jaxtyping import Float

from attnviz.core.softmax import masked_softmax
from attnviz.shapes import PerKey
from attnviz.steps.focus import Focus

WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
N_QUERIES = 256
N_KEYS = 32


@dataclass(frozen=True)
class Change:
    """What is different from the setting on screen.

    Attributes
    ----------
    is_scaled
        Whether products are divided by the square root of d_head.
    temperature
        What the scores are divided by; 1 changes nothing.
    is_masked
        Whether the mask is applied.
    """

    is_scaled: bool = True
    temperature: float = 1.0
    is_masked: bool = True


def changed_row(focus: Focus, change: Change) -> PerKey:
    """Weights of the row under a change.

    Notes
    -----
    softmax((cap(product · scale) + bias) / temperature) over the allowed keys, or over all of them; a sink is left out
    of neither. With the scale off the product is multiplied by the sharpness alone, with it by sharpness / √d_head.
    """
    trace = focus.trace
    scores = focus.dots * focus.sharpness / (sqrt(trace.d_head) if change.is_scaled else 1.0)
    if trace.softcap:
        scores = trace.softcap * np.tanh(scores / trace.softcap)
    scores = (scores + focus.bias) / change.temperature
    allowed = focus.allowed if change.is_masked else np.ones_like(focus.allowed)
    if focus.sink is None:
        return masked_softmax(scores[None, None], allowed[None, None])[0, 0]
    with_sink = np.append(scores, focus.sink / change.temperature)
    return masked_softmax(with_sink[None, None], np.append(allowed, True)[None, None])[0, 0, :-1]


@dataclass(frozen=True, eq=False)
class Spread:
    """Random queries and keys of several widths: how far their products spread, and what is left of the gradient.

    Attributes
    ----------
    widths
        d_head.
    plain_variance, scaled_variance
        Variance of the products, as they are and divided by the square root of d_head.
    plain_gradient, scaled_gradient
        Mean over queries of the largest p (1 - p) of their weights p, the slope of a weight against its own score.
    """

    widths: tuple[int, ...]
    plain_variance: Float[np.ndarray, " width"]
    scaled_variance: Float[np.ndarray, " width"]
    plain_gradient: Float[np.ndarray, " width"]
    scaled_gradient: Float[np.ndarray, " width"]


def spread_of_products(seed: int, widths: tuple[int, ...] = WIDTHS) -> Spread:
    """Measured on standard normal queries and keys drawn from the seed.

    Notes
    -----
    A sum of d products of independent standard normal numbers has variance d; a softmax of scores with a large variance
    gives one key nearly everything, and the derivative of each weight, p (1 - p), is then nearly 0.

    References
    ----------
    Vaswani et al. 2017, section 3.2.1, with footnote 4.
    """
    rng = np.random.default_rng([seed, 0xD1])
    measured: list[tuple[float, float, float, float]] = []
    for width in widths:
        products = rng.standard_normal((N_QUERIES, width)) @ rng.standard_normal((N_KEYS, width)).T
        scaled = products / sqrt(width)
        measured.append((float(products.var()), float(scaled.var()), _gradient(products), _gradient(scaled)))
    columns = (np.array(values) for values in zip(*measured, strict=True))
    return Spread(widths, *columns)


def _gradient(scores: Float[np.ndarray, "q k"]) -> float:
    weights = masked_softmax(scores[None], np.ones((1, *scores.shape), dtype=bool))[0]
    return float((weights * (1 - weights)).max(axis=1).mean())


def measured_spread(focus: Focus) -> Spread | None:
    """The same of the head on screen, without its mask; None of more than 2048 tokens."""
    trace = focus.trace
    if max(trace.n_q, trace.n_k) > 2048:
        return None
    products = trace.query[focus.head].astype(np.float64) @ trace.key[focus.kv_head].astype(np.float64).T
    scaled = products / sqrt(trace.d_head)
    columns = (np.array([value]) for value in (products.var(), scaled.var(), _gradient(products), _gradient(scaled)))
    return Spread((trace.d_head,), *columns)
