"""The scenario and its link: every setting comes back, and no link can break anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.core.config import divisors
from attnviz.errors import AttnvizError, NothingYetError, SettingError, UnknownNameError
from attnviz.link import from_query
from attnviz.menu import Menu
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec, Text
from attnviz.scenario import DOMAINS, MAX_CHARACTERS, PARAMS, Scenario, adapted, fitting_divisor
from tests.strategies import specs, values

HEADS_SENTENCE = "`n_heads` must divide `d_model`; got n_heads=3, d_model=32. Try 1, 2, 4, 8, 16 or 32."


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any scenario that can be on screen: every field drawn from its own domain, nothing past the last."""
    chosen: dict[str, Any] = {}
    for name, domain in DOMAINS.items():
        if isinstance(domain, Menu):
            chosen[name] = draw(st.sampled_from(domain.names()).flatmap(lambda e, d=domain: specs(d.registry[e])))
        elif isinstance(domain, Text):
            meant = st.sampled_from(("", *domain.examples))
            chosen[name] = draw(meant if domain.check else st.text(max_size=40))
        else:
            chosen[name] = draw(values(PARAMS[name]))
    chosen["n_heads"] = draw(st.sampled_from(divisors(chosen["d_model"])))
    chosen["n_kv_heads"] = draw(st.sampled_from([0, *divisors(chosen["n_heads"])]))
    return adapted(Scenario(**chosen))


@settings(max_examples=40)
@given(scenarios())
def test_a_link_gives_back_the_scenario_it_was_made_of(scenario: Scenario) -> None:
    assert from_query(scenario.to_query()) == (scenario, [])


@given(scenarios())
def test_a_link_survives_being_written_into_an_address(scenario: Scenario) -> None:
    address = urlencode(scenario.to_query())

    assert from_query(dict(parse_qsl(address, keep_blank_values=True))) == (scenario, [])


@pytest.mark.parametrize("field", [name for name, domain in DOMAINS.items() if isinstance(domain, Menu)])
def test_every_entry_of_a_menu_with_its_usual_parameters_comes_back(field: str) -> None:
    menu = DOMAINS[field]
    assert isinstance(menu, Menu)
    for name in menu.names():
        scenario = Scenario(**{field: menu.registry[name].spec()})
        is_default = scenario == Scenario()
        assert scenario.to_query() == ({} if is_default else {field: name})
        assert from_query(scenario.to_query()) == (scenario, [])


def test_the_default_scenario_has_an_empty_link() -> None:
    assert Scenario().to_query() == {}
    assert from_query({}) == (Scenario(), [])


@given(scenarios())
def test_a_link_has_only_what_differs_from_the_default_under_the_names_of_the_fields(scenario: Scenario) -> None:
    default = Scenario()
    link = scenario.to_query()

    assert {key.partition(".")[0] for key in link} <= set(DOMAINS)
    assert list(dict.fromkeys(key.partition(".")[0] for key in link)) == [
        name for name in DOMAINS if getattr(scenario, name) != getattr(default, name)
    ]


def test_a_parameter_of_the_usual_entry_needs_no_entry_in_the_link() -> None:
    scenario = Scenario(position=POSITIONS["sinusoidal"].spec(base=100.0))

    assert scenario.to_query() == {"position.base": "100.0"}
    assert from_query({"position.base": "100"})[0] == scenario


def test_heads_that_do_not_divide_the_width_are_refused_with_both_numbers_and_the_ways_out() -> None:
    scenario, problems = from_query({"n_heads": "3", "d_model": "32"})

    assert problems == [f"{HEADS_SENTENCE} Shown with n_heads=2."]
    assert (scenario.d_model, scenario.n_heads) == (32, 2)
    with pytest.raises(SettingError) as refused:
        Scenario(n_heads=3, d_model=32)
    assert str(refused.value) == HEADS_SENTENCE


def test_a_width_alone_lowers_the_heads_without_a_word() -> None:
    scenario, problems = from_query({"d_model": "12"})

    assert (scenario.n_heads, problems) == (6, [])


@given(st.integers(1, 3000), st.integers(1, 2048))
def test_fitting_heads_are_the_most_that_divide_the_width_and_are_not_more_than_wanted(wanted: int, width: int) -> None:
    heads = fitting_divisor(wanted, width)

    assert width % heads == 0
    assert heads <= wanted
    assert all(width % more for more in range(heads + 1, min(wanted, width) + 1))


@given(scenarios(), st.integers(2, 2048))
def test_a_new_width_changes_nothing_but_the_heads(scenario: Scenario, width: int) -> None:
    changed = adapted(scenario, d_model=width)

    assert changed.d_model == width
    assert changed.n_heads == fitting_divisor(scenario.n_heads, width)
    assert changed.n_kv_heads == (fitting_divisor(scenario.n_kv_heads, changed.n_heads) if scenario.n_kv_heads else 0)
    assert changed.head == min(scenario.head, changed.counts()["head"] - 1)
    back = {name: getattr(scenario, name) for name in ("d_model", "n_heads", "n_kv_heads", "head")}
    assert adapted(changed, **back) == scenario


