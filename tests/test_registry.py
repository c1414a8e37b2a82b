"""One decorated function is a menu entry with its controls, caption and link form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import SettingError, UnknownNameError
from attnviz.masks import build_mask
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Annotated, Choice, Entry, Param, Range, Registry, Spec, format_value
from attnviz.shapes import KIndex, Mask, QIndex
from tests.strategies import REGISTRIES, specs, values


def read_or_refusal(param: Param, text: str) -> object:
    """What a link's text stands for, or the error that refuses it."""
    try:
        return param.parse(text)
    except SettingError as refusal:
        return refusal


@pytest.fixture
def every_other() -> Iterator[Entry[..., Any]]:
    """A mask that only this test knows."""

    @MASKS.register(label="Every other", group="Sparsity", source="Nobody 2020, section 1")
    def every_other_key(
        q: QIndex,
        k: KIndex,
        *,
        step: Annotated[int, Range(1, 8, unit="tokens")] = 2,
        near: Annotated[float, Range(0, 4)] = 0.5,
        side: Annotated[str, Choice(("left", "both"))] = "both",
        itself: bool = True,
    ) -> Mask:
        """A query may attend to every `step`-th key.

        The rest of a docstring is for readers of the code.
        """
        allowed = (np.abs(q - k) % step == 0) | (np.abs(q - k) <= near)
        return allowed & (k <= q if side == "left" else k >= 0) & ((k != q) | itself)

    yield MASKS["every_other_key"]
    MASKS.unregister("every_other_key")
    assert "every_other_key" not in MASKS


def test_a_registered_mask_is_a_menu_entry_with_a_caption_and_a_source(every_other: Entry[..., Any]) -> None:
    assert MASKS.names("Sparsity")[-1] == "every_other_key"
    assert (every_other.label, every_other.source) == ("Every other", "Nobody 2020, section 1")
    assert every_other.summary == "A query may attend to every `step`-th key."


def test_parameters_are_read_from_the_signature(every_other: Entry[..., Any]) -> None:
    assert every_other.params == (
        Param("step", int, 2, Range(1, 8, unit="tokens")),
        Param("near", float, 0.5, Range(0, 4)),
        Param("side", str, "both", Choice(("left", "both"))),
        Param("itself", bool, True, None),
    )
    assert [param.label for param in every_other.params] == ["step (tokens)", "near", "side", "itself"]


def test_what_a_parameter_does_is_read_from_the_docstring() -> None:
    toys: Registry[..., Any] = Registry("toy", groups=("Plain",))

    @toys.register(label="Spring", group="Plain", source="Nobody 2020")
    def spring(
        force: float, *, turns: Annotated[int, Range(1, 9)] = 3, stiff: bool = True, colour: bool = False
    ) -> int:
        """A spring.

        Parameters
        ----------
        force
            Pulls.
        turns : int
            How often the wire goes round,
            the last turn counted.
        stiff
            Whether it resists.

        Notes
        -----
        colour
            Not a parameter's description.
        """
        return int(force) * turns * stiff * colour

    said = {param.name: param.summary for param in toys["spring"].params}

    assert said == {
        "turns": "How often the wire goes round, the last turn counted.",
        "stiff": "Whether it resists.",
        "colour": "",
    }


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_parameter_says_in_one_sentence_what_it_does(kind: str) -> None:
    for entry in REGISTRIES[kind]:
        for param in entry.params:
            assert re.fullmatch(r"[A-Z][^.]*\.", param.summary), f"{entry.name}.{param.name}: {param.summary}"
            assert 20 < len(param.summary) <= 240, f"{entry.name}.{param.name}"


def test_the_alignment_of_a_causal_mask_says_when_it_changes_nothing() -> None:
    (align,) = MASKS["causal"].params

    assert align.summary.endswith("with as many queries as keys it changes nothing.")
    masks = [build_mask([MASKS["causal"].spec(align=side)], 5, 5) for side in ("bottom-right", "top-left")]
    np.testing.assert_array_equal(*masks)


def test_a_registered_mask_works_where_masks_are_built(every_other: Entry[..., Any]) -> None:
    allowed = build_mask([every_other.spec(step=2, near=0.0, itself=False)], 4, 4)

    assert allowed.astype(int).tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]


