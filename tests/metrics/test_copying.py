"""Whether heads write what they read: by hand, and against all eigenvalues of the whole way from word to word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.core.affine import Affine
from attnviz.metrics.copying import copying_scores
from attnviz.models import load_minilm, run_encoder
from attnviz.models.word_table import word_products

CONFIG = AttentionConfig(("a", "b"), d_model=6, n_heads=2, projections="random")


def writing(value: np.ndarray, output: np.ndarray) -> AttentionTrace:
    """A layer with these W_V and W_O."""
    trace = attend(CONFIG)
    return replace(trace, origin=replace(trace.origin, to_value=Affine(value), to_output=Affine(output)))


def whole(trace: AttentionTrace, words: np.ndarray, head: int) -> float:
    """The score from the matrix of all words by all words."""
    W_V, W_O = (to.W.astype(np.float64) for to in (trace.origin.to_value, trace.origin.to_output))
    columns = trace.value.shape[2]
    kv = head // (trace.n_heads // len(trace.value))
    own = W_V[:, kv * columns : (kv + 1) * columns] @ W_O[head * columns : (head + 1) * columns]
    eigenvalues = np.linalg.eigvals(words @ own @ words.T)
    return float(eigenvalues.real.sum() / np.abs(eigenvalues).sum())


def test_a_head_that_passes_on_what_it_reads_scores_1_and_one_that_reverses_it_minus_1() -> None:
    output = np.eye(6)
    output[3:] *= -1

    scores = copying_scores(writing(np.eye(6), output), np.eye(6))

    assert scores == pytest.approx([1, -1])


def test_a_head_that_turns_every_word_into_another_scores_0() -> None:
    turned = np.eye(6)
    turned[:3, :3] = np.roll(np.eye(3), 1, axis=1)

    scores = copying_scores(writing(np.eye(6), turned), np.eye(6))

    assert scores == pytest.approx([0, 1], abs=1e-12)


def test_a_head_that_writes_nothing_has_no_score() -> None:
    output = np.eye(6)
    output[:3] = 0

    nothing, something = copying_scores(writing(np.eye(6), output), np.eye(6))

    assert np.isnan(nothing)
    assert something == pytest.approx(1)


@pytest.mark.parametrize("n_kv_heads", [None, 1])
def test_the_small_matrix_has_the_eigenvalues_of_the_whole_one(n_kv_heads: int | None) -> None:
    words = np.random.default_rng(0).standard_normal((40, 12))
    trace = attend(replace(CONFIG, d_model=12, n_heads=4, n_kv_heads=n_kv_heads))

    scores = copying_scores(trace, words.T @ words)

    assert scores == pytest.approx([whole(trace, words, head) for head in range(4)], abs=1e-9)


@pytest.mark.model
def test_scores_of_trained_heads_use_the_whole_table_of_words() -> None:
    encoder = load_minilm()
    words = encoder.network.words.astype(np.float64)
    centred = words - words.mean(axis=0)

    products = word_products(encoder)

    np.testing.assert_allclose(products[:3], centred[:, :3].T @ centred, rtol=1e-6, atol=1e-8)
    scores = np.stack([copying_scores(trace, products) for trace in run_encoder(encoder, "It was late.")])
    assert scores.shape == (6, 12)
    assert (np.abs(scores) <= 1).all()
    assert scores[2, 1] == pytest.approx(0.99, abs=0.01)
    assert scores[2, 2] == pytest.approx(-0.98, abs=0.01)