def test_key_value_heads_that_do_not_divide_the_heads_are_lowered_and_named() -> None:
    scenario, problems = from_query({"n_heads": "8", "n_kv_heads": "3"})

    assert scenario.n_kv_heads == 2
    assert problems == [
        "`n_kv_heads` must divide `n_heads`; got n_heads=8, n_kv_heads=3. Try 1, 2, 4 or 8. Shown with n_kv_heads=2."
    ]


def test_in_cross_attention_the_keys_are_those_of_the_other_input() -> None:
    words = Scenario(text="a b c", key_text="d e", cross=True)
    vectors = Scenario(input="vectors", n_tokens=5, n_keys=3, cross=True)

    assert (words.config().tokens, words.config().key_tokens) == (("a", "b", "c"), ("d", "e"))
    assert vectors.config().key_tokens == ("y0", "y1", "y2")
    assert words.counts() == {"head": 8, "query": 3, "key": 2}
    assert replace(words, cross=False).config().key_tokens is None


@pytest.mark.parametrize(
    ("setting", "past"),
    [
        ({}, {"head": 7, "query": 10, "key": 10}),
        ({"n_heads": 4, "text": "a b c"}, {"head": 3, "query": 2, "key": 2}),
        ({"input": "vectors", "n_tokens": 6}, {"head": 7, "query": 5, "key": 5}),
        ({"text": "w " * 600}, {"head": 7, "query": 511, "key": 511}),
        ({"input": "trained"}, {"layer": 5, "head": 11}),
        ({"text": " "}, {"head": 7}),
    ],
    ids=str,
)
def test_a_part_of_a_link_past_the_last_there_is_is_lowered_to_it_and_named(
    setting: dict[str, Any], past: dict[str, int]
) -> None:
    link = Scenario(**setting).to_query()

    scenario, problems = from_query({**link, **{name: str(last + 1) for name, last in past.items()}})

    assert {name: getattr(scenario, name) for name in past} == past
    assert problems == [
        f"`{name}` must be a whole number from 0 to {last}; got {name}={last + 1}. Shown with {name}={last}."
        for name, last in past.items()
    ]
    assert from_query({**link, **{name: str(last) for name, last in past.items()}}) == (scenario, [])


def test_a_short_text_lowers_the_usual_query_without_a_word() -> None:
    scenario, problems = from_query({"text": "to be"})

    assert (scenario.query, scenario.key, problems) == (1, 0, [])
    assert adapted(Scenario(query=10, key=9), text="a b c") == Scenario(text="a b c", query=2, key=2)


def test_while_there_is_no_word_the_query_is_kept() -> None:
    assert adapted(Scenario(query=10), text="").query == 10


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ({"n_tokens": "1e99"}, "`n_tokens` must be a whole number from 1 to 32768 tokens; got n_tokens=1e99. Try 32."),
        (
            {"n_tokens": "99999"},
            "`n_tokens` must be a whole number from 1 to 32768 tokens; got n_tokens=99999. Try 32768.",
        ),
        ({"seed": "-1"}, "`seed` must be a whole number from 0 to 999999; got seed=-1. Try 0."),
        ({"sharpness": "nan"}, "`sharpness` must be a number from 0 to 8; got sharpness=nan. Try 1.0."),
        ({"sharpness": "inf"}, "`sharpness` must be a number from 0 to 8; got sharpness=inf. Try 8.0."),
        ({"input": "<b>"}, "`input` must be one of sentence, vectors or trained; got input=<b>. Try sentence."),
        ({"mask": "nope"}, "`mask`: there is no entry 'nope' here; try full, causal or "),
        ({"mask": "padding_left"}, "`mask`: there is no entry 'padding_left' here; try full, causal or "),
        ({"sparsity": "dense", "sparsity.window": "3"}, "`sparsity`: `window` is not a parameter of No sparsity"),
        ({"mask.align": "middle"}, "`mask`: `align` is not a parameter of Full; got align=middle. It has none."),
        ({"seed.x": "1"}, "`seed` has no parameter 'x'."),
        (
            {"shared_scale": "ja"},
            "`shared_scale` must be 1 or 0, on or off, true or false, yes or no; got shared_scale=ja. Try 1.",
        ),
        ({"colour": "red"}, "`colour` is not a setting."),
        ({"": ""}, "`` is not a setting."),
    ],
)
def test_a_bad_part_of_a_link_is_named_and_its_field_left_at_the_default(link: dict[str, str], problem: str) -> None:
    scenario, problems = from_query(link)

    assert len(problems) == 1
    assert problems[0].startswith(problem)
    assert scenario == Scenario()


def test_of_a_setting_to_compare_with_what_means_nothing_is_told_and_another_one_inside_it_is_left_out() -> None:
    scenario, problems = from_query({"beside": "n_heads=3&seed=1", "seed": "3"})
    assert scenario == Scenario(beside="n_heads=3&seed=1", seed=3)
    assert problems == [
        f"`beside`: {HEADS_SENTENCE.replace('32', '64').replace('16 or', '16, 32 or')} Shown with n_heads=2."
    ]

    deep = ("beside=" * MAX_CHARACTERS)[: MAX_CHARACTERS - 1]
    assert from_query({"beside": deep, "seed": "3"}) == (Scenario(beside=deep, seed=3), [])


