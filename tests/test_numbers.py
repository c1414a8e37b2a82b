"""Numbers as people read them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.numbers import MINUS, THIN_SPACE, counted, duration, percent, scaled, significant

SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
reals = st.floats(-1e300, 1e300, allow_subnormal=False)


def read(text: str) -> float:
    """The number that a person reads."""
    mantissa, _, exponent = text.replace(MINUS, "-").partition("·10")
    return float(f"{mantissa}e{exponent.translate(SUPERSCRIPT) or '0'}")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1.00"),
        (0.0714285, "0.0714"),
        (12.345, "12.3"),
        (1234.5, "1230"),
        (9.999, "10.0"),
        (0.9999, "1.00"),
        (-2.5, "−2.50"),
        (0.3125, "0.313"),
        (0.8125, "0.813"),
        (1.125, "1.13"),
        (-1.125, "−1.13"),
        (0.03125, "0.0313"),
        (999_999.0, "1.00·10⁶"),
        (0.0001, "0.000100"),
        (0.00001234, "1.23·10⁻⁵"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_a_number_has_three_significant_digits(value: float | None, text: str) -> None:
    assert significant(value) == text


@given(reals, st.integers(1, 6))
def test_what_is_read_is_the_number_to_so_many_digits(value: float, digits: int) -> None:
    assert read(significant(value, digits)) == pytest.approx(value, rel=0.5001 * 10 ** (1 - digits), abs=0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.000_45, "0.45 ms"),
        (0.0123, "12 ms"),
        (0.994, "990 ms"),
        (0.996, "1.0 s"),
        (1.0, "1.0 s"),
        (1.234, "1.2 s"),
        (61.0, "61 s"),
    ],
)
def test_a_time_is_in_seconds_from_a_thousand_milliseconds_on(seconds: float, text: str) -> None:
    assert duration(seconds) == text.replace(" ", THIN_SPACE)


@given(reals)
def test_a_number_has_a_true_minus_and_no_programmers_exponent(value: float) -> None:
    assert re.fullmatch(r"−?[0-9]+(\.[0-9]+)?(·10⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", significant(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (12, "12 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1536, "1.5 kB"),
        (391_424, "390 kB"),
        (999_999, "1.0 MB"),
        (2_000_000, "2 MB"),
        (3.2e9, "3.2 GB"),
        (7e12, "7 TB"),
    ],
)
def test_a_count_has_a_decimal_prefix_and_its_unit_behind_a_thin_space(value: float, text: str) -> None:
    assert scaled(value, "B") == text.replace(" ", THIN_SPACE)


@pytest.mark.parametrize(("share", "text"), [(0.0, "0"), (0.0714285, "7.14"), (0.5, "50.0"), (1.0, "100")])
def test_a_share_is_said_as_per_cent(share: float, text: str) -> None:
    assert percent(share) == f"{text}{THIN_SPACE}%"


def test_a_count_agrees_with_its_noun_and_has_groups_of_three_digits() -> None:
    assert counted(1, "head") == "1 head"
    assert counted(0, "head") == "0 heads"
    assert counted(2, "query", "queries") == "2 queries"
    assert counted(5000, "word") == f"5{THIN_SPACE}000 words"
