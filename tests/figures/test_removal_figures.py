"""Pictures of what is lost without heads."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures import pruning_lines
from attnviz.metrics.contribution import Pruning


@pytest.mark.parametrize(
    ("n_heads", "ticks"),
    [(1, [0, 1]), (8, list(range(9))), (12, [0, 2, 4, 6, 8, 10, 12]), (64, list(range(0, 65, 8)))],
)
def test_the_counts_of_heads_left_are_few_and_upright(n_heads: int, ticks: list[int]) -> None:
    curve = np.linspace(0, 1, n_heads + 1)

    axis = pruning_lines(Pruning(np.arange(n_heads), curve, curve, curve)).layout.xaxis

    assert list(axis.tickvals) == ticks
    assert list(axis.ticktext) == [str(count) for count in ticks]
    assert axis.tickangle == 0
