"""What is said of links between tokens, each beside its baseline."""

from __future__ import annotations

import numpy as np

from attnviz import AttentionTrace
from attnviz.figures import line_words
from attnviz.metrics import uniform_weights
from attnviz.metrics.links import Links, strongest_links
from attnviz.metrics.viewing import PLAIN, View
from attnviz.numbers import THIN_SPACE
from tests.figures.traces import trace_of

TOKENS = ("the", "cat", "sat")
CAUSAL = np.tril(np.ones((3, 3), dtype=bool))
EVEN = uniform_weights(CAUSAL[None])[0]
LEANING = np.array([[[1.0, 0, 0], [0.25, 0.75, 0], [0.125, 0, 0.875]]])


def plain(text: str) -> str:
    return text.replace(THIN_SPACE, " ")


def links_of(trace: AttentionTrace, most: int, query: int, view: View = PLAIN) -> tuple[Links, Links]:
    heads = range(trace.n_heads)
    of_query = strongest_links(trace, heads, 10, rows=range(query, query + 1), view=view)
    return strongest_links(trace, heads, most, view=view), of_query


def lines_answer(trace: AttentionTrace, most: int, query: int, view: View = PLAIN) -> str:
    links, of_query = links_of(trace, most, query, view)
    return plain(line_words.lines_answer(links, of_query, query, trace.query_tokens, TOKENS, view))


def test_where_the_query_looks_and_the_share_of_the_strongest_links_are_said_beside_a_uniform_head() -> None:
    trace = trace_of(LEANING, CAUSAL, tokens=TOKENS)

    assert lines_answer(trace, 2, query=1) == (
        "The strongest link of query 1 “cat” leads to key 1 “cat” in head 0: 0.750; uniform: 0.500. The 2 strongest of "
        "6 links hold 62.5 % of the attention; as many of a head uniform over the allowed keys would hold 50.0 %."
    )


def test_the_baseline_of_the_strongest_link_is_that_of_its_own_head() -> None:
    mask = np.ones((2, 1, 3), dtype=bool)
    mask[0, 0, 1:] = False
    trace = trace_of(np.array([[[0.9, 0, 0]], [[0.0, 0.95, 0.05]]]), mask, tokens=TOKENS[:1])
    links, of_query = links_of(trace, 5, 0)

    said = line_words.lines_answer(links, of_query, 0, TOKENS[:1], TOKENS, PLAIN)

    assert "leads to key 1 “cat” in head 1: 0.950; uniform: 0.333." in said


def test_where_heads_are_uniform_no_link_stands_out() -> None:
    said = lines_answer(trace_of(EVEN[None], CAUSAL, tokens=TOKENS), 2, query=0)

    assert said.endswith(
        "hold 50.0 % of the attention; as many of a head uniform over the allowed keys would hold 50.0 %; no link "
        "stands out."
    )


def test_where_all_links_are_drawn_the_strongest_tenth_is_told() -> None:
    trace = trace_of(np.full((2, 3, 3), 1 / 3), tokens=TOKENS)

    assert "All 18 links are drawn; the strongest holds 5.56 % of the attention" in lines_answer(trace, 100, query=0)


def test_a_mask_that_allows_nothing_has_no_link() -> None:
    none = np.zeros((1, 3, 3), dtype=bool)
    assert lines_answer(trace_of(np.zeros((1, 3, 3)), none), 5, 0) == "The mask allows no pair: there is no link."


def test_a_query_without_a_key_is_told() -> None:
    mask = CAUSAL.copy()
    mask[0] = False
    trace = trace_of(uniform_weights(mask[None]), mask, tokens=TOKENS)

    assert lines_answer(trace, 2, 0).startswith("The mask leaves query 0 “the” no key. The 2 strongest")


def test_what_hidden_keys_had_is_said_and_all_else_is_of_the_rest() -> None:
    trace = trace_of(LEANING, CAUSAL, tokens=TOKENS)

    assert lines_answer(trace, 1, query=1, view=View((0,))) == (
        "The hidden key had 45.8 % of the attention (of a uniform head: 61.1 %); 1 row of these heads has none left; "
        "what follows is of the rest. The strongest link of query 1 “cat” leads to key 1 “cat” in head 0: 1.00; "
        "uniform: 1.00. The strongest of 3 links holds 50.0 % of what is left of the attention; as many of a head "
        "uniform over the allowed keys would hold 50.0 %; no link stands out."
    )
    assert "No weight of query 0 “the” is left." in lines_answer(trace, 1, query=0, view=View((0,)))
    assert lines_answer(trace, 1, query=0, view=View((0, 1, 2))) == (
        "The 3 hidden keys had 100 % of the attention (of a uniform head: 100 %); 3 rows of these heads have none "
        "left; what follows is of the rest. No link is left."
    )


def test_the_caption_says_which_heads_are_drawn_and_which_are_grey() -> None:
    some = line_words.lines_caption(range(64, 70), 70, 65, PLAIN)
    assert "Heads 64 to 69 of 70 are drawn." in some
    assert "grey" not in some
    assert "Head 3, the chosen one, has its colour; the other 12 are grey." in (
        line_words.lines_caption(range(13), 13, 3, PLAIN)
    )
    assert f"of the query that hold 95{THIN_SPACE}% of its attention" in some
    assert f"at most 2{THIN_SPACE}000, that hold 50{THIN_SPACE}%." in some
    assert f"that hold 90{THIN_SPACE}%." in line_words.lines_caption(range(3, 4), 13, 3, PLAIN)
    assert "side by side" not in line_words.lines_caption(range(3, 4), 13, 3, PLAIN)
    assert "Σ of the row’s weights on keys that are not hidden" in line_words.lines_caption(
        range(12), 12, 0, View((2,))
    )


def test_what_is_seen_of_links_names_the_strongest_of_the_chosen_query() -> None:
    links, of_query = links_of(trace_of(LEANING, CAUSAL, tokens=TOKENS), 2, 1)

    assert line_words.lines_alt(links, of_query, range(1), TOKENS, TOKENS, "key 2 sat hidden") == (
        "2 lines of head 0 from 3 queries on the left to 3 keys on the right. Drawn strong: query 1 “cat” to key 1 "
        "“cat” in head 0, weight 0.750; query 1 “cat” to key 0 “the” in head 0, weight 0.250. Shown with key 2 sat "
        "hidden."
    )


def test_the_caption_of_the_table_counts_what_is_shown_and_what_the_file_has() -> None:
    _, of_query = links_of(trace_of(LEANING, CAUSAL, tokens=TOKENS), 5, 1)

    assert line_words.table_caption(2, of_query, 5, PLAIN) == (
        "All of its 2 links, beside what a head uniform over the allowed keys would give. The file has all 5 links "
        "that are drawn."
    )
    assert line_words.table_caption(1, of_query, 5, View((0,))).startswith(
        f"The strongest of its 2 links, with 75.0{THIN_SPACE}% of its attention, beside what a head uniform over the "
        "allowed keys that are not hidden would give."
    )
    nothing, none = links_of(trace_of(np.zeros((1, 3, 3)), np.zeros((1, 3, 3), dtype=bool)), 5, 1)
    assert nothing.count == 0
    assert line_words.table_caption(0, none, 0, PLAIN) == "It has no link. The file has all 0 links that are drawn."
