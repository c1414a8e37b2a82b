"""What is said of links, rollout and flow, each beside its baseline."""

from __future__ import annotations

import numpy as np

from attnviz.figures import layer_words
from attnviz.metrics import uniform_weights
from attnviz.metrics.rollout import rollout
from attnviz.numbers import THIN_SPACE
from tests.figures.traces import random_trace

TOKENS = ("the", "cat", "sat")
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
EVEN = uniform_weights(CAUSAL[None])[0]
TO_FIRST = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])


def plain(text: str) -> str:
    return text.replace(THIN_SPACE, " ")


def test_rollout_is_said_beside_that_of_uniform_attention() -> None:
    rolled, even = rollout([TO_FIRST] * 2)[-1], rollout([EVEN] * 2)[-1]

    assert plain(layer_words.rollout_answer(rolled, even, 1, 2, TOKENS)) == (
        "After layers 0 to 1, 75.0 % of query 2 “sat” comes from token 0 “the” (with attention uniform over the "
        "allowed keys: 31.9 %), and 25.0 % from its own token (uniform: 44.4 %)."
    )


def test_one_layer_of_rollout_is_said_to_be_trivial() -> None:
    rolled = rollout([TO_FIRST])[0]

    words = layer_words.rollout_answer(rolled, rolled, 0, 1, TOKENS)

    assert words.endswith("With one layer this is half its attention and half itself.")
    assert layer_words.rollout_answer(np.eye(3), np.eye(3), 2, 1, TOKENS).endswith("is made of its own token alone.")
    assert layer_words.rollout_answer(np.eye(1), np.eye(1), 2, 0, ("a",)).startswith("With one token")


def test_the_attention_of_the_layer_alone_is_said_with_its_baseline() -> None:
    assert plain(layer_words.raw_answer(TO_FIRST, EVEN, 4, 2, TOKENS)) == (
        "In layer 4 alone it looks most at key 0 “the”: 100 %; uniform: 33.3 %."
    )
    assert layer_words.raw_answer(np.zeros((3, 3)), EVEN, 4, 2, TOKENS) == "The mask leaves query 2 “sat” no key."


def flow_answer(flows: list[float], uniform: list[float], rolled: tuple[float, ...] = (0.5, 0.3, 0.2)) -> str:
    return plain(layer_words.flow_answer(np.array(flows), np.array(uniform), np.array(rolled), 2, TOKENS))


def test_flow_is_said_beside_that_of_uniform_attention_and_the_rollout() -> None:
    assert flow_answer([0.8, 0.4, 0.45], [1.0, 0.5, 0.45]) == (
        "From any one input token 40.0 % to 80.0 % of query 2 “sat” could come (with attention uniform over the "
        "allowed keys: 45.0 % to 100 %). Flow tells some tokens apart: for 1 of 3 tokens it is that of uniform "
        "attention, to within 1 % of that. Furthest from uniform, in percentage points, is token 0 “the”: 80.0 %; "
        "uniform: 100 %. Rollout, never more than the flow, puts token 0 “the” first: 50.0 %; its flow: 80.0 %."
    )


def test_flow_that_is_that_of_uniform_attention_is_said_to_tell_nothing_or_little() -> None:
    nothing = flow_answer([0.995, 1.0, 0.999], [1.0, 1.0, 1.0])
    assert "Flow tells nothing here: for every token it is that of uniform attention, to within 1 % of that." in nothing
    assert "(with attention uniform over the allowed keys: 100 %)" in nothing
    assert "Furthest" not in nothing
    little = flow_answer([0.995, 1.0, 0.9], [1.0, 1.0, 1.0])
    assert "Flow tells little here: for 2 of 3 tokens it is that of uniform attention, to within 1 % of that." in little
    assert "Furthest from uniform, in percentage points, is token 2 “sat”: 90.0 %; uniform: 100 %." in little
    same = flow_answer([0.7, 0.705, 0.7], [1.0, 1.0, 1.0])
    assert "Flow tells no token from another here: the least is within 1 % of the largest. Furthest" in same
    apart = flow_answer([0.7, 0.8, 0.6], [1.0, 1.0, 1.0])
    assert "tells" not in apart
    assert "Furthest from uniform, in percentage points, is token 2 “sat”: 60.0 %" in apart


def test_small_flows_are_near_uniform_only_within_a_hundredth_of_it() -> None:
    far = flow_answer([0.0302, 0.0370, 0.5], [0.0385, 0.0385, 0.5385])
    assert "tells" not in far, "22, 4 and 7 % off, though two differ by less than a percentage point"
    one = flow_answer([0.0302, 0.0382, 0.5], [0.0385, 0.0385, 0.5385])
    assert "for 1 of 3 tokens it is that of uniform attention, to within 1 % of that." in one, "0.78 % off"
    forbidden = flow_answer([0.0, 0.0, 1.0], [0.0, 0.0, 1.0])
    assert "Flow tells nothing here: for every token it is that of uniform attention" in forbidden
    apart = flow_answer([0.031, 0.036, 0.038], [0.05, 0.05, 0.05])
    assert "tells" not in apart, "the least is 18 % below the largest, though by less than a percentage point"
    same = flow_answer([0.0370, 0.0372, 0.0371], [0.05, 0.05, 0.05])
    assert "the least is within 1 % of the largest" in same


def test_one_token_has_nothing_else_to_come_from() -> None:
    alone = np.ones(1)
    assert (
        layer_words.flow_answer(alone, alone, alone, 0, ("a",)) == "With one token there is nothing else to come from."
    )


def test_the_caption_of_flow_says_its_error_where_the_axis_starts_and_which_tokens_are_shown() -> None:
    some = layer_words.flow_caption(128, 6, 24, [0.86, 1.01])
    assert "to within 5·10⁻⁵" in some
    assert "The axis starts at 0.860, not at 0." in some
    assert "The 24 tokens are shown whose flow is furthest from that of uniform attention, and the query." in some
    every = layer_words.flow_caption(20, 6, 20, [-0.01, 1.01])
    assert "are shown" not in every
    assert "axis starts" not in every


def test_what_is_seen_of_a_map_names_each_row() -> None:
    trace = random_trace(1, 20)

    words = layer_words.map_alt(trace.weights[0], trace.query_tokens, "rollout")

    assert words.startswith(
        f"Heatmap of the rollout, 20 rows by 20 columns: query 0 “t0” mostly {trace.weights[0, 0].argmax()} "
    )
    assert words.endswith("; ….")
    assert layer_words.flow_alt(np.array([0.5, 0.25]), np.array([1.0, 0.5]), [0, 1], TOKENS) == (
        "Bars of the flow to 2 input tokens: 0 “the” 0.500 (uniform 1.00), 1 “cat” 0.250 (uniform 0.500)."
    )
