"""A measure of a whole layer is that of its maps, whether they are kept or computed in rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnviz import AttentionConfig, attend
from attnviz.core import layer
from attnviz.core.rows import rows_of
from attnviz.errors import UnknownNameError
from attnviz.metrics import measured
from attnviz.metrics.baseline import uniform_rows
from attnviz.metrics.facts import facts_of
from attnviz.registries import MASKS, METRICS
from attnviz.registry import Spec
from tests.strategies import in_small_blocks

CONFIG = AttentionConfig(tuple("abcdefghijkl"), masks=(MASKS["causal"].spec(),), n_heads=4, projections="random")


@pytest.mark.parametrize("name", METRICS.names())
def test_a_measure_in_rows_is_that_of_the_whole_maps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = attend(CONFIG)
    function = METRICS[name].function
    monkeypatch.setattr(layer, "MOST_KEPT", 0)
    told: list[float] = []

    with in_small_blocks(96):
        found = measured(attend(CONFIG), METRICS[name].spec(), told.append)

    rows = replace(rows_of(whole.weights, whole.mask), facts=facts_of(whole, [METRICS[name].spec()]))
    np.testing.assert_allclose(found.values, function(rows), rtol=1e-5, atol=1e-6)
    even = function(uniform_rows(rows))
    exactly = {"rtol": 1e-9, "atol": 1e-12} if name != "output_share" else {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(found.uniform, even, **exactly)
    assert told[-1] == 1
    assert len(told) > 1


def test_an_unknown_measure_is_named() -> None:
    with pytest.raises(UnknownNameError, match="`metric` must be a known name; got metric=fame"):
        measured(attend(CONFIG), Spec("fame"))