def test_a_spec_holds_every_parameter_in_the_order_of_the_signature(every_other: Entry[..., Any]) -> None:
    chosen = every_other.spec(side="left", step=3)

    assert chosen == Spec("every_other_key", (("step", 3), ("near", 0.5), ("side", "left"), ("itself", True)))
    assert (chosen["step"], chosen["side"]) == (3, "left")
    assert MASKS.check(chosen) == chosen


def test_a_whole_number_may_come_as_a_float_and_keeps_its_own_kind(every_other: Entry[..., Any]) -> None:
    chosen = every_other.spec(step=3.0, near=1)

    assert (type(chosen["step"]), chosen["step"]) == (int, 3)
    assert (type(chosen["near"]), chosen["near"]) == (float, 1.0)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("step", 0, "`step` must be a whole number from 1 to 8 tokens; got step=0. Try 1."),
        ("step", 9, "`step` must be a whole number from 1 to 8 tokens; got step=9. Try 8."),
        ("step", 10**30, f"`step` must be a whole number from 1 to 8 tokens; got step={10**30}. Try 8."),
        ("step", "3", "`step` must be a whole number from 1 to 8 tokens; got step=3. Try 2."),
        ("step", True, "`step` must be a whole number from 1 to 8 tokens; got step=True. Try 2."),
        ("near", float("nan"), "`near` must be a number from 0 to 4; got near=nan. Try 0.5."),
        ("near", float("inf"), "`near` must be a number from 0 to 4; got near=inf. Try 4.0."),
        ("near", None, "`near` must be a number from 0 to 4; got near=None. Try 0.5."),
        ("side", "right", "`side` must be one of left or both; got side=right. Try both."),
        ("itself", 1, "`itself` must be on or off; got itself=1. Try True."),
        ("width", 3, "`width` is not a parameter of Every other; got width=3. It has itself, near, side or step."),
    ],
)
def test_a_value_outside_its_rule_is_refused_in_words(
    every_other: Entry[..., Any], name: str, value: object, rule: str
) -> None:
    with pytest.raises(SettingError) as refused:
        every_other.spec(**{name: value})

    assert str(refused.value) == rule


def test_a_fraction_is_refused_where_whole_numbers_are_counted(every_other: Entry[..., Any]) -> None:
    with pytest.raises(SettingError, match=r"`step` must be a whole number .*; got step=2\.5\. Try \d\."):
        every_other.spec(step=2.5)


@pytest.mark.parametrize("text", ["", "two", "1.5", "9", "-1", "nan", "inf", "1" + "0" * 400, "1" * 5000, "\x00", "é"])
def test_a_hostile_link_value_is_refused_in_a_sentence_of_bounded_length(
    every_other: Entry[..., Any], text: str
) -> None:
    with pytest.raises(SettingError) as refused:
        every_other.params[0].parse(text)

    assert str(refused.value).startswith("`step` must be a whole number from 1 to 8 tokens; got step=")
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(("text", "meaning"), [("1", True), ("0", False)])
def test_on_and_off_are_1_and_0_in_a_link(every_other: Entry[..., Any], text: str, meaning: bool) -> None:
    assert every_other.params[3].parse(text) is meaning
    assert format_value(meaning) == text


@pytest.mark.parametrize(
    ("text", "meaning"),
    [("on", True), ("OFF", False), ("true", True), ("False", False), ("Yes", True), ("no", False)],
)
def test_on_and_off_may_be_typed_into_a_link_as_words(every_other: Entry[..., Any], text: str, meaning: bool) -> None:
    assert every_other.params[3].parse(text) is meaning


@pytest.mark.parametrize(("text", "shown"), [("maybe", "maybe"), ("2", "2"), ("", ""), ("on" * 30, "on" * 20 + "…")])
def test_anything_else_for_on_and_off_is_refused_with_what_a_link_may_say(
    every_other: Entry[..., Any], text: str, shown: str
) -> None:
    with pytest.raises(SettingError) as refused:
        every_other.params[3].parse(text)

    assert str(refused.value) == (
        f"`itself` must be 1 or 0, on or off, true or false, yes or no; got itself={shown}. Try 1."
    )


def test_a_name_is_registered_once(every_other: Entry[..., Any]) -> None:
    with pytest.raises(UnknownNameError, match="mask 'every_other_key' is registered already"):
        MASKS.register(label="Again", group="Sparsity", source="Nobody 2021")(every_other.function)


