"""Numbers as people read them: three significant digits, a true minus, units behind a thin space."""

from __future__ import annotations

import math

MINUS = "\u2212"
THIN_SPACE = "\u202f"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits; a dash where it is not defined.

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
    magnitude = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - magnitude)
    if abs(rounded) >= 1e6 or abs(rounded) < 1e-4:
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        return f"{mantissa.replace('-', MINUS)}·10{str(int(exponent)).translate(RAISED)}"
    magnitude = math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(digits - 1 - magnitude, 0)}f}".replace("-", MINUS)


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


def counted(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "head"), counted(8, "head")
    ('1 head', '8 heads')
    """
    return f"{count:,}".replace(",", THIN_SPACE) + " " + (one if count == 1 else many or f"{one}s")
