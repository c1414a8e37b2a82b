"""A head gets the role it was made for, and none that it does not have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, build_mask
from attnviz.core.text import numbered
from attnviz.metrics import roles_of, survey, uniform_weights
from attnviz.metrics.roles import ENOUGH, Role
from attnviz.registries import MASKS
from attnviz.registry import Spec
from tests.figures.traces import trace_of
from tests.strategies import mask_specs, seeds

N = 12
CAUSAL = np.tril(np.ones((N, N), dtype=bool))
SINGLE = tuple("abcdefghijkl")
TWICE = tuple("abcdefabcdef")


def role(weights: np.ndarray, tokens: tuple[str, ...] = SINGLE, mask: np.ndarray | None = None) -> Role:
    trace = trace_of(weights[None], mask, tokens=tokens)
    (found,) = roles_of(trace, survey(trace))
    return found


def on(keys: list[int]) -> np.ndarray:
    return np.eye(N)[keys]


def beside(offset: int) -> np.ndarray:
    return on([min(max(query + offset, 0), N - 1) for query in range(N)])


def near(reach: int) -> np.ndarray:
    places = np.arange(N)
    close = np.abs(places[:, None] - places) <= reach
    return close / close.sum(axis=1, keepdims=True)


SAME = np.array([[a == b for b in TWICE] for a in TWICE]) / 2
INDUCTION = on([0] * 6 + [1, 2, 3, 4, 5, 6])
MADE = {
    "previous token": (beside(-1), SINGLE),
    "next token": (beside(1), SINGLE),
    "own place": (np.eye(N), SINGLE),
    "same word": (SAME, TWICE),
    "induction": (INDUCTION, TWICE),
    "sink": (on([0] * N), SINGLE),
    "one word": (on([4] * N), SINGLE),
    "local": (near(1), SINGLE),
    "broad": (np.full((N, N), 1 / N), SINGLE),
    "mixed": (on([5, 9, 3, 11, 0, 7, 2, 10, 4, 1, 8, 6]), SINGLE),
}


@pytest.mark.parametrize("name", MADE)
def test_a_head_made_for_a_role_gets_it_with_its_evidence(name: str) -> None:
    weights, tokens = MADE[name]

    found = role(weights, tokens)

    assert found.name == name
    if name == "mixed":
        assert found.reason is None
        assert found.runner_up is not None
        assert found.runner_up.way < ENOUGH
    else:
        assert found.reason is not None
        assert found.reason.role == name


@pytest.mark.parametrize(
    ("key", "token"), [(0, "a"), (4, "[SEP]"), (4, "<s>"), (4, "<|endoftext|>"), (N - 1, "."), (7, "’")]
)
def test_a_sink_is_the_first_place_a_special_token_or_punctuation(key: int, token: str) -> None:
    tokens = (*SINGLE[:key], token, *SINGLE[key + 1 :])

    found = role(on([key] * N), tokens)

    assert found.name == "sink"
    assert found.reason is not None
    assert found.reason.key == key
    assert (found.reason.value, found.reason.uniform) == (1, pytest.approx(1 / N))


@pytest.mark.parametrize("token", ["cat", "7", "##ing", "日本", "[a]", "<"])
def test_a_head_that_looks_at_one_word_is_no_sink(token: str) -> None:
    found = role(on([4] * N), (*SINGLE[:4], token, *SINGLE[5:]))

    assert found.name == ("sink" if token == "<" else "one word")
    assert found.reason is not None
    assert found.reason.key == 4


def test_the_share_on_the_query_s_word_is_a_mean_over_all_queries_own_place_included() -> None:
    tokens = (*"abcdefghij", "a", "b")
    parked = on([0] * N)

    found = role(parked, tokens)

    (same,) = [one for one in found.evidence if one.role == "same word"]
    assert found.name == "sink"
    assert (same.value, same.uniform) == (pytest.approx(2 / N), pytest.approx((8 + 4 * 2) / N / N))
    assert (same.counted, same.queries, same.is_of_some) == (N, N, False)


def test_a_head_that_looks_at_its_word_only_where_it_comes_again_is_not_named_for_these_few_queries() -> None:
    tokens = (*"abcdefghijk", "a")
    weights = np.full((N, N), 1 / N)
    weights[[0, N - 1]] = (np.eye(N)[0] + np.eye(N)[N - 1]) / 2

    found = role(weights, tokens)

    (same,) = [one for one in found.evidence if one.role == "same word"]
    assert same.value == pytest.approx((2 + 10 / N) / N)
    assert found.name == "mixed"


def test_a_head_that_looks_nowhere_near_its_word_where_it_comes_again_does_not_look_at_the_same_word() -> None:
    weights = np.eye(N)
    weights[[0, N - 1]] = np.eye(N)[5]

    assert role(weights, (*"abcdefghijk", "a")).name == "own place"


def test_induction_is_told_of_three_queries_and_not_of_two() -> None:
    def seen(tokens: tuple[str, ...]) -> list[tuple[int, int, bool]]:
        evidence = role(np.full((N, N), 1 / N), tokens).evidence
        return [(one.counted, one.queries, one.is_of_some) for one in evidence if one.role == "induction"]

    assert seen((*"abcdefghij", "a", "b")) == []
    assert seen((*"abcdefghi", "a", "b", "c")) == [(3, N, True)]


def test_evidence_of_queries_that_may_look_at_nothing_counts_the_others() -> None:
    mask = np.ones((N, N), dtype=bool)
    mask[:4] = False
    counted = {one.role: one.counted for one in role(uniform_weights(mask[None])[0], mask=mask).evidence}

    assert counted == {
        **dict.fromkeys(("sink", "local", "broad", "own place", "previous token"), 8),
        "next token": 7,
    }


def test_random_vectors_have_no_words() -> None:
    trace = trace_of(on([4] * N)[None], tokens=SINGLE)

    (found,) = roles_of(replace(trace, key_tokens=numbered("x", N)), survey(trace))

    assert found.name == "sink"


def test_an_identity_head_and_a_previous_token_head_are_not_called_induction() -> None:
    assert role(np.eye(N), TWICE).name == "own place"
    assert role(beside(-1), TWICE).name == "previous token"


def test_a_uniform_causal_head_is_no_sink_though_the_first_key_gets_most() -> None:
    weights = uniform_weights(CAUSAL[None])[0]
    assert weights[:, 0].mean() > 0.25

    assert role(weights, mask=CAUSAL).name == "broad"


def test_an_upper_case_letter_makes_no_other_word() -> None:
    tokens = ("The", "cat", "saw", "the", "dog", "and", "THE", "cow", "x", "y", "z", "w")
    places = np.array([[a.casefold() == b.casefold() for b in tokens] for a in tokens])

    assert role(places / places.sum(axis=1, keepdims=True), tokens).name == "same word"


@pytest.mark.parametrize("n", [1, 2, 4])
def test_too_few_tokens_are_too_short_to_tell(n: int) -> None:
    trace = trace_of(np.eye(n)[None])

    assert roles_of(trace, survey(trace)) == (Role("too short to tell", ()),)


@given(specs=mask_specs(), n=st.integers(5, 24))
def test_a_uniform_head_is_called_broad_under_every_mask(specs: tuple[Spec, ...], n: int) -> None:
    mask = build_mask(specs, n, n)
    trace = trace_of(uniform_weights(mask[None]), mask)

    (found,) = roles_of(trace, survey(trace))

    sees_several = (mask.sum(axis=1) > 1).any()
    assert found.name == ("broad" if sees_several else "mixed")
    assert all(abs(one.way) < 1e-9 for one in found.evidence if one.role != "broad")


@given(seed=seeds)
def test_permuting_the_heads_permutes_the_roles(seed: int) -> None:
    weights = np.stack([weights for weights, tokens in MADE.values() if tokens == SINGLE])
    order = np.random.default_rng(seed).permutation(len(weights))

    def names(heads: np.ndarray) -> list[str]:
        trace = trace_of(heads)
        return [one.name for one in roles_of(trace, survey(trace))]

    assert names(weights[order]) == [names(weights)[place] for place in order]


@pytest.mark.parametrize("mask", ["full", "causal"])
def test_designed_heads_are_called_what_they_were_designed_for(mask: str) -> None:
    words = ("the", "cat", "saw", "the", "dog", "and", "the", "dog", "saw", "the", "cat", "again")
    trace = attend(AttentionConfig(words, d_model=128, n_heads=8, masks=(MASKS[mask].spec(),)))

    names = [one.name for one in roles_of(trace, survey(trace))]

    assert names[0] == names[6] == "same word"
    assert names[1] == names[7] == "previous token"
    assert names[3] == "sink"
    assert names[5] == "broad"
    if mask == "full":
        assert names[2] == "next token"
