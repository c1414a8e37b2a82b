"""Numbers as they are shown, and whether equations between them add up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.steps import Equation, Number
from attnviz.steps.equation import (
    CAP,
    DROPPED,
    EXPONENTIAL,
    KEPT,
    NORMALISED,
    PRODUCT,
    QUOTIENT,
    SUM,
    TURNED_FIRST,
    TURNED_SECOND,
    exact,
    number,
    numbers,
)

finite = st.floats(-1e6, 1e6, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (0.5, "0.5000"),
        (-0.70710678, "-0.7071"),
        (123.456, "123.5"),
        (1.5e-9, r"1.500 \cdot 10^{-9}"),
        (1e-40, "0"),
    ],
)
def test_a_number_has_four_significant_digits(value: float, shown: str) -> None:
    assert number(value).latex == shown


def test_a_number_that_is_not_quite_0_is_not_shown_as_0() -> None:
    assert [one.latex for one in numbers([1.0, 1e-9, 0.0])] == ["1.000", "0.000", "0"]
    assert Number(-math.inf, 0).latex == r"-\infty"


@given(st.lists(finite, min_size=1, max_size=8))
def test_numbers_that_are_added_have_the_same_decimals_and_are_rounded_to_them(values: list[float]) -> None:
    made = numbers(values)

    assert len({one.decimals for one in made}) == 1
    for value, one in zip(values, made, strict=True):
        assert abs(one.shown - value) <= 0.5000001 * one.unit


def test_a_chosen_number_is_shown_as_it_was_chosen() -> None:
    assert [exact(value).latex for value in (5.0, 0.25, 120.0, 0.0)] == ["5", "0.25", "120", "0"]


@pytest.mark.parametrize(
    ("operation", "inputs", "expected"),
    [
        (SUM, [1.0, -2.0, 0.5], -0.5),
        (PRODUCT, [2.0, -3.0], -6.0),
        (QUOTIENT, [1.0, 4.0], 0.25),
        (QUOTIENT, [1.0, 0.0], 0.0),
        (CAP, [3.0, 2.0], 2 * math.tanh(1.5)),
        (EXPONENTIAL, [1.0, 3.0], math.exp(-2)),
        (TURNED_FIRST, [1.0, 2.0, 0.3, 1.5], 1.5 * (math.cos(0.3) - 2 * math.sin(0.3))),
        (TURNED_SECOND, [1.0, 2.0, 0.3, 1.0], math.sin(0.3) + 2 * math.cos(0.3)),
        (NORMALISED, [3.0, 1.0, 4.0, 2.0, 0.5], 1.5),
        (KEPT, [0.4, 0.2], 0.5),
        (DROPPED, [0.4, 0.2], 0.0),
    ],
)
def test_every_operation_computes_what_it_writes(operation, inputs: list[float], expected: float) -> None:
    assert operation.compute(inputs) == pytest.approx(expected, abs=1e-12)
    assert all(str(abs(value)) in operation.written([str(value) for value in inputs]) for value in inputs[:1])


def test_an_equation_says_when_the_shown_numbers_do_not_add_up() -> None:
    thirds = numbers([1 / 3, 1 / 3, 1 / 3, 1.0])

    equation = Equation("s", "a + b + c", SUM, thirds[:-1], thirds[-1])

    assert not equation.adds_up
    assert equation.latex.endswith(
        r"&\approx 1.000 \\ &\quad \footnotesize\text{(rounded; those shown give $0.999$)} \end{aligned}"
    )


def test_an_equation_whose_shown_numbers_add_up_has_an_equals_sign() -> None:
    equation = Equation("s", "a + b", SUM, (Number(0.25, 2), Number(-1.0, 2)), Number(-0.75, 2))

    assert equation.adds_up
    assert equation.latex == r"\begin{aligned} s &= a + b \\ &= 0.25 - 1.00 \\ &= -0.75 \end{aligned}"


def test_named_terms_are_written_in_lines_of_three_with_their_signs() -> None:
    inputs = numbers([1.0, -2.0, 3.0, -4.0])

    equation = Equation("s", "x", SUM, inputs, number(-2.0), ("key 0", "key 1", "key 2", "3 more"))

    assert equation.filled == [
        r"\underbrace{1.000}_{\text{key 0}} - \underbrace{2.000}_{\text{key 1}} + \underbrace{3.000}_{\text{key 2}}",
        r"- \underbrace{4.000}_{\text{3 more}}",
    ]
