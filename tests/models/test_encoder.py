from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from attnviz.models import read_config, read_network, run_network
from attnviz.models.encoder import gelu

GOLDEN = Path(__file__).parents[1] / "golden"
BERT = dict(np.load(GOLDEN / "bert_tiny.npz"))


@pytest.fixture(scope="module")
def network():
    return read_network(GOLDEN / "bert_tiny.safetensors", read_config(GOLDEN / "bert_tiny.config.json"))


def run_row(network, row: int, *, sharpness: float = 1.0):
    ids = BERT["ids"][row]
    mask = np.broadcast_to(BERT["mask"][row].astype(bool), (len(ids), len(ids)))
    tokens = tuple(map(str, ids))
    return run_network(network, ids, tokens, mask, segments=BERT["token_type_ids"][row], sharpness=sharpness)


@pytest.mark.parametrize("row", [0, 1])
def test_weights_and_hidden_states_of_a_small_bert_are_those_of_transformers(network, row):
    run = run_row(network, row)
    assert len(run.traces) == 2
    for layer, trace in enumerate(run.traces):
        np.testing.assert_allclose(trace.weights, BERT[f"att{layer}"][row], rtol=0, atol=1e-9)
        np.testing.assert_allclose(trace.x, BERT[f"hidden{layer}"][row], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.last_hidden, BERT["hidden2"][row], rtol=0, atol=1e-9)


@pytest.mark.parametrize("row", [0, 1])
def test_the_pooler_of_transformers_gets_the_same_vector_from_the_last_hidden_state(network, row):
    tensors = load_file(GOLDEN / "bert_tiny.safetensors")
    pooled = np.tanh(
        tensors["pooler.dense.weight"] @ run_row(network, row).last_hidden[0] + tensors["pooler.dense.bias"]
    )
    np.testing.assert_allclose(pooled, BERT["pooled"][row], rtol=0, atol=1e-9)


def test_padding_is_never_attended_to_and_what_it_holds_changes_nothing(network):
    is_padding = BERT["mask"][1] == 0
    assert is_padding.sum() > 0
    ids = BERT["ids"][1].copy()
    mask = np.broadcast_to(~is_padding, (len(ids), len(ids)))
    segments = BERT["token_type_ids"][1]
    before = run_network(network, ids, tuple(map(str, ids)), mask, segments=segments)
    ids[is_padding] = 7
    after = run_network(network, ids, tuple(map(str, ids)), mask, segments=segments)
    assert (before.traces[1].weights[:, :, is_padding] == 0).all()
    np.testing.assert_array_equal(before.last_hidden[~is_padding], after.last_hidden[~is_padding])


def test_every_array_of_a_trace_follows_from_the_ones_before_it(network):
    tensors = load_file(GOLDEN / "bert_tiny.safetensors")
    trace = run_row(network, 0).traces[1]
    name = "encoder.layer.1.attention"
    heads = {
        "query": trace.query,
        "key": trace.key,
        "value": trace.value,
    }
    for kind, array in heads.items():
        flat = trace.x @ tensors[f"{name}.self.{kind}.weight"].T + tensors[f"{name}.self.{kind}.bias"]
        np.testing.assert_allclose(np.concatenate(list(array), axis=1), flat, rtol=0, atol=1e-12)
    scores = np.einsum("hqd,hkd->hqk", trace.query, trace.key) / np.sqrt(8)
    np.testing.assert_allclose(trace.scores, scores, rtol=0, atol=1e-12)
    np.testing.assert_allclose(trace.context, trace.weights @ trace.value, rtol=0, atol=1e-12)
    merged = np.concatenate(list(trace.context), axis=1)
    output = merged @ tensors[f"{name}.output.dense.weight"].T + tensors[f"{name}.output.dense.bias"]
    np.testing.assert_allclose(trace.output, output, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(trace.bias, np.zeros((1, 1, 1)))


def test_weights_and_results_cannot_be_written_to(network):
    run = run_row(network, 0)
    assert not network.words.flags.writeable
    assert not network.layers[0].query.W.flags.writeable
    assert not run.last_hidden.flags.writeable
    assert not run.traces[0].weights.flags.writeable


def test_sharpness_multiplies_the_scores_of_the_first_layer(network):
    plain, sharp = run_row(network, 0).traces[0], run_row(network, 0, sharpness=2.5).traces[0]
    np.testing.assert_allclose(sharp.scores, 2.5 * plain.scores, rtol=0, atol=1e-12)


def test_gelu_is_the_exact_form_in_either_precision():
    x = np.linspace(-8, 8, 4001)
    exact = np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x])
    np.testing.assert_allclose(gelu(x[:, None])[:, 0], exact, rtol=0, atol=1e-15)
    single = gelu(x[:, None].astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[:, 0], exact, rtol=2**-22, atol=2e-7)
