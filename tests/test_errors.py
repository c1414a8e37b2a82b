"""Messages that people can act on."""

from __future__ import annotations

import pytest

from attnviz import AttnvizError
from attnviz.errors import (
    ModelUnavailableError,
    NothingYetError,
    SettingError,
    UnknownNameError,
    broken_rule,
    listed,
    offered,
)


@pytest.mark.parametrize("kind", [SettingError, UnknownNameError, NothingYetError, ModelUnavailableError])
def test_every_kind_belongs_to_the_one_family_and_is_a_value_error(kind: type[Exception]) -> None:
    assert issubclass(kind, AttnvizError)
    assert issubclass(kind, ValueError)


def test_a_broken_rule_says_field_rule_value_and_way_out_in_this_order() -> None:
    message = broken_rule("width", "must be even", "width=3", "Try 2 or 4.")

    assert message == "`width` must be even; got width=3. Try 2 or 4."


@pytest.mark.parametrize(
    ("values", "sentence"),
    [((), ""), ((5,), "5"), ((1, 2), "1 or 2"), (("a", "b", "c"), "a, b or c"), ([1, 2, 4, 8], "1, 2, 4 or 8")],
)
def test_values_are_listed_as_a_person_would(values: tuple[object, ...], sentence: str) -> None:
    assert listed(values) == sentence


def test_of_many_names_three_are_offered() -> None:
    assert offered(("a", "b", "c")) == "a, b or c"
    assert offered(("a", "b", "c", "d")) == "a, b, c, …"
