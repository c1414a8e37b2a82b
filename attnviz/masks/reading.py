"""Reads a rule in q, k, n and h into steps of arithmetic; nothing of it is ever run as Python.

A rule is read by Python's own parser and then translated node by node; what is not listed here is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from attnviz.errors import SettingError, broken_rule

LONGEST_RULE = 200
DEEPEST = 32
LARGEST_NUMBER = 1_000_000
LARGEST_INDEX = 1 << 16
LARGEST_RESULT = 1 << 62
NAMES = ("q", "k", "n", "h")
EXAMPLE = "(k <= q) & (q - k < 4)"

FOREIGN = re.compile(r"[^A-Za-z0-9_ +\-*/%&|~<>=!()]|[0-9][0-9_]*[A-Za-z_]")
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
JOINS: dict[type[ast.operator] | type[ast.boolop], str] = {ast.BitAnd: "&", ast.BitOr: "|", ast.And: "&", ast.Or: "|"}
SIGNS: dict[type[ast.unaryop], str] = {ast.Invert: "~", ast.Not: "~", ast.USub: "-", ast.UAdd: "+"}


@dataclass(frozen=True)
class Step:
    """One operation of a rule, or a name or a constant.

    Attributes
    ----------
    symbol
        The operation as it is written, or the name or constant itself.
    parts
        What it works on; nothing for a name or a constant.
    most
        The largest size that the number can have; None where it is true or false.
    """

    symbol: str
    parts: tuple[Step, ...] = ()
    most: int | None = None


@lru_cache(maxsize=256)
def read_rule(text: str) -> Step:
    """The steps of a rule.

    Raises
    ------
    SettingError
        If it is not a rule, with the place and the way out.

    Examples
    --------
    >>> read_rule("k <= q").symbol
    '<='
    >>> read_rule("k <= x")
    Traceback (most recent call last):
    ...
    attnviz.errors.SettingError: `rule` must be true or false for each q and k; got "x" at column 6, a name it does not
    know. Use q, k, n or h.
    """
    foreign = FOREIGN.search(text)
    if foreign:
        raise _refused(text, foreign.start(), foreign.end(), "which no rule has", f"Try {EXAMPLE}.")
    if not text.strip():
        raise _refused(text, 0, 0, "where a comparison should be", f"Try {EXAMPLE}.")
    spaces = len(text) - len(text.lstrip())
    try:
        tree = ast.parse(text.lstrip(), mode="eval")
    except SyntaxError as error:
        start = spaces + max((error.offset or 1) - 1, 0)
        raise _refused(text, start, len(text), "where it cannot be read on", f"Try {EXAMPLE}.") from None
    except (RecursionError, MemoryError):
        raise _refused(text, 0, len(text), "which is nested too deep", "Split it up.") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset += spaces
            node.end_col_offset = (node.end_col_offset or 0) + spaces
    return _truth(tree.body, text, 0)


def check_rule(text: str) -> None:
    """Refuse a text that is not a rule.

    Raises
    ------
    SettingError
        With the place and the way out.
    """
    read_rule(text)


def _refused(text: str, start: int, end: int, why: str, way_out: str) -> SettingError:
    piece = text[start:end]
    shown = piece[:20] if piece.isprintable() else ascii(piece[:20])[1:-1]
    found = f'"{shown}{"…" if len(piece) > 20 else ""}"' if piece else "the end"
    return SettingError(
        broken_rule("rule", "must be true or false for each q and k", f"{found} at column {start + 1}, {why}", way_out)
    )


def _at(node: ast.expr, text: str, why: str, way_out: str) -> SettingError:
    return _refused(text, node.col_offset, node.end_col_offset or 0, why, way_out)


def _step(node: ast.expr, text: str, depth: int) -> Step:
    if isinstance(node, ast.Constant):
        return _constant(node, text)
    if isinstance(node, ast.Name):
        return _name(node, text)
    reader = READERS.get(type(node))
    if reader is None:
        raise _at(node, text, "which no rule has", f"Try {EXAMPLE}.")
    if depth > DEEPEST:
        raise _at(node, text, "which is nested too deep", "Split it up.")
    return reader(node, text, depth + 1)


def _number(node: ast.expr, text: str, depth: int) -> tuple[Step, int]:
    step = _step(node, text, depth)
    if step.most is None:
        raise _at(node, text, "where a number should be", "Join comparisons with & or |, each in parentheses.")
    return step, step.most


def _truth(node: ast.expr, text: str, depth: int) -> Step:
    step = _step(node, text, depth)
    if step.most is not None:
        way_out = "Write each comparison in parentheses, as in (k <= q) & (k < 2)."
        raise _at(node, text, "a number where a comparison should be", way_out)
    return step


def _constant(node: ast.Constant, text: str) -> Step:
    value: object = node.value
    if isinstance(value, bool):
        return Step(str(value))
    if not isinstance(value, int):
        raise _at(node, text, "which no rule has", f"Try {EXAMPLE}.")
    if value > LARGEST_NUMBER:
        raise _at(node, text, f"a number above {LARGEST_NUMBER:,}", "Use a smaller one.")
    return Step(str(value), most=value)


def _name(node: ast.Name, text: str) -> Step:
    if node.id not in NAMES:
        raise _at(node, text, "a name it does not know", "Use q, k, n or h.")
    return Step(node.id, most=LARGEST_INDEX)


def _sign(node: ast.UnaryOp, text: str, depth: int) -> Step:
    symbol = SIGNS[type(node.op)]
    if symbol == "~":
        return Step("~", (_truth(node.operand, text, depth),))
    part, most = _number(node.operand, text, depth)
    return Step("-", (part,), most) if symbol == "-" else part


def _two(node: ast.BinOp, text: str, depth: int) -> Step:
    kind = type(node.op)
    if kind in JOINS:
        return Step(JOINS[kind], tuple(_truth(side, text, depth) for side in (node.left, node.right)))
    if kind not in ARITHMETIC:
        raise _at(node, text, "an operation it does not know", "Use + - * // % & | or ~.")
    left, most_left = _number(node.left, text, depth)
    right, most_right = _number(node.right, text, depth)
    symbol = ARITHMETIC[kind]
    most = {"*": most_left * most_right, "//": most_left, "%": most_right}.get(symbol, most_left + most_right)
    if most > LARGEST_RESULT:
        raise _at(node, text, "a number that can grow too large", "Multiply fewer numbers.")
    return Step(symbol, (left, right), most)


def _joined(node: ast.BoolOp, text: str, depth: int) -> Step:
    return Step(JOINS[type(node.op)], tuple(_truth(value, text, depth) for value in node.values))


def _compared(node: ast.Compare, text: str, depth: int) -> Step:
    if any(type(sign) not in COMPARISONS for sign in node.ops):
        raise _at(node, text, "a comparison it does not know", "Use < <= > >= == or !=.")
    sides = [_number(side, text, depth)[0] for side in (node.left, *node.comparators)]
    pairs = zip(node.ops, sides, sides[1:], strict=False)
    steps = tuple(Step(COMPARISONS[type(sign)], (left, right)) for sign, left, right in pairs)
    return steps[0] if len(steps) == 1 else Step("&", steps)


READERS: dict[type[ast.expr], Callable[[Any, str, int], Step]] = {
    ast.UnaryOp: _sign,
    ast.BinOp: _two,
    ast.BoolOp: _joined,
    ast.Compare: _compared,
}