def test_an_entry_of_an_unknown_group_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="group 'Odd' is not one of the groups of mask: Structure, Sparsity or"):
        MASKS.register(label="Odd", group="Odd", source="Nobody 2020")


def test_an_entry_without_a_sentence_for_users_is_refused() -> None:
    toys: Registry[..., Any] = Registry("toy", groups=("Plain",))

    def speechless() -> int:
        return 1

    with pytest.raises(UnknownNameError, match="toy 'speechless' needs a docstring"):
        toys.register(label="Speechless", group="Plain", source="Nobody 2020")(speechless)
    assert len(toys) == 0


@pytest.mark.parametrize(
    ("registry", "typed", "meant"),
    [(MASKS, "casual", "causal"), (MASKS, "sliding_windw", "sliding_window"), (POSITIONS, "rotery", "rotary")],
)
def test_an_unknown_name_suggests_the_close_one(registry: Registry[..., Any], typed: str, meant: str) -> None:
    with pytest.raises(UnknownNameError) as refused:
        registry[typed]

    kind = registry.kind
    assert str(refused.value) == f"`{kind}` must be a known name; got {kind}={typed}. Did you mean {meant}?"


def test_an_unknown_name_like_no_other_lists_all_names() -> None:
    with pytest.raises(UnknownNameError, match=r"Try none, sinusoidal, learned, rotary, .*, alibi, .* or grid_bias"):
        POSITIONS["?"]


@pytest.mark.parametrize("kind", REGISTRIES)
def test_entries_come_in_the_order_of_the_declared_groups(kind: str) -> None:
    registry = REGISTRIES[kind]
    order = [registry.groups.index(entry.group) for entry in registry]

    assert order == sorted(order)
    assert len(order) == len(registry) > 0
    assert registry.names() == [name for group in registry.groups for name in registry.names(group)]


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_entry_has_a_label_a_source_with_a_year_and_a_summary_of_one_sentence(kind: str) -> None:
    labels = [entry.label for entry in REGISTRIES[kind]]

    assert len(set(labels)) == len(labels)
    for entry in REGISTRIES[kind]:
        assert entry.label.strip() == entry.label != "", entry.name
        assert re.search(r"\b(19|20)\d\d\b", entry.source), f"{entry.name}: {entry.source}"
        assert re.fullmatch(r"[A-Z].*[^.]\.", entry.summary), f"{entry.name}: {entry.summary}"
        assert ". " not in entry.summary, f"{entry.name}: {entry.summary}"


@pytest.mark.parametrize("kind", REGISTRIES)
def test_the_default_of_every_parameter_is_within_its_own_range(kind: str) -> None:
    for entry in REGISTRIES[kind]:
        assert entry.spec().params == tuple((param.name, param.default) for param in entry.params)


@given(data=st.data())
@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_allowed_value_survives_its_link_form_unchanged(kind: str, data: st.DataObject) -> None:
    for entry in REGISTRIES[kind]:
        for param in entry.params:
            value = data.draw(values(param), label=f"{entry.name}.{param.name}")
            back = param.parse(format_value(value))
            assert (type(back), back) == (param.kind, value)


@given(data=st.data())
@pytest.mark.parametrize("kind", REGISTRIES)
def test_a_link_value_of_any_text_is_read_or_refused_in_words(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.text(max_size=60) | st.integers().map(str) | st.floats().map(str))
    for entry in REGISTRIES[kind]:
        for param in entry.params:
            read = read_or_refusal(param, text)
            assert str(read).startswith(f"`{param.name}` must be") or param.check(read) == read


@given(data=st.data())
@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_choice_is_hashable_and_checks_as_itself(kind: str, data: st.DataObject) -> None:
    registry = REGISTRIES[kind]
    for entry in registry:
        chosen = data.draw(specs(entry), label=entry.name)
        assert registry.check(chosen) == chosen
        assert hash(registry.check(chosen)) == hash(chosen)


@pytest.mark.parametrize(
    "forged",
    [
        Spec("sliding_window", (("window", 0),)),
        Spec("sliding_window", (("width", 3),)),
        Spec("causal", (("align", "middle"),)),
    ],
)
def test_a_forged_choice_does_not_pass_the_check(forged: Spec) -> None:
    with pytest.raises(SettingError):
        MASKS.check(forged)
