"""Every measure of every head as one table, of one layer or of all."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.metrics import measure_label
from attnviz.metrics.roles import ROLES
from attnviz.numbers import counted
from attnviz.registries import METRICS
from attnviz.scenario import Scenario
from attnviz.tables import MeasuredLayer, as_parquet, rounded, tidy_table
from attnviz.ui import head_parts, progress, show
from attnviz.ui.layer import Layer, Shown

MOST_PIXELS = 560
HEADINGS = {
    "layer": "Layer",
    "head": "Head",
    "role": "Role",
    "measure": "Measure",
    "value": "Value",
    "baseline": "Uniform",
    "unit": "Unit",
    "source": "Source",
}


def table(scenario: Scenario, shown: Shown, _: int) -> None:
    """Every measure of every head; a click on a heading sorts, two filters choose, the files have what is shown."""
    columns = st.columns(3)
    with columns[0]:
        labels = [measure_label(entry.spec()) for entry in METRICS]
        measures = st.multiselect("Measures", labels, key="shown_measures", placeholder="All")
    with columns[1]:
        roles = st.multiselect("Roles", ROLES, key="shown_roles", placeholder="All")
    with columns[2]:
        has_layers = head_parts.scope_picker(shown)
    every = _measured(shown, is_all=has_layers and scenario.scope == "all")
    frame = every.loc[every["measure"].isin(measures or labels) & (every["role"].isin(roles) | (not roles)), :]
    show.sentence(
        f"{counted(len(frame), 'row')} of {counted(len(every), 'row')}: the mean of each measure over the queries, "
        "beside a head that is uniform over the allowed keys. Click a heading to sort."
    )
    numbers = {name: st.column_config.NumberColumn(HEADINGS[name], format="plain") for name in ("value", "baseline")}
    st.dataframe(
        rounded(frame).drop(columns="name"),
        hide_index=True,
        height=min(MOST_PIXELS, 38 + 35 * max(len(frame), 1)),
        column_config={name: numbers.get(name, label) for name, label in HEADINGS.items()},
        key="measures_table",
    )
    with st.container(horizontal=True, gap="small"):
        _download("CSV", "text/csv", frame)
        _download("Parquet", "application/vnd.apache.parquet", frame)


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
