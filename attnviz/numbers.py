"""Numbers as people read them: three significant digits, halves rounded up, a true minus, units behind a thin space."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal

MINUS = "\u2212"
THIN_SPACE = "\u202f"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LEAST_SECOND = 995  # milliseconds, which two digits show as 1000
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; a dash where it is not defined.

    Notes
    -----
    A half is rounded away from zero, as browsers do it in tables and tooltips.

    >>> significant(1.234e-7)
    '1.23·10⁻⁷'
    >>> significant(0.07142857), significant(-1234.5), significant(2), significant(1), significant(float("nan"))
    ('0.0714', '−1230', '2.00', '1.00', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return f"{MINUS if value < 0 else ''}∞"
    if value == 0:
        return "0"
    exact = Decimal(float(value))
    rounded = exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), ROUND_HALF_UP)
    if not 1e-4 <= abs(float(rounded)) < 1e6:
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        return f"{mantissa.replace('-', MINUS)}·10{str(int(exponent)).translate(RAISED)}"
    return f"{rounded:.{max(digits - 1 - rounded.adjusted(), 0)}f}".replace("-", MINUS)


def duration(seconds: float) -> str:
    """A time with two significant digits, in milliseconds below one second.

    >>> print(duration(0.00123).replace(THIN_SPACE, " "), duration(1.234).replace(THIN_SPACE, " "))
    1.2 ms 1.2 s
    """
    milliseconds = 1000 * seconds
    if milliseconds < LEAST_SECOND:
        return f"{significant(milliseconds, 2)}{THIN_SPACE}ms"
    return f"{significant(max(seconds, 1.0), 2)}{THIN_SPACE}s"


def scaled(value: float, unit: str, digits: int = 2) -> str:
    """A count with a decimal prefix and its unit.

    >>> print(scaled(391_424, "FLOP").replace(THIN_SPACE, " "), scaled(999_999, "B").replace(THIN_SPACE, " "))
    390 kFLOP 1.0 MB
    """
    rounded = abs(value) if abs(value) < 1000 else abs(float(f"{value:.{digits - 1}e}"))
    factor, prefix = next(((f, p) for f, p in PREFIXES if rounded >= f), (1.0, ""))
    number = value / factor
    text = f"{number:.0f}" if number == int(number) else significant(number, digits)
    return f"{text}{THIN_SPACE}{prefix}{unit}"


def percent(share: float) -> str:
    """A share as per cent.

    >>> print(percent(0.0714).replace(THIN_SPACE, " "))
    7.14 %
    """
    return f"{significant(100 * share)}{THIN_SPACE}%"


def grouped(count: int) -> str:
    """A whole number with thin spaces between its thousands.

    >>> print(grouped(12345).replace(THIN_SPACE, " "))
    12 345
    """
    return f"{count:,}".replace(",", THIN_SPACE)


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "head"), counted(8, "head")
    ('1 head', '8 heads')
    """
    return f"{grouped(count)} {one if count == 1 else many or f'{one}s'}"
