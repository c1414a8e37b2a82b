"""Every measure of every head as one table, of one layer or of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import streamlit as st

from attnviz.chosen_rows import NUMBERS, Rows, chosen_rows, in_order, order_after_click, past_the_last
from attnviz.masks.lists import numbers_in
from attnviz.metrics import measure_label
from attnviz.metrics.roles import ROLES
from attnviz.named import names_in
from attnviz.numbers import counted, grouped
from attnviz.registries import METRICS
from attnviz.scenario import PARAMS, TABLE_COLUMNS, Scenario
from attnviz.tables import MeasuredLayer, as_parquet, rounded, tidy_table
from attnviz.ui import head_parts, progress, session, show
from attnviz.ui.controls import MOST_OPTIONS
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.parameters import parameter

MOST_PIXELS = 560
HEADINGS = {
    "head": "Head",
    "measure": "Measure",
    "value": "Value",
    "baseline": "Uniform",
    "unit": "Unit",
    "role": "Role",
    "layer": "Layer",
    "source": "Source",
}
WIDTHS = {
    "head": 58,
    "measure": 158,
    "value": 62,
    "baseline": 76,
    "unit": 66,
    "role": 118,
    "layer": 62,
    "source": 300,
}
"""In pixels, the same whatever the rows and with room for the arrow: a second click at the same place hits the same."""
ON_A_PHONE = ("head", "measure", "value", "baseline")
"""Columns that fit beside each other on a phone."""
ARROWS = ("↑", "↓")
ORDERS = {
    "number": ("smallest first", "largest first"),
    "place": ("first to last", "last to first"),
    "word": ("from A to Z", "from Z to A"),
}
KINDS = {"value": "number", "baseline": "number", "layer": "place", "head": "place"}


def table(scenario: Scenario, shown: Shown, _: int) -> None:
    """Every measure of every head; filters and order are the scenario's, the files have what is shown."""
    is_all = _filters(scenario, shown)
    every = _measured(shown, is_all=is_all)
    rows, notes = _asked_for(scenario, shown, is_all=is_all)
    frame = in_order(chosen_rows(every, rows), scenario.sort_by, is_descending=scenario.is_descending)
    show.sentence(_said(scenario, len(frame), len(every)), notes)
    key = f"measures_table.{scenario.sort_by}.{scenario.is_descending}"
    st.dataframe(
        _as_shown(frame, shown.count if is_all else 1),
        hide_index=True,
        height=min(MOST_PIXELS, 38 + 35 * max(len(frame), 1)),
        column_order=list(HEADINGS),
        column_config={
            name: st.column_config.NumberColumn(label, format="%.3g", width=WIDTHS[name])
            if name in NUMBERS
            else st.column_config.Column(label, width=WIDTHS[name])
            for name, label in headings(scenario).items()
        },
        key=key,
        on_select=_sorter(key, scenario),
        selection_mode="single-column",
    )
    with st.container(horizontal=True, gap="small"):
        _download("CSV", "text/csv", frame)
        _download("Parquet", "application/vnd.apache.parquet", frame)


def headings(scenario: Scenario) -> dict[str, str]:
    """What stands above each column: an arrow marks the one that is sorted by, up where values grow downwards.

    >>> headings(Scenario(sort_by="value", is_descending=True))["value"]
    'Value ↓'
    """
    arrow = ARROWS[scenario.is_descending]
    return {name: f"{label} {arrow}" if name == scenario.sort_by else label for name, label in HEADINGS.items()}


def _filters(scenario: Scenario, shown: Shown) -> bool:
    """The controls of what is shown and in what order; gives whether all layers are asked for."""
    n_heads = shown.layer.trace.n_heads
    names = METRICS.names()
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="table_filters"):
        has_layers = head_parts.scope_picker(shown)
        is_all = has_layers and scenario.scope == "all"
        if is_all:
            _picker("table_layers", "Layers shown", list(map(str, range(shown.count))), scenario.table_layers)
        if n_heads > MOST_OPTIONS:
            parameter(
                "table_heads", PARAMS["table_heads"], label="Heads shown", summary="Such as 0, 12; empty for all."
            )
        else:
            _picker("table_heads", "Heads shown", list(map(str, range(n_heads))), scenario.table_heads)
        labels = [measure_label(METRICS[name].spec()) for name in names]
        _picker("table_measures", "Measures shown", names, scenario.table_measures, labels)
        _picker("table_roles", "Roles shown", list(ROLES), scenario.table_roles)
        st.selectbox("Sort by", list(HEADINGS), key="sort_by", format_func=HEADINGS.__getitem__)
        st.toggle("Descending", key="is_descending")
    return is_all


