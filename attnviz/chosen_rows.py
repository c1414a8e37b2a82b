"""The table of all measures: which of its rows are shown, and in what order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from attnviz.core.trace import AttentionTrace
from attnviz.metrics import measured_all, roles_of, survey
from attnviz.registries import METRICS
from attnviz.tables import MeasuredLayer, tidy_table

NUMBERS = ("value", "baseline")
IN_ORDER_OF = {"layer": ["layer"], "head": ["layer", "head"]}


@dataclass(frozen=True)
class Rows:
    """What is asked of the rows, each of these empty for all; `measures` are names of `METRICS`."""

    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    measures: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


def table_of(traces: Mapping[int, AttentionTrace]) -> pd.DataFrame:
    """Every measure of every head of some layers, by their numbers, as a tidy table."""
    specs = [entry.spec() for entry in METRICS]
    return tidy_table(
        [
            MeasuredLayer(
                layer,
                [role.name for role in roles_of(trace, survey(trace))],
                specs,
                measured_all(trace, specs),
            )
            for layer, trace in traces.items()
        ]
    )


def chosen_rows(frame: pd.DataFrame, rows: Rows) -> pd.DataFrame:
    """The rows of a tidy table that are asked for, in its own order.

    Parameters
    ----------
    frame
        What `tidy_table` gives.
    rows
        What is asked for.
    """
    for column, wanted in (
        ("layer", rows.layers),
        ("head", rows.heads),
        ("name", rows.measures),
        ("role", rows.roles),
    ):
        if wanted:
            frame = frame.loc[frame[column].isin(wanted), :]
    return frame


def in_order(frame: pd.DataFrame, column: str, *, is_descending: bool = False) -> pd.DataFrame:
    """A tidy table sorted by a column: numbers by size, words by letter, what is not defined last.

    Notes
    -----
    Rows that are the same there stay in the order of the table: layer, measure, head. Heads are in the order of their
    layers.

    Examples
    --------
    >>> frame = pd.DataFrame({"measure": ["a", "b", "c"], "value": [2.0, float("nan"), 10.0]})
    >>> in_order(frame, "value", is_descending=True)["measure"].tolist()
    ['c', 'a', 'b']
    """
    by = IN_ORDER_OF.get(column, [column])
    return frame.sort_values(by, ascending=not is_descending, kind="stable", na_position="last", key=_without_case)


def _without_case(values: pd.Series) -> pd.Series:
    return values if pd.api.types.is_numeric_dtype(values) else values.str.casefold()


def order_after_click(column: str, sort_by: str, *, is_descending: bool) -> tuple[str, bool]:
    """What a click on the heading of a column sorts by, and whether from the last to the first.

    Numbers begin with the largest; a click on the heading that is sorted by turns the order round.

    >>> order_after_click("value", "layer", is_descending=False), order_after_click("role", "role", is_descending=False)
    (('value', True), ('role', True))
    """
    return column, not is_descending if column == sort_by else column in NUMBERS


def past_the_last(noun: str, asked: Sequence[int], count: int) -> str:
    """Sentence for layers or heads that are asked for, but that there are not; empty where there are all.

    >>> past_the_last("layer", (1, 7), 6)
    'Layer 7 is past the last, 5: it is ignored.'
    """
    beyond = [place for place in asked if place >= count]
    if not beyond:
        return ""
    if len(beyond) == 1:
        return f"{noun.capitalize()} {beyond[0]} is past the last, {count - 1}: it is ignored."
    return f"{len(beyond)} of the {noun}s asked for are past the last, {count - 1}: they are ignored."
