"""Measures of heads, each with what a head that knows nothing would score."""

from __future__ import annotations

from attnviz.metrics import patterns, places, similarity, spread
from attnviz.metrics.baseline import mean_over_queries, uniform_weights
from attnviz.metrics.measured import Measured, measured
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
    "mean_over_queries",
    "measured",
    "most_alike",
    "overview",
    "patterns",
    "places",
    "roles_of",
    "similarity",
    "spread",
    "survey",
    "uniform_weights",
]
