"""Numbers as they are shown, and equations between them that a reader can check."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

DIGITS = 4
MOST_DECIMALS = 30
PLAIN_DECIMALS = 7
TERMS_A_LINE = 3


@dataclass(frozen=True)
class Number:
    """A number and how many decimals of it are shown.

    >>> Number(-0.70710678, 4).shown, Number(-0.70710678, 4).latex
    (-0.7071, '-0.7071')
    >>> Number(1.234e-9, 12).latex
    '1.234 \\\\cdot 10^{-9}'
    """

    value: float
    decimals: int

    @property
    def _rounded(self) -> Decimal:
        return Decimal(self.value).quantize(Decimal(1).scaleb(-self.decimals), ROUND_HALF_UP)

    @property
    def unit(self) -> float:
        """What one step of the last digit is worth."""
        return 10.0**-self.decimals

    @property
    def shown(self) -> float:
        """The number that is on screen."""
        if math.isinf(self.value):
            return self.value
        return float(self._rounded)

    @property
    def latex(self) -> str:
        """The number as it is on screen, in LaTeX; of a number that is not quite 0 the decimals are shown."""
        if math.isinf(self.value):
            return r"-\infty" if self.value < 0 else r"\infty"
        rounded = self._rounded
        if rounded == 0:
            return f"{abs(rounded):f}" if self.value and self.decimals <= PLAIN_DECIMALS else "0"
        if self.decimals <= PLAIN_DECIMALS:
            return f"{rounded:f}"
        exponent = rounded.adjusted()
        mantissa = rounded.scaleb(-exponent)
        return rf"{mantissa:f} \cdot 10^{{{exponent}}}"


def number(value: float, digits: int = DIGITS) -> Number:
    """A number with so many significant digits, at most 30 decimals."""
    return numbers([value], digits)[0]


def exact(value: float) -> Number:
    """A number that was chosen, with the decimals that it has.

    >>> exact(5.0).latex, exact(0.25).latex
    ('5', '0.25')
    """
    digits = Decimal(f"{value:.6g}").normalize().as_tuple().exponent
    return Number(value, max(-int(digits), 0))


def numbers(values: Sequence[float], digits: int = DIGITS) -> tuple[Number, ...]:
    """Numbers with the same decimals, so many significant digits for the largest, so that they can be added up."""
    largest = max((abs(value) for value in values), default=0.0)
    size = math.floor(math.log10(largest)) if largest > 0 else 0
    decimals = min(max(digits - 1 - size, 0), MOST_DECIMALS)
    return tuple(Number(float(value), decimals) for value in values)


@dataclass(frozen=True)
class Operation:
    """What an equation does with its numbers, and how that is written in LaTeX."""

    compute: Callable[[Sequence[float]], float]
    written: Callable[[Sequence[str]], str]


def _signed_sum(terms: Sequence[str]) -> str:
    first, *rest = terms
    return first + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in rest)


def _named_sum(terms: Sequence[str], names: Sequence[str]) -> list[str]:
    """The terms with what they are called below them, in lines of a few."""
    parts: list[str] = []
    for term, name in zip(terms, names, strict=True):
        sign = " - " if term.startswith("-") else " + " if parts else ""
        parts.append(rf"{sign}\underbrace{{{term.removeprefix('-')}}}_{{\text{{{name}}}}}")
    return ["".join(parts[start : start + TERMS_A_LINE]).strip() for start in range(0, len(parts), TERMS_A_LINE)]


def _in_brackets(term: str) -> str:
    return f"({term})" if term.startswith("-") else term


def _product(terms: Sequence[str]) -> str:
    return r" \cdot ".join([terms[0], *map(_in_brackets, terms[1:])])


def _minus(a: str, b: str) -> str:
    return f"{a} - {_in_brackets(b)}"


def _quotient(n: Sequence[float]) -> float:
    return n[0] / n[1] if n[1] else 0.0


def _capped(n: Sequence[float]) -> float:
    return n[1] * math.tanh(n[0] / n[1])


def _exponential(n: Sequence[float]) -> float:
    return math.exp(n[0] - n[1])


def _turned_first(n: Sequence[float]) -> float:
    return n[3] * (n[0] * math.cos(n[2]) - n[1] * math.sin(n[2]))


def _turned_second(n: Sequence[float]) -> float:
    return n[3] * (n[0] * math.sin(n[2]) + n[1] * math.cos(n[2]))


def _normalised(n: Sequence[float]) -> float:
    return n[3] * (n[0] - n[1]) / n[2] + n[4]


def _kept(n: Sequence[float]) -> float:
    return n[0] / (1 - n[1])


def _nothing(n: Sequence[float]) -> float:
    del n
    return 0.0


def _forbidden(n: Sequence[float]) -> float:
    del n
    return -math.inf


def _zero(t: Sequence[str]) -> str:
    del t
    return "0"


def _dropped(n: Sequence[float]) -> float:
    return 0.0 * n[0]


def _replaced(n: Sequence[float]) -> float:
    return 0.0 * n[0] + n[1]


def _turned(t: Sequence[str], names: tuple[str, str], sign: str) -> str:
    angle = _in_brackets(t[2])
    plain = rf"{_in_brackets(t[0])} {names[0]} {angle} {sign} {_in_brackets(t[1])} {names[1]} {angle}"
    return plain if float(t[3]) == 1 else rf"{t[3]}\,({plain})"


SUM = Operation(math.fsum, _signed_sum)
PRODUCT = Operation(math.prod, _product)
QUOTIENT = Operation(_quotient, lambda t: rf"\frac{{{t[0]}}}{{{t[1]}}}")
CAP = Operation(_capped, lambda t: rf"{t[1]} \tanh\left(\frac{{{t[0]}}}{{{t[1]}}}\right)")
EXPONENTIAL = Operation(_exponential, lambda t: rf"e^{{{_minus(t[0], t[1])}}}")
TURNED_FIRST = Operation(_turned_first, lambda t: _turned(t, (r"\cos", r"\sin"), "-"))
TURNED_SECOND = Operation(_turned_second, lambda t: _turned(t, (r"\sin", r"\cos"), "+"))
NORMALISED = Operation(
    _normalised, lambda t: rf"{t[3]} \cdot \frac{{{_minus(t[0], t[1])}}}{{{t[2]}}} + {_in_brackets(t[4])}"
)
KEPT = Operation(_kept, lambda t: rf"\frac{{{t[0]}}}{{1 - {t[1]}}}")
FORBIDDEN = Operation(_nothing, _zero)
MASKED = Operation(_forbidden, lambda t: rf"{t[0]} - \infty")
REPLACED = Operation(_replaced, lambda t: rf"0 \cdot {_in_brackets(t[0])} + {_in_brackets(t[1])}")
DROPPED = Operation(_dropped, lambda t: rf"0 \cdot {t[0]}")


@dataclass(frozen=True)
class Equation:
    """A formula with its numbers filled in.

    Attributes
    ----------
    symbol, formula
        Both sides in letters, in LaTeX.
    operation, inputs
        What is done with which numbers.
    result
        What comes out, computed from the exact numbers.
    names
        What is written below each term of a sum.
    """

    symbol: str
    formula: str
    operation: Operation
    inputs: tuple[Number, ...]
    result: Number
    names: tuple[str, ...] = ()

    @property
    def from_shown(self) -> Number:
        """What comes out of the numbers as they are shown."""
        return Number(self.operation.compute([term.shown for term in self.inputs]), self.result.decimals)

    @property
    def adds_up(self) -> bool:
        """Whether the shown numbers give the shown result."""
        return self.from_shown.shown == self.result.shown

    @property
    def filled(self) -> list[str]:
        """The numbers in place of the letters, in lines of LaTeX."""
        texts = [term.latex for term in self.inputs]
        return _named_sum(texts, self.names) if self.names else [self.operation.written(texts)]

    @property
    def latex(self) -> str:
        """Letters, numbers and result, one below the other."""
        if not self.inputs:
            return rf"{self.symbol} = {self.formula} = {self.result.latex}"
        sign = "=" if self.adds_up else r"\approx"
        rounded = rf"\footnotesize\text{{(rounded; those shown give ${self.from_shown.latex}$)}}"
        lines = [
            rf"{self.symbol} &= {self.formula}",
            rf"&= {self.filled[0]}",
            *(rf"&\quad {line}" for line in self.filled[1:]),
            rf"&{sign} {self.result.latex}",
            *([] if self.adds_up else [rf"&\quad {rounded}"]),
        ]
        return r"\begin{aligned} " + r" \\ ".join(lines) + r" \end{aligned}"
