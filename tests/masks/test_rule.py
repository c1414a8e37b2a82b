"""A rule that a person types: what it means, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attnviz.errors import SettingError
from attnviz.link import from_query
from attnviz.masks import build_mask
from attnviz.masks.reading import EXAMPLE, check_rule, read_rule
from attnviz.masks.rule import written
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from tests.strategies import lengths

OPENING = "`rule` must be true or false for each q and k; got "
Meaning = Callable[[int, int, int, int], int]


class Written(NamedTuple):
    """A part of a rule, and what it means for one q, k, n and h."""

    text: str
    meaning: Meaning


def joined(symbol: str, left: Written, right: Written) -> Written:
    plain: dict[str, Callable[[int, int], int]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "//": lambda a, b: a // b if b else 0,
        "%": lambda a, b: a % b if b else 0,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "&": lambda a, b: a and b,
        "|": lambda a, b: a or b,
        "and": lambda a, b: a and b,
        "or": lambda a, b: a or b,
    }
    work = plain[symbol]
    return Written(f"({left.text}) {symbol} ({right.text})", lambda *at: work(left.meaning(*at), right.meaning(*at)))


names = st.sampled_from(
    [
        Written("q", lambda q, k, n, h: q),
        Written("k", lambda q, k, n, h: k),
        Written("n", lambda q, k, n, h: n),
        Written("h", lambda q, k, n, h: h),
    ]
)
integers = st.integers(0, 9).map(lambda number: Written(str(number), lambda q, k, n, h: number))


def larger_number(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    two = st.builds(joined, st.sampled_from(["+", "-", "//", "%"]), inner, inner)
    product = st.builds(joined, st.just("*"), names | integers, names | integers)
    return two | product | inner.map(lambda part: Written(f"-({part.text})", lambda *at: -part.meaning(*at)))


def larger_rule(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    two = st.builds(joined, st.sampled_from(["&", "|", "and", "or"]), inner, inner)
    words = st.sampled_from(["~", "not "])
    opposite = st.builds(
        lambda word, part: Written(f"{word}({part.text})", lambda *at: not part.meaning(*at)), words, inner
    )
    return two | opposite


numbers = st.recursive(names | integers, larger_number, max_leaves=4)
constants = st.sampled_from([Written("True", lambda q, k, n, h: True), Written("False", lambda q, k, n, h: False)])
comparisons = st.builds(joined, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers, numbers)
rules = st.recursive(comparisons | constants, larger_rule, max_leaves=4).filter(lambda made: len(made.text) <= 200)


def mask(rule: str, n_q: int, n_k: int, n_heads: int = 1) -> np.ndarray:
    return build_mask([MASKS["rule"].spec(rule=rule)], n_q, n_k, n_heads=n_heads)


@given(rules, st.integers(1, 7), st.integers(1, 7), st.integers(1, 3))
def test_a_rule_means_for_every_pair_what_it_means_for_plain_integers(
    made: Written, n_q: int, n_k: int, n_heads: int
) -> None:
    allowed = np.broadcast_to(mask(made.text, n_q, n_k, n_heads), (n_heads, n_q, n_k))

    for head, q, k in np.ndindex(allowed.shape):
        assert allowed[head, q, k] == bool(made.meaning(q + n_k - n_q, k, n_k, head)), made.text


@given(rules)
def test_a_rule_written_out_for_numpy_is_a_rule_of_the_same_meaning(made: Written) -> None:
    names = {"q": np.arange(5)[:, None], "k": np.arange(5)[None, :], "n": 5, "h": np.arange(2)[:, None, None]}
    divided = {
        "divided": lambda a, b: np.where(b == 0, 0, a // np.where(b == 0, 1, b)),
        "remainder": lambda a, b: np.where(b == 0, 0, a % np.where(b == 0, 1, b)),
    }

    value = eval(written(read_rule(made.text)), {"np": np, **names, **divided})

    np.testing.assert_array_equal(*np.broadcast_arrays(value, mask(made.text, 5, 5, 2)))


def test_the_usual_rule_is_a_causal_window_with_two_sinks() -> None:
    usual = MASKS["rule"].spec()

    assert usual["rule"] == "(k <= q) & ((q - k < 4) | (k < 2))"
    streaming = MASKS["streaming"].spec(sinks=2, window=4)
    np.testing.assert_array_equal(build_mask([usual], 11, 11), build_mask([streaming], 11, 11))


def test_comparisons_may_be_chained() -> None:
    assert mask("0 <= q - k < 2", 3, 3)[0].astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    assert mask("k == q == 1", 3, 3)[0].astype(int).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_a_rule_with_h_differs_from_head_to_head_and_one_without_is_kept_once() -> None:
    assert mask("q - k == h", 3, 3, 2).astype(int).tolist() == [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 0, 0], [1, 0, 0], [0, 1, 0]],
    ]
    assert mask("q == k", 3, 3, 2).shape == (1, 3, 3)


def test_new_queries_after_a_cache_count_from_where_they_stand() -> None:
    assert mask("k <= q", 2, 4)[0].astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert mask("k == n - 1", 2, 4)[0].astype(int).tolist() == [[0, 0, 0, 1]] * 2


@pytest.mark.parametrize("division", ["q // k", "q % k", "q // (k - k)", "q % 0", "7 // 0", "n % h"])
def test_dividing_by_zero_gives_zero(division: str) -> None:
    assert mask(f"{division} == 0", 3, 1).all()
    assert not mask(f"{division} != 0", 3, 1).any()


def test_division_rounds_down_and_what_is_left_has_the_sign_of_the_divisor() -> None:
    assert mask("(0 - 7) // 2 == 0 - 4", 1, 1).all()
    assert mask("-7 % 3 == 2", 1, 1).all()
    assert mask("7 % -3 == -2", 1, 1).all()


def test_the_largest_numbers_that_a_rule_may_reach_do_not_overflow() -> None:
    assert mask("1000000 * 1000000 * 1000000 > k", 1, 1).all()
    assert mask("k * k * k >= 0", 1, 300).all()


REFUSED = {
    "": f"the end at column 1, where a comparison should be. Try {EXAMPLE}.",
    "   ": f"the end at column 1, where a comparison should be. Try {EXAMPLE}.",
    "k <= x": '"x" at column 6, a name it does not know. Use q, k, n or h.',
    "  k <= Q": '"Q" at column 8, a name it does not know. Use q, k, n or h.',
    "__import__ == k": '"__import__" at column 1, a name it does not know. Use q, k, n or h.',
    "q.real <= k": f'"." at column 2, which no rule has. Try {EXAMPLE}.',
    "k <= 1.5": f'"." at column 7, which no rule has. Try {EXAMPLE}.',
    "k[0] <= q": f'"[" at column 2, which no rule has. Try {EXAMPLE}.',
    "'a' == k": f'"\'" at column 1, which no rule has. Try {EXAMPLE}.',
    "k <= q, k": f'"," at column 7, which no rule has. Try {EXAMPLE}.',
    "lambda: k": f'":" at column 7, which no rule has. Try {EXAMPLE}.',
    "k <= q\n": f'"\\n" at column 7, which no rule has. Try {EXAMPLE}.',
    "\x00": f'"\\x00" at column 1, which no rule has. Try {EXAMPLE}.',
    "ｋ <= q": f'"ｋ" at column 1, which no rule has. Try {EXAMPLE}.',
    "k ≤ q": f'"≤" at column 3, which no rule has. Try {EXAMPLE}.',
    "k <= 0x10": f'"0x" at column 6, which no rule has. Try {EXAMPLE}.',
    "k <= 1_0": f'"1_" at column 6, which no rule has. Try {EXAMPLE}.',
    "exit()": f'"exit()" at column 1, which no rule has. Try {EXAMPLE}.',
    "q(k) < 3": f'"q(k)" at column 1, which no rule has. Try {EXAMPLE}.',
    "k < (q if h else n)": f'"q if h else n" at column 6, which no rule has. Try {EXAMPLE}.',
    "()": f'"()" at column 1, which no rule has. Try {EXAMPLE}.',
    "None": f'"None" at column 1, which no rule has. Try {EXAMPLE}.',
    "k ** 9 < q": '"k ** 9" at column 1, an operation it does not know. Use + - * // % & | or ~.',
    "9**9**9**9 < k": '"9**9**9**9" at column 1, an operation it does not know. Use + - * // % & | or ~.',
    "k << 9 > q": '"k << 9" at column 1, an operation it does not know. Use + - * // % & | or ~.',
    "k / 2 < q": '"k / 2" at column 1, an operation it does not know. Use + - * // % & | or ~.',
    "k in q": '"k in q" at column 1, a comparison it does not know. Use < <= > >= == or !=.',
    "k is not q": '"k is not q" at column 1, a comparison it does not know. Use < <= > >= == or !=.',
    "k < 1000001": '"1000001" at column 5, a number above 1,000,000. Use a smaller one.',
    "9" * 199: f'"{"9" * 20}…" at column 1, a number above 1,000,000. Use a smaller one.',
    "k * k * k * q > 1": '"k * k * k * q" at column 1, a number that can grow too large. Multiply fewer numbers.',
    "q - k": '"q - k" at column 1, a number where a comparison should be. '
    "Write each comparison in parentheses, as in (k <= q) & (k < 2).",
    "k <= q & q < 4": '"q" at column 6, a number where a comparison should be. '
    "Write each comparison in parentheses, as in (k <= q) & (k < 2).",
    "(k < q) < 3": '"k < q" at column 2, where a number should be. Join comparisons with & or |, each in parentheses.',
    "k < True": '"True" at column 5, where a number should be. Join comparisons with & or |, each in parentheses.',
    "k <= q)": f'")" at column 7, where it cannot be read on. Try {EXAMPLE}.',
    "(k <= q": f'"(k <= q" at column 1, where it cannot be read on. Try {EXAMPLE}.',
    "k <= 07": f'"07" at column 6, where it cannot be read on. Try {EXAMPLE}.',
    "k = q": f'"= q" at column 3, where it cannot be read on. Try {EXAMPLE}.',
    "~" * 190 + "(k < q)": f'"{"~" * 20}…" at column 34, which is nested too deep. Split it up.',
    "+".join("k" * 60) + " < q": f'"{"+".join("k" * 10)}+…" at column 1, which is nested too deep. Split it up.',
    "k" * 201: "",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_rule_is_refused_with_its_place_and_a_way_out(text: str) -> None:
    with pytest.raises(SettingError) as refused:
        MASKS["rule"].spec(rule=text)

    if len(text) > 200:
        expected = "`rule` must be a text of at most 200 characters; got 201 characters. Shorten it."
    else:
        expected = OPENING + REFUSED[text]
    assert str(refused.value) == expected


def test_a_hundred_parentheses_around_a_rule_change_nothing_and_unclosed_ones_are_refused() -> None:
    np.testing.assert_array_equal(mask(f"{'(' * 97}k <= q{')' * 97}", 4, 4), mask("k <= q", 4, 4))
    with pytest.raises(SettingError, match="where it cannot be read on"):
        check_rule("(" * 200)


def problem_with(text: str) -> str | None:
    try:
        check_rule(text)
    except SettingError as refused:
        return str(refused)
    return None


pieces = st.sampled_from([*"qknh()+-*/%&|~<>=! 019_.,:[]'\"@^\\", "and", "or", "not", "if", "else", "**", "True", "é"])


@given(st.text(max_size=60) | st.lists(pieces, max_size=40).map("".join))
@example("k<q if")
@example("1or k")
@example("\ud800")
def test_any_text_is_a_rule_or_refused_in_one_short_sentence_with_a_way_out(text: str) -> None:
    problem = problem_with(text)

    if problem is None:
        assert mask(text, 3, 4, 2).dtype == np.bool_
    else:
        assert problem.startswith(OPENING)
        assert " at column " in problem
        assert problem.endswith(".")
        assert problem.isprintable()
        assert len(problem) < 240


@given(rules, lengths)
def test_a_rule_travels_in_the_link_as_it_was_typed(made: Written, n: int) -> None:
    scenario = Scenario(mask=MASKS["rule"].spec(rule=made.text))

    assert scenario.to_query() == {"mask": "rule", "mask.rule": made.text}
    assert from_query(scenario.to_query()) == (scenario, [])


def test_a_bad_rule_in_a_link_is_named_and_the_usual_one_shown() -> None:
    scenario, problems = from_query({"mask": "rule", "mask.rule": "k <= q.real"})

    assert scenario == Scenario(mask=MASKS["rule"].spec())
    assert problems == [f'`mask`: {OPENING}"." at column 7, which no rule has. Try {EXAMPLE}.']
