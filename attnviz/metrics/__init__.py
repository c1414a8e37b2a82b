"""Measures of heads, each with what a head that knows nothing would score."""

from __future__ import annotations

from attnviz.metrics import patterns, similarity
from attnviz.metrics.baseline import mean_over_queries, uniform_weights
from attnviz.metrics.pooling import Overview, overview
from attnviz.metrics.similarity import most_alike
from attnviz.metrics.survey import Survey, survey

__all__ = [
    "Overview",
    "Survey",
    "mean_over_queries",
    "most_alike",
    "overview",
    "patterns",
    "similarity",
    "survey",
    "uniform_weights",
]