def test_an_entry_is_kept_where_only_some_of_its_parameters_are_bad() -> None:
    link = {"sparsity": "sliding_window", "sparsity.window": "0", "sparsity.a": "1", "sparsity.b": "2", "seed.c": "3"}

    scenario, problems = from_query({**link, "seed": "4"})

    assert scenario == Scenario(sparsity=MASKS["sliding_window"].spec(), seed=4)
    assert [problem.split(" ")[1] for problem in problems] == ["`window`", "`a`", "`b`", "has"]


def test_the_good_parts_of_a_bad_link_are_kept() -> None:
    scenario, problems = from_query({"text": "to be", "seed": "x", "mask": "causal", "n_tokens": "0", "what": "1"})

    assert scenario == Scenario(text="to be", mask=MASKS["causal"].spec(), query=1)
    assert len(problems) == 3


def known_keys() -> list[str]:
    params = [
        f"{name}.{p.name}"
        for name, menu in DOMAINS.items()
        if isinstance(menu, Menu)
        for e in menu.registry
        for p in e.params
    ]
    return [*DOMAINS, *params, "mask.", ".", "mask.mask"]


hostile_values = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["nan", "-inf", "9" * 5000, "-0", "1e309", "<script>alert(1)</script>", "$x$", "\x00", "None", "1_0"]
    ),
    st.sampled_from([*MASKS.names(), *POSITIONS.names()]),
    st.integers().map(str),
    st.floats().map(str),
)


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(known_keys()) | st.text(max_size=20), hostile_values, max_size=8))
def test_no_link_raises_and_each_part_that_was_ignored_is_named_in_a_short_sentence(link: dict[str, str]) -> None:
    scenario, problems = from_query(link)

    assert isinstance(scenario, Scenario)
    assert from_query(scenario.to_query()) == (scenario, [])
    for key in link:
        field = key.partition(".")[0]
        if field not in DOMAINS:
            assert any(f"`{key}`" in problem for problem in problems), key
    for problem in problems:
        assert problem.endswith((".", "?"))
        assert len(problem) < 400
    assert len(set(problems)) == len(problems)


@given(st.sampled_from(["x", "mask.x", "seed.x", "text.x"]).map(lambda key: key * 3000), st.text(min_size=1000))
def test_a_very_long_part_of_a_link_is_named_by_its_start(key: str, value: str) -> None:
    problems = from_query({key: value, "mask." + key: value, "seed": value})[1]

    assert len(problems) == 3
    assert all(len(problem) < 400 for problem in problems)


def test_a_text_longer_than_allowed_is_cut_by_a_link_and_refused_by_the_scenario() -> None:
    scenario, problems = from_query({"text": "a" * (MAX_CHARACTERS + 5)})

    assert len(scenario.text) == MAX_CHARACTERS
    assert problems == ["`text` has 20,005 characters; only the first 20,000 are shown."]
    with pytest.raises(SettingError, match=r"^`text` must have at most 20,000 characters; got 20,005\. Shorten it\.$"):
        Scenario(text="a" * (MAX_CHARACTERS + 5))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_tokens": 0},
        {"n_tokens": 32_769},
        {"d_model": 1},
        {"n_heads": 0},
        {"sharpness": -0.1},
        {"sharpness": float("nan")},
        {"seed": -1},
        {"head": 2048},
        {"input": "video"},
        {"scale": "rainbow"},
        {"mask": Spec("nope")},
        {"mask": MASKS["padding_left"].spec()},
        {"sparsity": MASKS["causal"].spec()},
        {"sparsity": Spec("sliding_window", (("window", 0),))},
        {"position": Spec("sinusoidal", (("speed", 1),))},
    ],
    ids=str,
)
def test_a_value_outside_its_domain_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(AttnvizError):
        Scenario(**changes)


def test_an_entry_of_another_menu_is_refused_by_name() -> None:
    with pytest.raises(UnknownNameError, match="there is no entry 'causal' here; try dense, sliding_window or "):
        Scenario(sparsity=MASKS["causal"].spec())


def test_a_sentence_is_split_into_words_and_vectors_are_numbered() -> None:
    assert Scenario(text="To be, or").config().tokens == ("To", "be", ",", "or")
    assert Scenario(input="vectors", n_tokens=3, text="unused").config().tokens == ("x0", "x1", "x2")


@given(scenarios())
def test_the_attention_setting_has_every_choice_of_the_scenario(scenario: Scenario) -> None:
    config = adapted(scenario, input="vectors", n_tokens=5, n_keys=7).config()

    assert (config.d_model, config.n_heads, config.seed) == (scenario.d_model, scenario.n_heads, scenario.seed)
    assert (config.masks, config.position) == (scenario.masks, scenario.position)
    assert (config.projections, config.sharpness) == (scenario.weights, scenario.sharpness)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_text_without_a_word_asks_for_one(text: str) -> None:
    with pytest.raises(NothingYetError, match=r"^Nothing to show yet: type a sentence of at least one word\.$"):
        Scenario(text=text).config()
