"""Heads that are switched off: for all queries, or for some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from attnviz.errors import SettingError, broken_rule, listed
from attnviz.shapes import Context

Keeps = Bool[np.ndarray, "head #q"]
STAND_INS = ("zero", "mean")


@dataclass(frozen=True, eq=False)
class Gates:
    """Which heads are kept for which queries, and what takes the place of those that are not.

    Attributes
    ----------
    keeps
        True = the head's context goes into the output, `(head, q)`, or `(head, 1)` for all queries alike.
    stand_in
        `zero`: nothing. `mean`: the mean of the head's own context over all queries.

    Raises
    ------
    SettingError
        If there is no such stand-in.
    """

    keeps: Keeps
    stand_in: str = "zero"

    def __post_init__(self) -> None:
        check_stand_in(self.stand_in)
        self.keeps.flags.writeable = False

    @property
    def removed(self) -> tuple[int, ...]:
        """Heads that are off for every query."""
        return tuple(int(head) for head in np.flatnonzero(~self.keeps.any(axis=1)))

    def of(self, context: Context) -> Context:
        """The contexts that go into the output.

        >>> Gates(np.array([[True], [False]]), "mean").of(np.array([[[1.0], [3.0]], [[1.0], [3.0]]]))[1, :, 0]
        array([2., 2.])
        """
        keeps = self.keeps[:, :, None]
        if self.stand_in == "zero":
            return np.where(keeps, context, context.dtype.type(0))
        return np.where(keeps, context, mean_context(context))


def mean_context(context: Context) -> Float[np.ndarray, "head 1 d_value"]:
    """Mean of each head's context over the queries, `(head, 1, d_value)`, summed in float64."""
    return context.mean(axis=1, keepdims=True, dtype=np.float64).astype(context.dtype)


def check_stand_in(name: str) -> None:
    """Refuse what cannot stand in for a removed head.

    Raises
    ------
    SettingError
        With the names that can.
    """
    if name not in STAND_INS:
        raise SettingError(broken_rule("stand_in", f"must be {listed(STAND_INS)}", f"stand_in={name}", "Try zero."))


def check_removed(removed: Sequence[int], n_heads: int) -> None:
    """Refuse to remove a head that there is not.

    Raises
    ------
    SettingError
        With the head and the last that there is.
    """
    past = [head for head in removed if not 0 <= head < n_heads]
    if past:
        rule = f"must name heads from 0 to {n_heads - 1}"
        raise SettingError(broken_rule("removed", rule, f"head {past[0]}", f"Try {n_heads - 1}."))


def gates_without(removed: Sequence[int], n_heads: int, stand_in: str = "zero") -> Gates | None:
    """Gates that switch these heads off for every query; None where there are none.

    Raises
    ------
    SettingError
        If there is no such head or stand-in.

    Examples
    --------
    >>> gates_without([2], 3).removed, gates_without([], 3)
    ((2,), None)
    """
    if not removed:
        return None
    check_removed(removed, n_heads)
    keeps = np.ones((n_heads, 1), dtype=bool)
    keeps[list(removed)] = False
    return Gates(keeps, stand_in)
