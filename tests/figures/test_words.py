"""Answers and alt texts: sentences computed from the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.figures import alt, answers
from attnviz.figures.answers import Habit, habits, named, quoted
from attnviz.figures.grid import heads_shown
from attnviz.figures.labels import visible
from attnviz.metrics import most_alike, overview, survey
from attnviz.numbers import MINUS, THIN_SPACE, counted, percent, significant
from attnviz.registries import MASKS, SIMILARITIES
from attnviz.tables import cell_summary
from tests.figures.traces import NASTY, random_trace, sentence_trace, trace_of
from tests.strategies import configs, in_small_blocks

CAUSAL_4 = np.tril(np.ones((4, 4), dtype=bool))
PREVIOUS = np.eye(4)[[0, 0, 1, 2]]
UNIFORM = CAUSAL_4 / CAUSAL_4.sum(axis=1, keepdims=True)
FIRST = np.eye(4)[[0, 0, 0, 0]]
NO_ROLES = ("",) * 8


def distance_answer(trace: AttentionTrace, roles: Sequence[str] = NO_ROLES) -> str:
    found = survey(trace)
    return answers.distance_answer(found.measures["mean_distance"], found.uniform["mean_distance"], roles)


def grid_answer(trace: AttentionTrace) -> str:
    return answers.grid_answer(overview(trace), range(trace.n_heads))


def head_answer(trace: AttentionTrace, head: int, roles: Sequence[str]) -> str:
    return answers.head_answer(trace, survey(trace), head, roles)


def distances(trace: AttentionTrace) -> np.ndarray:
    return survey(trace).measures["mean_distance"]


def test_the_grid_says_how_many_heads_are_sharp() -> None:
    trace = trace_of(np.stack([PREVIOUS, UNIFORM, np.full((4, 4), 0.25)]))

    assert grid_answer(trace) == "2 of 3 heads give at least half of the attention to a single key, on average."
    assert grid_answer(trace_of(UNIFORM[None])).startswith("1 of 1 head gives at least half")


@pytest.mark.parametrize(
    ("padded", "ending"), [(1, " 1 query has no key allowed"), (3, " 3 queries have no key allowed")]
)
def test_the_grid_says_how_many_queries_have_no_key(padded: int, ending: str) -> None:
    trace = sentence_trace("abcde", MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=padded))

    assert grid_answer(trace).endswith(f"{ending}: weights and output are 0.")


def test_of_one_key_the_grid_says_that_heads_cannot_be_told_apart() -> None:
    assert grid_answer(sentence_trace("a")) == answers.ONE_KEY
    assert grid_answer(sentence_trace("ab")) != answers.ONE_KEY


def test_the_grid_counts_the_heads_that_are_shown_only() -> None:
    trace = trace_of(np.stack([PREVIOUS, FIRST, np.full((4, 4), 0.25)]))

    answer = answers.grid_answer(overview(trace), range(1, 3))

    assert answer.startswith("1 of 2 heads gives")


def test_the_most_alike_pair_is_named_with_its_cosine_and_the_mean_of_all_pairs() -> None:
    similarity = np.array([[1.0, 0.2, 0.5], [0.2, 1.0, 0.8], [0.5, 0.8, 1.0]])

    assert answers.redundancy_answer(similarity, NO_ROLES, 9) == (
        "Heads 1 and 2 are the most alike: cosine 0.800. All pairs: 0.500 on average."
    )


def test_heads_above_095_are_nearly_the_same_and_called_by_their_names() -> None:
    similarity = np.array([[1.0, 0.97], [0.97, 1.0]])

    assert answers.redundancy_answer(similarity, ("first", "sink"), 9) == (
        "Heads 0 and 1 (first, sink) are nearly the same map: cosine 0.970. All pairs: 0.970 on average."
    )


def test_of_ties_the_first_pair_is_named() -> None:
    assert answers.redundancy_answer(np.ones((3, 3)), NO_ROLES, 9).startswith("Heads 0 and 1 are nearly the same map")


def test_one_token_is_too_short_to_call_heads_redundant_and_one_head_has_no_other() -> None:
    assert answers.redundancy_answer(np.ones((8, 8)), NO_ROLES, 1) == (
        "With one token every head has the same map: too short to tell heads apart."
    )
    assert answers.redundancy_answer(np.eye(3), NO_ROLES, 9) == "No two heads ever look at the same key."
    assert answers.redundancy_answer(np.ones((1, 1)), NO_ROLES, 9) == "One head has no other to be compared with."


def test_the_nearest_and_the_farthest_head_stand_beside_the_uniform_one() -> None:
    trace = trace_of(np.stack([PREVIOUS, FIRST, np.eye(4)]), CAUSAL_4)

    assert distance_answer(trace, ("previous token", "", "")) == (
        "Nearest: head 2, 0 tokens away on average; farthest: head 1, 1.50. For comparison, "
        "a head that spreads its attention evenly over the allowed keys looks 0.750 tokens away."
    )


def test_heads_of_equal_distance_are_not_ranked() -> None:
    for trace in (trace_of(np.stack([PREVIOUS, PREVIOUS]), CAUSAL_4), trace_of(PREVIOUS[None], CAUSAL_4)):
        assert distance_answer(trace).startswith("The mean distance is 0.750 tokens; a head that spreads")


def test_one_token_is_no_distance_away() -> None:
    assert distance_answer(trace_of(np.ones((3, 1, 1)))).startswith("The mean distance is 0 tokens; ")


def test_where_nothing_is_allowed_the_answers_say_so() -> None:
    trace = trace_of(np.zeros((2, 3, 3)), np.zeros((3, 3), dtype=bool))

    assert distance_answer(trace) == "No query has a key it may attend to."
    assert head_answer(trace, 0, NO_ROLES) == "The mask allows no pair: every weight is 0."
    assert grid_answer(trace) == (
        "0 of 2 heads give at least half of the attention to a single key, on average. "
        "3 queries have no key allowed: weights and output are 0."
    )
    assert answers.cell_answer(trace, 0, 1, 2) == (
        "It gives nothing to key 2 “t2”: this query may attend to no key at all (score 0)."
    )


@pytest.mark.parametrize(
    ("weights", "place", "share", "uniform"),
    [
        (PREVIOUS, "the token before", 1.0, (1 / 2 + 1 / 3 + 1 / 4) / 3),
        (np.eye(4), "the token itself", 1.0, (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
        (FIRST, "key 0 “t0”", 1.0, (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
    ],
    ids=["previous token", "itself", "first token"],
)
def test_where_a_heads_attention_goes_stands_beside_what_a_uniform_head_gives_there(
    weights: np.ndarray, place: str, share: float, uniform: float
) -> None:
    trace = trace_of(weights[None], CAUSAL_4)
    found = habits(trace, survey(trace), 0)

    assert (found[0].place, found[0].share, found[0].uniform) == (place, share, pytest.approx(uniform))
    assert [habit.share for habit in found] == sorted((habit.share for habit in found), reverse=True)


def test_queries_without_a_key_do_not_lower_a_share() -> None:
    weights = np.array([[[0.0, 0, 0], [0, 1, 0], [0, 0, 1]]])
    mask = np.array([[False] * 3, [True] * 3, [True] * 3])

    assert head_answer(trace_of(weights, mask), 0, ("mirror",)) == (
        f"Head 0 (mirror) gives 100{THIN_SPACE}% of its attention to the token itself; "
        f"a uniform head would give 33.3{THIN_SPACE}%."
    )


def test_with_fewer_queries_than_keys_the_token_itself_is_at_the_end() -> None:
    trace = trace_of(np.eye(5)[[3, 4]][None])

    assert habits(trace, survey(trace), 0)[0] == Habit("the token itself", 1.0, 0.2)


def test_a_cell_is_answered_with_weight_rank_score_and_the_uniform_share() -> None:
    weights, mask = np.array([[[0.25, 0.5, 0.25, 0.0]]]), np.array([[True, True, True, False]])
    scores, bias = np.array([[[1.5, 2.0, -1.25, 7.0]]]), np.array([[[0.0, 0.0, -0.5, 0.0]]])
    trace = trace_of(weights, mask, tokens=["a", "<b>", "$c$", ""], scores=scores, bias=bias)

    assert answers.cell_answer(trace, 0, 0, 1) == (
        "It gives 0.500 to key 1 “<b>”: rank 1 of 3 allowed keys, score 2.00. A uniform head would give 0.333."
    )
    assert answers.cell_answer(trace, 0, 0, 2) == (
        f"It gives 0.250 to key 2 “$c$”: rank 2, tied with 1 other, of 3 allowed keys, "
        f"score {MINUS}1.25, bias {MINUS}0.500. "
        "A uniform head would give 0.333."
    )
    assert answers.cell_answer(trace, 0, 0, 3) == (
        "It gives nothing to key 3 “∅”: the mask forbids this pair (score 7.00)."
    )


@given(configs())
def test_the_answers_agree_with_the_numbers_of_any_setting(config: AttentionConfig) -> None:
    trace = attend(config)
    similarity = SIMILARITIES["cosine"].function((trace,)).pairs
    roles = ("",) * trace.n_heads

    pair = most_alike(similarity)
    redundancy = answers.redundancy_answer(similarity, roles, trace.n_k)
    if trace.n_k > 1 and pair is not None and pair.similarity > 0:
        assert redundancy.startswith(f"Heads {pair.first} and {pair.second} are ")
        assert f"cosine {significant(pair.similarity)}." in redundancy
    cell = cell_summary(trace, trace.n_heads - 1, trace.n_q - 1, 0)
    answer = answers.cell_answer(trace, trace.n_heads - 1, trace.n_q - 1, 0)
    if cell.weight is not None:
        assert answer.startswith(f"It gives {significant(cell.weight)} to key 0 ")
        tied = f", tied with {counted(cell.ties, 'other')}," if cell.ties else ""
        assert f"rank {cell.rank}{tied} of {cell.allowed_keys} allowed key" in answer
    else:
        assert answer.startswith("It gives nothing to key 0 ")
    for sentence in (redundancy, answer, distance_answer(trace, roles), head_answer(trace, 0, roles)):
        assert sentence.endswith(".")
        assert "nan" not in sentence.replace(visible(config.tokens[0]), "").split()


@pytest.mark.parametrize("token", NASTY, ids=lambda token: token.encode("unicode_escape").decode() or "empty")
def test_a_nasty_token_is_literal_in_answers_and_alt_texts(token: str) -> None:
    trace = trace_of(np.array([[[0.25, 0.75], [0.75, 0.25]]]), tokens=["a", token])
    shown = f"“{visible(token)}”"
    assert quoted(token, longest=40) == shown
    short = quoted(token)

    assert f"to key 1 {short}:" in answers.cell_answer(trace, 0, 0, 1)
    assert f"query 0 “a” looks most at key 1 {short}" in alt.pattern(trace, 0, ("",))
    assert f"query 1 {short}" in alt.query_row(trace, 0, 1)


def test_a_long_token_is_cut_in_a_sentence() -> None:
    assert quoted("a" * 30) == f"“{'a' * 23}…”"
    assert quoted("a" * 24) == f"“{'a' * 24}”"


def test_a_head_is_called_by_its_number_and_name() -> None:
    assert [named(head, ("", "sink")) for head in (0, 1)] == ["head 0", "head 1 (sink)"]


def test_the_alt_text_of_the_grid_tells_sizes_names_and_how_much_is_forbidden() -> None:
    trace = trace_of(np.stack([PREVIOUS, UNIFORM]), CAUSAL_4)

    assert alt.head_grid(trace, overview(trace), range(2), ("before", "even")) == (
        "Heatmaps of 2 heads, 4 queries (rows) by 4 keys (columns) each: before, even. "
        "37.5 % of the cells are drawn as forbidden."
    )
    free = trace_of(np.ones((1, 1, 1)))
    assert (
        alt.head_grid(free, overview(free), range(1), ("",))
        == "Heatmaps of 1 head, 1 query (rows) by 1 key (columns) each."
    )


def test_the_alt_text_of_a_head_tells_the_favourite_key_of_its_first_twelve_queries() -> None:
    trace = trace_of(PREVIOUS[None], CAUSAL_4, tokens=["a", "b", "c", "d"])

    assert alt.pattern(trace, 0, ("before",)) == (
        "Heatmap of head 0 (before), 4 queries (rows) by 4 keys (columns): "
        "query 0 “a” looks most at key 0 “a”; query 1 “b” looks most at key 0 “a”; "
        "query 2 “c” looks most at key 1 “b”; query 3 “d” looks most at key 2 “c”."
    )
    assert alt.pattern(random_trace(1, 13), 0, ("",)).endswith("; ….")
    assert alt.pattern(random_trace(1, 13), 0, ("",)).count("looks most at") == 12


def test_the_alt_text_of_a_query_tells_its_three_largest_weights() -> None:
    trace = trace_of(np.array([[[0.1, 0.2, 0.4, 0.3]]]), tokens=["a", "b", "c", "d"])

    assert alt.query_row(trace, 0, 0) == (
        "Bars of the weights of query 0 “d”; the largest: “c” (key 2) 0.400, “d” (key 3) 0.300, “b” (key 1) 0.200."
    )


def test_the_alt_texts_of_similarity_and_distance_tell_their_range_and_means() -> None:
    trace = trace_of(np.stack([PREVIOUS, FIRST]), CAUSAL_4)

    assert alt.similarity(np.array([[1.0, 0.25], [0.25, 1.0]])) == (
        "Matrix of cosine similarity between 2 heads, from 0.250 to 1."
    )
    assert alt.measure(distances(trace), ("before", ""), "Mean distance in tokens") == (
        "Mean distance in tokens of each head: head 0 (before) 0.750, head 1 1.50."
    )
    many = random_trace(17, 3)
    assert alt.measure(distances(many), ("",) * 17, "Mean distance").endswith(", ….")


@pytest.mark.parametrize(
    "head", [pytest.param(0, id="first block of heads"), pytest.param(70, id="second block of heads")]
)
def test_the_alt_text_of_many_heads_counts_those_that_are_shown(head: int) -> None:
    trace = random_trace(100, 3)
    shown = heads_shown(head, 100)

    text = alt.head_grid(trace, overview(trace), shown, ("",) * 100)

    assert shown == (range(64) if head < 64 else range(64, 100))
    assert text.startswith(f"Heatmaps of {len(shown)} heads, 3 queries")


def test_a_designed_head_is_held_against_what_it_is_made_for() -> None:
    uniform = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]

    answer = head_answer(trace_of(uniform[None], CAUSAL_4), 0, ("previous token",))

    assert answer == (
        f"Head 0 (previous token) gives 36.1{THIN_SPACE}% of its attention to the token before; "
        f"no better than a uniform head, which gives 36.1{THIN_SPACE}%."
    )


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "not kept"])
def test_after_dropout_the_share_that_is_gone_and_the_sums_of_the_rows_are_told(is_kept: bool) -> None:
    config = AttentionConfig(tuple("abcdefghij"), masks=(MASKS["full"].spec(),), dropout=0.4)
    kept = attend(config)
    trace = kept if is_kept else replace(kept, kept=None)
    after = kept.in_training().weights[2]
    gone = percent(float((after == 0).mean()))
    least, most = (significant(float(total)) for total in (after.sum(axis=1).min(), after.sum(axis=1).max()))

    with in_small_blocks(10):
        answer = answers.dropout_answer(trace, 2)

    assert 0.3 < (after == 0).mean() < 0.5
    assert answer == f"{gone} of the weights are dropped; a row now sums to between {least} and {most} instead of 1."


def test_pairs_that_are_equally_alike_are_counted() -> None:
    assert answers.redundancy_answer(np.ones((3, 3)), NO_ROLES, 9) == (
        "Heads 0 and 1 are nearly the same map: cosine 1.00. 2 other pairs are as alike. All pairs: 1.00 on average."
    )
