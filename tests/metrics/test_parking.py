"""A head that parks its attention is a sink, wherever it parks it; one that does something else is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import build_mask
from attnviz.metrics import roles_of, survey, uniform_weights
from attnviz.metrics.parking import parking
from attnviz.metrics.roles import PARKED, Evidence, Role
from attnviz.models import load_minilm, run_encoder
from attnviz.picks import HeadAt
from attnviz.registry import Spec
from tests.figures.traces import trace_of
from tests.metrics.layers import on_the_way
from tests.strategies import in_small_blocks, mask_specs

TOKENS = ("[CLS]", "the", "cat", ",", "a", "dog", "saw", "it", "now", "then", ".", "[SEP]")
N = len(TOKENS)
PLACES = [0, 3, 10, 11]
SENTENCE = "The cat sat on the mat because it was tired."
PARAGRAPH = (
    "The committee that met on Monday decided that the river bank would be cleaned before summer, because the children "
    "who play there had found glass in the sand. The mayor said that the bank on Main Street had given money for it, "
    "and that the work would begin when the water was low. A week later the first volunteers came with gloves and "
    "bags, and the children came too. By evening they had filled forty bags and the sand was clean again."
)


def role(weights: np.ndarray, tokens: tuple[str, ...] = TOKENS) -> Role:
    trace = trace_of(weights[None], tokens=tokens)
    (found,) = roles_of(trace, survey(trace))
    return found


def sharing(shares: dict[int, float]) -> np.ndarray:
    """Every query gives these keys these shares, and the others the same each."""
    row = np.full(N, (1 - sum(shares.values())) / (N - len(shares)))
    row[list(shares)] = list(shares.values())
    return np.tile(row, (N, 1))


def beside(offset: int) -> np.ndarray:
    return np.eye(N)[np.clip(np.arange(N) + offset, 0, N - 1)]


def sink_of(found: Role) -> Evidence:
    return next(one for one in found.evidence if one.role == "sink")


def test_a_head_that_parks_on_several_places_is_a_sink_with_all_of_them_as_evidence() -> None:
    found = role(sharing({0: 0.35, 3: 0.1, 10: 0.1, 11: 0.2}))

    reason = sink_of(found)
    assert found.name == "sink"
    assert reason.kinds == ("[CLS]", "[SEP]", "punctuation")
    assert (reason.value, reason.uniform) == (pytest.approx(0.75), pytest.approx(4 / 12))
    assert reason.way == pytest.approx((0.75 - 4 / 12) / (1 - 4 / 12))
    assert (reason.key, reason.of_key) == (0, pytest.approx(0.35))


def test_one_place_is_the_evidence_where_it_says_more_than_all_together() -> None:
    reason = sink_of(role(sharing({0: 0.5, 3: 0.01, 10: 0.01, 11: 0.01})))

    assert (reason.key, reason.kinds, reason.value) == (0, (), pytest.approx(0.5))


@pytest.mark.parametrize(
    ("key", "share", "name"),
    [(0, 0.31, "sink"), (0, 0.29, "mixed"), (4, 0.55, "one word"), (4, 0.45, "mixed"), (4, 0.31, "mixed")],
)
def test_a_sink_needs_three_tenths_of_the_way_and_one_word_half(key: int, share: float, name: str) -> None:
    scattered = np.eye(N)[[5, 9, 3, 11, 0, 7, 2, 10, 4, 1, 8, 6]]
    weights = (1 - share) * scattered
    weights[:, key] += share

    found = role(weights, tuple("abcdefghijkl"))

    assert found.name == name
    assert next(one.way for one in found.evidence if one.key == key) == pytest.approx(share)


def test_a_head_that_parks_little_and_spreads_the_rest_is_broad() -> None:
    found = role(sharing({0: 0.18, 3: 0.13, 10: 0.13, 11: 0.13}))

    assert sink_of(found).way >= PARKED
    assert found.name == "broad"


@pytest.mark.parametrize(("offset", "name"), [(-1, "previous token"), (1, "next token"), (0, "own place")])
@pytest.mark.parametrize(
    "tokens", [TOKENS, ("a", *",;.:!?-()", "b", "c"), tuple("a.b,c;d:e!f?"), tuple(".a,b;c:d!e?f")]
)
def test_a_head_that_looks_beside_the_query_is_no_sink_whatever_stands_there(
    offset: int, name: str, tokens: tuple[str, ...]
) -> None:
    assert role(beside(offset), tokens).name == name
    assert role(0.6 * beside(offset) + 0.4 * sharing({0: 0.5, 11: 0.5}), tokens).name == name


def test_a_head_that_looks_at_the_previous_token_more_than_it_parks_is_mixed() -> None:
    found = role(0.47 * beside(-1) + 0.38 * sharing({0: 1.0}) + 0.15 / N)

    assert sink_of(found).way >= PARKED
    assert found.name == "mixed"


@given(
    specs=mask_specs(),
    tokens=st.lists(st.sampled_from(["[CLS]", ",", ".", "[SEP]", "cat", "the"]), min_size=5, max_size=20),
)
def test_a_uniform_head_is_broad_in_a_text_of_punctuation_under_every_mask(
    specs: tuple[Spec, ...], tokens: list[str]
) -> None:
    mask = build_mask(specs, len(tokens), len(tokens))
    trace = trace_of(uniform_weights(mask[None]).astype(np.float32), mask, tokens=tokens)

    (found,) = roles_of(trace, survey(trace))

    assert found.name == ("broad" if (mask.sum(axis=1) > 1).any() else "mixed")
    assert all(abs(one.way) < 1e-3 for one in found.evidence if one.role != "broad")


@pytest.mark.parametrize(
    ("tokens", "kinds"),
    [
        (("a", "b", "."), ("the first token", "punctuation")),
        ((".", "b", ","), ("punctuation",)),
        (("<s>", "b", "</s>"), ("<s>", "</s>")),
        (("[CLS]", "[A]", "[B]", "[C]", "x"), ("special tokens",)),
        (("a", "b", "c"), None),
    ],
)
def test_parking_places_are_named_by_what_they_are(tokens: tuple[str, ...], kinds: tuple[str, ...] | None) -> None:
    found = parking(tokens)

    assert (found.kinds if found else None) == kinds


def test_a_long_layer_whose_rows_come_in_blocks_gets_the_same_roles() -> None:
    trace = trace_of(np.stack([sharing({0: 0.35, 11: 0.3}), beside(-1), np.full((N, N), 1 / N)]), tokens=TOKENS)
    with in_small_blocks(2 * N):
        found = [one.name for one in roles_of(trace, survey(trace))]

    assert found == ["sink", "previous token", "broad"]


@pytest.mark.model
@pytest.mark.parametrize("text", [SENTENCE, PARAGRAPH])
def test_trained_heads_that_park_on_cls_are_sinks_and_the_previous_token_head_is_none(text: str) -> None:
    traces = run_encoder(load_minilm(), text)
    found = [roles_of(trace, survey(trace)) for trace in traces]
    named = {HeadAt(layer, head): one for layer, roles in enumerate(found) for head, one in enumerate(roles)}

    assert named[HeadAt(0, 2)].name == "previous token"
    assert named[HeadAt(1, 8)].name == "next token"
    for at in (HeadAt(2, 7), HeadAt(2, 9), HeadAt(4, 5), HeadAt(1, 11)):
        assert named[at].name == "sink", at
    for at, one in named.items():
        share = float(traces[at.layer].weights[at.head, :, 0].mean(dtype=np.float64))
        if share > 0.41:
            assert one.name in ("sink", "same word"), at
        assert one.name != "sink" or sink_of(one).way >= PARKED, at


@pytest.mark.model
def test_a_trained_head_that_parks_on_many_places_is_told_by_all_of_them() -> None:
    trace = run_encoder(load_minilm(), PARAGRAPH)[3]
    on_places = np.array([token in ("[CLS]", "[SEP]", ",", ".") for token in trace.key_tokens])

    reason = sink_of(roles_of(on_the_way(trace), survey(on_the_way(trace)))[5])

    assert reason.kinds == ("[CLS]", "[SEP]", "punctuation")
    assert reason.value == pytest.approx(trace.weights[5][:, on_places].sum(axis=1).mean(), abs=1e-5)
    assert reason.uniform == pytest.approx(on_places.mean())
    assert reason.of_key == pytest.approx(trace.weights[5][:, 0].mean(), abs=1e-5)
