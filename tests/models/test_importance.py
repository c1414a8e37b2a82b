"""Heads of a trained model removed: every later layer is another one, and so is the end of the model."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.errors import SettingError
from attnviz.metrics.adaptive import adaptive_gates
from attnviz.models import encode, load_minilm
from attnviz.models.importance import embedding_change, hidden_change, importance, last_hidden, text_embedding
from attnviz.models.minilm import heads_off
from attnviz.picks import HeadAt
from attnviz.registries import MASKS

pytestmark = pytest.mark.model
CAT = "The cat sat on the mat because it was tired."


@pytest.fixture(scope="module")
def encoder():
    return load_minilm()


def test_a_head_that_is_removed_changes_its_layers_output_and_every_later_layer(encoder):
    intact, run = encode(encoder, CAT), encode(encoder, CAT, gates=heads_off([HeadAt(2, 7)]))

    for before, after in zip(intact.traces[:3], run.traces[:3], strict=True):
        np.testing.assert_array_equal(before.weights, after.weights)
    assert run.traces[2].removed == (7,)
    assert (run.traces[2].gated[7] == 0).all()
    for layer in (3, 4, 5):
        assert np.abs(intact.traces[layer].weights - run.traces[layer].weights).max() > 1e-3
    assert [trace.removed for trace in run.traces] == [(), (), (7,), (), (), ()]


@pytest.mark.parametrize(("stand_in", "masks"), [("zero", ()), ("mean", (MASKS["causal"].spec(),))])
def test_importance_is_what_a_whole_run_without_the_head_gives(encoder, stand_in, masks):
    intact = encode(encoder, CAT, masks=masks)
    told: list[float] = []

    found = importance(encoder.network, intact.traces, stand_in=stand_in, on_progress=told.append)

    for at in (HeadAt(0, 2), HeadAt(3, 3), HeadAt(5, 11)):
        without = encode(encoder, CAT, masks=masks, gates=heads_off([at], stand_in)).last_hidden
        assert found.embedding[at] == pytest.approx(embedding_change(intact.last_hidden, without), abs=1e-5)
        assert found.hidden[at] == pytest.approx(hidden_change(intact.last_hidden, without), abs=1e-5)
    assert found.embedding.shape == (6, 12)
    assert told == sorted(told)
    assert told[-1] == 1


def test_the_last_head_of_the_model_is_missed_most_for_the_cat(encoder):
    found = importance(encoder.network, encode(encoder, CAT).traces)

    assert np.unravel_index(found.embedding.argmax(), (6, 12)) == (5, 11)
    assert found.embedding[5, 11] == pytest.approx(0.1445, abs=1e-3)


def test_the_embedding_has_length_1_and_the_end_of_the_model_follows_from_its_last_attention(encoder):
    run = encode(encoder, CAT, gates=heads_off([HeadAt(5, 3)]))

    np.testing.assert_array_equal(last_hidden(encoder.network, run.traces), run.last_hidden)
    assert np.linalg.norm(text_embedding(run.last_hidden)) == pytest.approx(1)
    assert embedding_change(run.last_hidden, run.last_hidden) == 0
    assert embedding_change(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]])) == pytest.approx(1)


def test_gates_by_contribution_hold_in_every_layer_of_the_run(encoder):
    run = encode(encoder, CAT, gates=lambda _, trace: adaptive_gates(trace, 0.5, "query"))

    for trace in run.traces:
        assert trace.gates is not None
        np.testing.assert_array_equal(trace.gates.keeps, adaptive_gates(trace, 0.5, "query").keeps)
        assert 1 <= trace.gates.keeps.sum(axis=0).mean() < 7


def test_gates_that_keep_all_change_nothing(encoder):
    run = encode(encoder, CAT, gates=lambda _, trace: adaptive_gates(trace, 1.0, "query"))

    np.testing.assert_array_equal(run.last_hidden, encode(encoder, CAT).last_hidden)
    assert heads_off([]) is None


def test_a_stand_in_that_there_is_not_is_refused(encoder):
    with pytest.raises(SettingError, match="must be zero or mean; got stand_in=noise"):
        importance(encoder.network, encode(encoder, CAT).traces, stand_in="noise")
