"""What position methods do past the trained length, as sentences computed from the data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attnviz.numbers import counted, grouped, significant
from attnviz.positions.beyond import BiasBeyond, FarScores

ROUNDING = 1e-9


def nothing_beyond(name: str) -> str:
    """What a method without any effect does past the trained length."""
    return f"{name}: nothing depends on the position, so nothing is new past the trained length."


def added_beyond(name: str, cosines: np.ndarray, trained_length: int) -> str:
    """How near what is added past the trained length is to what training has seen."""
    return (
        f"{name}: the vectors added from position {grouped(trained_length)} on were never seen; the nearest one seen "
        f"has the cosine {significant(float(cosines.mean()))} on average, {significant(float(cosines.min()))} at worst."
    )


def ends_beyond(name: str, n_places: int) -> str:
    """A method that has a vector for so many places only."""
    return f"{name}: it has vectors for {grouped(n_places)} positions only; a longer text must be cut."


def turned_beyond(name: str, n_new: int, n_pairs: int, trained_length: int) -> str:
    """How many pairs get to angles that training has not seen."""
    if not n_new:
        return f"{name}: no pair of columns gets to an angle that it has not met within {_tokens(trained_length)}."
    return (
        f"{name}: {n_new} of {counted(n_pairs, 'pair')} of columns {'does' if n_new == 1 else 'do'} not complete a "
        f"turn within {_tokens(trained_length)}, so beyond {'it gets' if n_new == 1 else 'they get'} to angles never "
        "seen."
    )


def bias_past(name: str, found: BiasBeyond, trained_length: int, length: int, head: int) -> str:
    """Whether the bias goes on as before, stays, or does something else."""
    goes = "changes unevenly"
    if found.same_from == trained_length:
        goes = "stays the same: all these distances share one number"
    elif found.step is not None:
        goes = f"goes on in a straight line, {significant(found.step)} a token"
    elif found.same_from is not None:
        goes += f", and from distance {grouped(found.same_from)} on all share one number"
    return (
        f"{name}: the bias of head {head}, less that of the own position, is {significant(found.at_length)} at "
        f"distance {grouped(trained_length)} and {significant(found.at_end)} at {grouped(length)}; between them it "
        f"{goes}."
    )


def _tokens(count: int) -> str:
    return counted(count, "token")


def beyond_alt(found: Mapping[str, FarScores], trained_length: int) -> str:
    """Alt text of the curves past the trained length."""
    words = "; ".join(
        f"{name} falls to {significant(float(one.scores.min()))} and ends at {significant(float(one.scores[-1]))}"
        for name, one in found.items()
    )
    return f"Lines of the score against distance, a marker at {_tokens(trained_length)}: {words}."
