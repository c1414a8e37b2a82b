"""What is seen in each picture, in words, for who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.core.trace import AttentionTrace
from attnviz.figures.answers import named, quoted
from attnviz.metrics import Overview, mean_over_queries
from attnviz.numbers import counted, significant
from attnviz.shapes import HeadPairs, PerQuery


def _size(trace: AttentionTrace) -> str:
    return f"{counted(trace.n_q, 'query', 'queries')} (rows) by {counted(trace.n_k, 'key')} (columns)"


def head_grid(trace: AttentionTrace, small: Overview, shown: range, roles: Sequence[str]) -> str:
    """Alt text of the grid of heads."""
    names = ", ".join(roles[head] for head in shown if roles[head])
    forbidden = 1 - small.allowed_share
    masked = f" {significant(100 * forbidden)} % of the cells are drawn as forbidden." if forbidden else ""
    return f"Heatmaps of {counted(len(shown), 'head')}, {_size(trace)} each{': ' if names else ''}{names}.{masked}"


def pattern(trace: AttentionTrace, head: int, roles: Sequence[str]) -> str:
    """Alt text of one head's heatmap."""
    first, _ = trace.window(head, range(min(trace.n_q, 12)), range(trace.n_k))
    lines = [
        f"query {row} {quoted(trace.query_tokens[row])} looks most at key {key} {quoted(trace.key_tokens[key])}"
        for row, key in enumerate(first.argmax(axis=1))
    ]
    return f"Heatmap of {named(head, roles)}, {_size(trace)}: {'; '.join(lines)}{'; …' if trace.n_q > 12 else ''}."


def query_row(trace: AttentionTrace, head: int, query: int) -> str:
    """Alt text of one query's bars."""
    weights, _ = trace.row(head, query)
    best = [int(key) for key in np.argsort(-weights, kind="stable")[:3]]
    words = ", ".join(f"{quoted(trace.key_tokens[key])} (key {key}) {significant(float(weights[key]))}" for key in best)
    return f"Bars of the weights of query {query} {quoted(trace.query_tokens[query])}; the largest: {words}."


def similarity(matrix: HeadPairs) -> str:
    """Alt text of the head-by-head matrix."""
    lowest = significant(float(matrix.min()))
    return f"Matrix of cosine similarity between {counted(matrix.shape[0], 'head')}, from {lowest} to 1."


def measure(values: PerQuery, roles: Sequence[str], name: str) -> str:
    """Alt text of the panel of a measure."""
    means = mean_over_queries(values)
    words = ", ".join(f"{named(head, roles)} {significant(float(mean))}" for head, mean in enumerate(means[:16]))
    return f"{name} of each head: {words}{', …' if len(means) > 16 else ''}."
