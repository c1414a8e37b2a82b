"""Measures of heads, each with what a head that knows nothing would score."""

from __future__ import annotations

from attnviz.metrics import cka, output, patterns, places, ranks, similarity, spread, subspaces, words
from attnviz.metrics.baseline import mean_over_queries, uniform_weights
from attnviz.metrics.measured import Measured, measured, measured_all
from attnviz.metrics.naming import measure_label
from attnviz.metrics.pooling import Overview, overview
from attnviz.metrics.roles import Role, roles_of
from attnviz.metrics.similarity import most_alike
from attnviz.metrics.survey import SURVEYED, Survey, survey

__all__ = [
    "SURVEYED",
    "Measured",
    "Overview",
    "Role",
    "Survey",
    "cka",
    "mean_over_queries",
    "measure_label",
    "measured",
    "measured_all",
    "most_alike",
    "output",
    "overview",
    "patterns",
    "places",
    "ranks",
    "roles_of",
    "similarity",
    "spread",
    "subspaces",
    "survey",
    "uniform_weights",
    "words",
]
