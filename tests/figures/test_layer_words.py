"""What is said of links, rollout and flow, each beside its baseline."""

from __future__ import annotations

import numpy as np

from attnviz.figures import layer_words
from attnviz.metrics import uniform_weights
from attnviz.metrics.links import strongest_links
from attnviz.metrics.rollout import rollout
from attnviz.numbers import THIN_SPACE
from tests.figures.traces import random_trace, trace_of

TOKENS = ("the", "cat", "sat")
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
EVEN = uniform_weights(CAUSAL[None])[0]
TO_FIRST = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])


def plain(text: str) -> str:
    return text.replace(THIN_SPACE, " ")


def lines_answer(trace, most: int, query: int) -> str:
    heads = range(trace.n_heads)
    of_query = strongest_links(trace, heads, 10, rows=range(query, query + 1))
    return plain(
        layer_words.lines_answer(strongest_links(trace, heads, most), of_query, query, trace.query_tokens, TOKENS)
    )


def test_the_share_of_the_strongest_links_is_said_beside_that_of_a_uniform_head() -> None:
    trace = trace_of(np.array([[[1.0, 0, 0], [0.25, 0.75, 0], [0.125, 0, 0.875]]]), CAUSAL, tokens=TOKENS)

    assert lines_answer(trace, 2, query=1) == (
        "The 2 strongest of 6 links hold 62.5 % of the attention; as many of a head uniform over the allowed keys "
        "would hold 50.0 %. The strongest of query 1 “cat” leads to key 1 “cat” in head 0: 0.750; uniform: 0.500."
    )


def test_where_heads_are_uniform_no_link_stands_out() -> None:
    assert "hold 50.0 %; no link stands out." in lines_answer(trace_of(EVEN[None], CAUSAL, tokens=TOKENS), 2, query=0)


def test_where_all_links_are_drawn_the_strongest_tenth_is_told() -> None:
    trace = trace_of(np.full((2, 3, 3), 1 / 3), tokens=TOKENS)

    assert lines_answer(trace, 100, query=0).startswith(
        "All 18 links are drawn; the strongest holds 5.56 % of the attention"
    )


def test_a_mask_that_allows_nothing_has_no_link() -> None:
    none = np.zeros((1, 3, 3), dtype=bool)
    assert lines_answer(trace_of(np.zeros((1, 3, 3)), none), 5, 0) == "The mask allows no pair: there is no link."


def test_a_query_without_a_key_is_told() -> None:
    mask = CAUSAL.copy()
    mask[0] = False
    trace = trace_of(uniform_weights(mask[None]), mask, tokens=TOKENS)

    assert lines_answer(trace, 2, 0).endswith("The mask leaves query 0 “the” no key.")


def test_the_caption_says_which_heads_are_drawn_and_that_colours_repeat() -> None:
    assert "Heads 64 to 69 of 70 are drawn." in layer_words.lines_caption(range(64, 70), 70)
    assert "Colours repeat every 12 heads." in layer_words.lines_caption(range(13), 13)
    assert "repeat" not in layer_words.lines_caption(range(12), 12)


def test_what_is_seen_of_links_names_the_strongest() -> None:
    links = strongest_links(trace_of(TO_FIRST[None], tokens=TOKENS), range(1), 2)

    assert layer_words.lines_alt(links, range(1), TOKENS, TOKENS) == (
        "2 lines of head 0 from 3 queries on the left to 3 keys on the right. Strongest: query 0 “the” to key 0 “the”, "
        "weight 1.00; query 1 “cat” to key 0 “the”, weight 1.00."
    )


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


def test_flow_says_where_rollout_agrees_and_where_it_does_not() -> None:
    rolled, even = np.array([0.5, 0.3, 0.2]), np.array([1.0, 0.5])

    agreeing = plain(layer_words.flow_answer(np.array([0.8, 0.4, 0.4]), rolled, even, [0, 1], 2, TOKENS))
    other = plain(layer_words.flow_answer(np.array([0.4, 0.8, 0.4]), rolled, even, [0, 1], 2, TOKENS))

    assert agreeing == (
        "Up to 80.0 % of query 2 “sat” could come from token 0 “the” (uniform attention: 100 %), and 40.0 % at least "
        "from any. Rollout puts the same token first, with 50.0 %."
    )
    assert other == (
        "Up to 80.0 % of query 2 “sat” could come from token 1 “cat” (uniform attention: 50.0 %), and 40.0 % at least "
        "from any. Rollout puts token 0 “the” first, with 50.0 %. They are furthest apart at token 0 “the”: 25.0 % of "
        "all flow, 50.0 % of the rollout."
    )


def test_the_caption_of_flow_says_its_error_and_what_is_left_out() -> None:
    assert "to within 5·10⁻⁵" in layer_words.flow_caption(128, 6, 24)
    assert "The 24 tokens with the largest flow are shown." in layer_words.flow_caption(128, 6, 24)
    assert "largest flow are shown" not in layer_words.flow_caption(20, 6, 20)


def test_what_is_seen_of_a_map_names_each_row() -> None:
    trace = random_trace(1, 20)

    words = layer_words.map_alt(trace.weights[0], trace.query_tokens, "rollout")

    assert words.startswith(
        f"Heatmap of the rollout, 20 rows by 20 columns: query 0 “t0” mostly {trace.weights[0, 0].argmax()} "
    )
    assert words.endswith("; ….")
    assert layer_words.flow_alt(np.array([0.5, 0.25]), [0, 1], TOKENS) == (
        "Bars of the flow to 2 input tokens: 0 “the” 0.500, 1 “cat” 0.250."
    )
