"""What is said of roles, computed from the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attnviz.figures import role_words
from attnviz.metrics import Role, roles_of, survey
from attnviz.metrics.roles import Evidence
from tests.figures.traces import trace_of

PREVIOUS = np.eye(5)[[0, 0, 1, 2, 3]]
PARKED = np.eye(5)[[0] * 5] * 0.6 + 0.08
TOKENS = tuple("abcde")


def roles(*maps: np.ndarray) -> tuple[Role, ...]:
    trace = trace_of(np.stack(maps), tokens=TOKENS)
    return roles_of(trace, survey(trace))


def test_heads_are_counted_by_their_role() -> None:
    found = roles(PREVIOUS, PARKED, PREVIOUS)

    assert role_words.roles_answer(found) == "3 heads: 2 previous token, 1 sink."
    assert role_words.roles_alt(found, range(3)) == (
        "How far each head is on the way to each role: head 0 previous token, head 1 sink, head 2 previous token."
    )


def test_the_evidence_stands_beside_the_uniform_head() -> None:
    previous, parked = roles(PREVIOUS, PARKED)

    assert role_words.evidence_words(previous, TOKENS) == (
        "100 % of its attention goes to the token before, over the 4 of 5 queries that have such a place; a uniform "
        "head gives 20.0 %."
    )
    assert role_words.evidence_words(parked, TOKENS) == (
        "68.0 % of its attention goes to key 0 “a”; a uniform head gives 20.0 %."
    )


def test_a_runner_up_that_is_far_enough_lost_to_what_says_more() -> None:
    (previous,) = roles(PREVIOUS)

    assert role_words.why_not(previous, TOKENS) == (
        "Not local: it looks 0.800 tokens away on average; a uniform head 1.60; that is 50.0 % of the way from a "
        "uniform head, but previous token says more."
    )


def test_a_runner_up_that_is_not_far_enough_is_told_what_it_lacks() -> None:
    role = Role("mixed", (Evidence("one word", 0.4, 0.2, 0.25, 3), Evidence("broad", 0.7, 1.0, 0.7)))

    assert role_words.why_not(role, TOKENS) == (
        "Not one word: 40.0 % of its attention goes to key 3 “d”; a uniform head gives 20.0 %; that is 25.0 % of the "
        "way from a uniform head, and half is needed."
    )
    assert role_words.evidence_words(role, TOKENS) == (
        "Nothing takes it half of the way from a uniform head (30.0 % for a sink), and its entropy is 70.0 % of the "
        "largest, less than the 90.0 % of a broad one."
    )


def test_evidence_of_some_queries_says_over_how_many() -> None:
    induction = Evidence("induction", 0.8, 0.1, 0.777, counted=4, queries=13)
    words = "80.0\u202f% of its attention goes to what followed the query’s word earlier"

    assert role_words.evidence_words(Role("induction", (induction,)), TOKENS) == (
        f"{words}, over the 4 of 13 queries that have such a place; a uniform head gives 10.0\u202f%."
    )
    nearly_all = replace(induction, counted=12)
    assert role_words.evidence_words(Role("induction", (nearly_all,)), TOKENS) == (
        f"{words}; a uniform head gives 10.0\u202f%."
    )
    for role, which in (("sink", "any key"), ("local", "any key"), ("broad", "several keys")):
        one = Evidence(role, 0.95, 0.5, 0.9, 2, counted=4, queries=13)
        said = role_words.evidence_words(Role(role, (one,)), TOKENS)
        assert f", over the 4 of 13 queries that may look at {which}; a uniform head" in said


def test_a_sink_of_several_places_names_them_and_the_share_of_the_first_among_them() -> None:
    sink = Evidence("sink", 0.61, 0.09, 0.571, 3, ("[CLS]", "[SEP]", "punctuation"), 0.44)

    assert role_words.evidence_words(Role("sink", (sink,)), TOKENS) == (
        "61.0 % of its attention goes to [CLS], [SEP] and punctuation (a uniform head: 9.00 %), 44.0 % to key 3 “d” "
        "alone."
    )
    less = Role("mixed", (replace(sink, value=0.25, way=0.176),))
    assert role_words.why_not(less, TOKENS).endswith(
        "that is 17.6 % of the way from a uniform head, and 30.0 % is needed."
    )


def test_a_sink_that_is_far_enough_lost_to_a_name_that_says_more() -> None:
    sink = Evidence("sink", 0.5, 0.2, 0.375, 0)
    local, broad = Evidence("local", 1.0, 4.0, 0.75), Evidence("broad", 0.95, 1.0, 0.95)

    assert role_words.why_not(Role("local", (local, sink)), TOKENS).endswith(
        "from a uniform head, but local is further."
    )
    assert role_words.why_not(Role("broad", (broad, sink)), TOKENS).endswith("head, but broad says more.")


def test_of_too_short_a_text_nothing_is_said() -> None:
    trace = trace_of(np.eye(3)[None])
    found = roles_of(trace, survey(trace))

    assert role_words.roles_answer(found) == "Too short to tell: heads can be told apart from 5 tokens on."
    assert role_words.evidence_words(found[0], TOKENS) == role_words.why_not(found[0], TOKENS) == ""