def _picker(field: str, label: str, values: Sequence[str], text: str, labels: Sequence[str] | None = None) -> None:
    """A control of several choices for a field that holds them as text."""
    key, names = f"picked.{field}", list(labels or values)
    wanted = names_in(text)
    session.follow_choices(key, [place for place, value in enumerate(values) if value in wanted])
    st.multiselect(
        label,
        range(len(values)),
        key=key,
        format_func=names.__getitem__,
        placeholder="All",
        on_change=lambda: session.change(**{field: ", ".join(values[place] for place in sorted(session.choices(key)))}),
    )


def _asked_for(scenario: Scenario, shown: Shown, *, is_all: bool) -> tuple[Rows, list[str]]:
    """Which rows are asked for, and a sentence for the layers and the heads that there are not."""
    n_heads = shown.layer.trace.n_heads
    layers, heads = (
        sorted(set(numbers_in(text))) if text.strip() else [] for text in (scenario.table_layers, scenario.table_heads)
    )
    notes = [past_the_last("layer", layers, shown.count), past_the_last("head", heads, n_heads)]
    rows = Rows(
        tuple(layer for layer in layers if layer < shown.count and is_all),
        tuple(head for head in heads if head < n_heads),
        names_in(scenario.table_measures),
        names_in(scenario.table_roles),
    )
    return rows, [note for note in notes if note]


def _said(scenario: Scenario, n_shown: int, n_rows: int) -> str:
    if not n_shown:
        return f"None of {counted(n_rows, 'row')} has all that is asked for: take a choice away."
    which = f"All {counted(n_rows, 'row')}" if n_shown == n_rows else f"{grouped(n_shown)} of {counted(n_rows, 'row')}"
    order = ORDERS[KINDS.get(scenario.sort_by, "word")][scenario.is_descending]
    return (
        f"{which}: the mean of each measure over the queries, beside a head that is uniform over the allowed keys. "
        f"Sorted by {HEADINGS[scenario.sort_by].lower()}, {order}: click the name of a column to sort by it, "
        "again to turn the order round."
    )


def _as_shown(frame: pd.DataFrame, n_layers: int) -> pd.DataFrame:
    """The table with three digits, and of several layers with the names of heads."""
    shown = rounded(frame).loc[:, list(TABLE_COLUMNS)]
    return shown if n_layers == 1 else head_parts.with_head_names(shown, n_layers)


def _sorter(key: str, scenario: Scenario) -> Callable[[], None]:
    """A callback that sorts by the column whose heading was clicked."""

    def take() -> None:
        column = session.clicked_column(key)
        if column in TABLE_COLUMNS:
            by, is_descending = order_after_click(column, scenario.sort_by, is_descending=scenario.is_descending)
            session.change(sort_by=by, is_descending=is_descending)

    return take


def _measured(shown: Shown, *, is_all: bool) -> pd.DataFrame:
    specs = [entry.spec() for entry in METRICS]
    layers = list(enumerate(shown.run.layers)) if is_all else [(shown.index, shown.layer)]
    found = [MeasuredLayer(index, _roles(layer), specs, progress.measured_all(layer, specs)) for index, layer in layers]
    return shown.run.kept.once(("tidy table", is_all, shown.index), lambda: tidy_table(found))


def _roles(layer: Layer) -> tuple[str, ...]:
    """What each head turns out to do, whatever it was designed for."""
    return tuple(role.name for role in layer.found_roles())


def _download(kind: str, mime: str, frame: pd.DataFrame) -> None:
    def data() -> bytes:
        return as_parquet(frame) if kind == "Parquet" else frame.to_csv(index=False).encode()

    file_name = f"attnviz-measures.{kind.lower()}"
    st.download_button(f"Download {kind}", data=data, file_name=file_name, mime=mime, on_click="ignore")
