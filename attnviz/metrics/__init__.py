"""Measures of heads, each with what a head that knows nothing would score."""

from __future__ import annotations

from attnviz.metrics import patterns, similarity
from attnviz.metrics.baseline import mean_over_queries, uniform_weights
from attnviz.metrics.similarity import most_alike

__all__ = ["mean_over_queries", "most_alike", "patterns", "similarity", "uniform_weights"]
