"""The model with heads gated in every layer: one run, whichever way the gates are set."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.core.gating import Gates
from attnviz.metrics.adaptive import GATED_BY, adaptive_gates
from attnviz.models import encode, load_minilm
from attnviz.models.gated import gated_model
from attnviz.models.importance import embedding_change

pytestmark = pytest.mark.model
CAT = "The cat sat on the mat because it was tired."


@pytest.fixture(scope="module")
def encoder():
    return load_minilm()


@pytest.mark.parametrize("gate_by", GATED_BY)
def test_each_number_is_that_of_a_run_with_these_gates(encoder, gate_by):
    intact = encode(encoder, CAT)
    gates = [adaptive_gates(trace, 0.6, gate_by).keeps for trace in intact.traces]
    told: list[float] = []

    found = gated_model(encoder, CAT, intact.traces, gates, kept_share=0.6, gate_by=gate_by, on_progress=told.append)

    fixed = encode(encoder, CAT, gates=lambda layer, _: Gates(gates[layer].copy()))
    anew = encode(encoder, CAT, gates=lambda _, trace: adaptive_gates(trace, 0.6, gate_by))
    assert found.embedding == embedding_change(intact.last_hidden, fixed.last_hidden)
    assert found.anew == embedding_change(intact.last_hidden, anew.last_hidden)
    assert found.n_kept_anew == sum(trace.gates.keeps.sum(axis=0).mean() for trace in anew.traces)
    assert found.embedding < found.at_random
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


def test_gates_that_keep_all_heads_change_nothing_in_any_run(encoder):
    intact = encode(encoder, CAT)
    gates = [np.ones((12, 1), dtype=bool)] * 6

    found = gated_model(encoder, CAT, intact.traces, gates, kept_share=1.0, gate_by="sentence")

    assert (found.embedding, found.at_random, found.anew, found.n_kept_anew) == (0, 0, 0, 72)
