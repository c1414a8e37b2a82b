"""A mask that a person writes as a rule in q, k, n and h."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from jaxtyping import Int

from attnviz.masks.reading import LONGEST_RULE, Step, check_rule, read_rule
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Text
from attnviz.shapes import HeadIndex, HeadMask, KIndex, QIndex

EXAMPLES = (
    "q == k",
    "(k <= q) & (k % 3 == 0)",
    "0 <= q - k < 4 + h",
    "(q // 4 == k // 4) | ~(k < n - 2)",
    "not (k > q or q - k >= 2 * (h + 1))",
)


def divided(left: Int[np.ndarray, "..."], right: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
    """Whole part of left / right, rounded down; 0 where right is 0.

    >>> divided(np.array([7, -7, 7]), np.array([2, 2, 0])).tolist()
    [3, -4, 0]
    """
    return np.where(right == 0, 0, left // np.where(right == 0, 1, right))


def remainder(left: Int[np.ndarray, "..."], right: Int[np.ndarray, "..."]) -> Int[np.ndarray, "..."]:
    """What is left after dividing left by right, with the sign of right; 0 where right is 0.

    >>> remainder(np.array([7, -7, 7]), np.array([2, 2, 0])).tolist()
    [1, 1, 0]
    """
    return np.where(right == 0, 0, left % np.where(right == 0, 1, right))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "*": np.multiply,
    "//": divided,
    "%": remainder,
    "&": np.logical_and,
    "|": np.logical_or,
    "~": np.logical_not,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
}


def evaluate(step: Step, names: Mapping[str, np.ndarray]) -> np.ndarray:
    """The value of a step, where q, k, n and h have these values."""
    if step.symbol in names:
        return names[step.symbol]
    if not step.parts:
        return np.array(step.symbol == "True") if step.most is None else np.array(step.most)
    parts = [evaluate(part, names) for part in step.parts]
    if step.symbol == "-":
        return np.asarray(np.subtract(*parts) if len(parts) == 2 else np.negative(*parts))
    operation = OPERATIONS[step.symbol]
    return np.asarray(operation(*parts) if len(parts) == 1 else reduce(operation, parts))


def written(step: Step) -> str:
    """A step as an expression for NumPy arrays, in which every inner operation has parentheses.

    >>> written(read_rule("0 <= q - k < 4"))
    '(0 <= (q - k)) & ((q - k) < 4)'
    """
    if not step.parts:
        return step.symbol
    if step.symbol == "~":
        return f"np.logical_not({written(step.parts[0])})"
    if _may_divide_by_zero(step):
        name = "divided" if step.symbol == "//" else "remainder"
        return f"{name}({', '.join(written(part) for part in step.parts)})"
    bare = [not part.parts or part.symbol == "~" or _may_divide_by_zero(part) for part in step.parts]
    parts = [written(part) if is_bare else f"({written(part)})" for part, is_bare in zip(step.parts, bare, strict=True)]
    return f"{step.symbol}{parts[0]}" if len(parts) == 1 else f" {step.symbol} ".join(parts)


def _may_divide_by_zero(step: Step) -> bool:
    return step.symbol in ("//", "%") and (step.parts[1].symbol == "0" or not step.parts[1].symbol.isdigit())


@MASKS.register(label="Rule", group="Structure", source="Dong et al. 2024, section 3")
def rule(
    q: QIndex,
    k: KIndex,
    h: HeadIndex,
    *,
    rule: Annotated[str, Text(LONGEST_RULE, check_rule, EXAMPLES)] = "(k <= q) & ((q - k < 4) | (k < 2))",
) -> HeadMask:
    """A query may attend to the keys for which your own rule is true.

    Parameters
    ----------
    rule
        A comparison of q (place of the query), k (place of the key), n (number of keys) and h (head), all counted
        from 0, with + - * // %, and more of them joined by & | ~ in parentheses.

    Notes
    -----
    With fewer queries than keys q is counted among the keys, q + n_k - n_q. Division rounds down; anything divided by
    0, and what is left of it, is 0.
    """
    names = {"q": q, "k": k, "n": np.array(k.shape[1]), "h": h}
    allowed = evaluate(read_rule(rule), names)
    n_heads = allowed.shape[0] if allowed.ndim == 3 else 1
    return np.broadcast_to(allowed, (n_heads, q.shape[0], k.shape[1])).copy()
