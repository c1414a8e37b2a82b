"""Random words said twice: one token each, in an order that the seed alone decides."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.metrics import measured
from attnviz.models import load_minilm, run_encoder, tokenize
from attnviz.models.random_words import COMMON, N_WORDS, random_words_twice
from attnviz.registries import METRICS


@pytest.mark.parametrize("seed", [0, 1, 999_999])
def test_every_word_is_said_twice_at_the_same_distance(seed: int) -> None:
    words = random_words_twice(seed).split()

    assert words[:N_WORDS] == words[N_WORDS:]
    assert len(set(words)) == N_WORDS
    assert random_words_twice(seed) == " ".join(words)


def test_another_seed_gives_another_order() -> None:
    assert len({random_words_twice(seed) for seed in range(50)}) == 50
    assert set(random_words_twice(3, 117).split()) == set(COMMON.split())


@pytest.mark.model
def test_every_word_is_one_token_of_the_trained_model() -> None:
    tokens, count = tokenize(load_minilm(), COMMON)

    assert tokens == ("[CLS]", *COMMON.split(), "[SEP]")
    assert count == len(COMMON.split()) + 2


@pytest.mark.model
def test_what_followed_a_word_before_is_one_key_for_which_a_uniform_head_has_one_of_n() -> None:
    traces = run_encoder(load_minilm(), random_words_twice(0))
    trace = traces[2]
    found = measured(trace, METRICS["induction"].spec())
    n = 2 * N_WORDS + 2

    (uniform,) = found.uniform
    second = slice(N_WORDS + 1, 2 * N_WORDS + 1)
    assert np.isnan(uniform[: N_WORDS + 1]).all()
    np.testing.assert_allclose(uniform[second], 1 / n)
    queries = np.arange(n)[second]
    np.testing.assert_allclose(found.values[:, second], trace.weights[:, queries, queries - (N_WORDS - 1)], atol=1e-6)
