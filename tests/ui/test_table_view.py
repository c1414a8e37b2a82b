"""The table of every measure of every head, its filters and its files; and the program that computes it again."""

from __future__ import annotations

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.metrics import measure_label
from attnviz.registries import METRICS
from tests.ui.conftest import Opener, ran
from tests.ui.drawn import sentences

VIEW = {"heads_view": "table"}


def frame(app: AppTest) -> pd.DataFrame:
    (table,) = app.dataframe
    return table.value


def test_every_measure_of_every_head_is_a_row_beside_its_baseline(open_app: Opener) -> None:
    shown = frame(open_app(VIEW, page="heads"))

    assert list(shown.columns) == ["layer", "head", "role", "measure", "value", "baseline", "unit", "source"]
    assert len(shown) == 8 * len(METRICS)
    assert set(shown["measure"]) == {measure_label(entry.spec()) for entry in METRICS}
    previous = shown[(shown["measure"] == "On the previous token") & (shown["head"] == 1)].iloc[0]
    assert previous["role"] == "previous token"
    assert (previous["value"], previous["baseline"]) == (0.995, 0.0909)


def test_two_filters_leave_the_rows_that_are_asked_for(open_app: Opener) -> None:
    app = open_app({**VIEW, "text": "one two one two one two"}, page="heads")

    ran(app.multiselect(key="shown_measures").set_value(["Gini coefficient", "Induction"]).run())
    assert len(frame(app)) == 16
    ran(app.multiselect(key="shown_roles").set_value(["broad"]).run())

    assert set(frame(app)["head"]) <= set(range(8))
    assert "rows: the mean of each measure over the queries" in sentences(app)
    assert f"of {8 * len(METRICS)} rows" in sentences(app).replace("\u202f", "")


@pytest.mark.model
def test_all_layers_of_the_trained_model_are_one_table(open_app: Opener) -> None:
    shown = frame(open_app({**VIEW, "input": "trained", "scope": "all"}, page="heads"))

    assert len(shown) == 72 * len(METRICS)
    assert sorted(set(shown["layer"])) == list(range(6))
    assert {"previous token", "sink", "one word"} <= set(shown["role"])


def test_the_files_are_csv_and_parquet(open_app: Opener) -> None:
    app = open_app(VIEW, page="heads")

    labels = [element.proto.label for element in app.get("download_button")]
    assert labels == ["Download CSV", "Download Parquet"]


@pytest.mark.parametrize(("view", "has_measure"), [("measure", True), ("table", False)])
def test_the_program_is_written_when_it_is_opened(view: str, has_measure: bool, open_app: Opener) -> None:
    app = open_app({"heads_view": view, "text": "to be"}, page="heads")
    assert [code for code in app.code if "attend(config)" in code.value] == []

    app.session_state["reproduce"] = True
    ran(app.run())

    (code,) = [code.value for code in app.code if "attend(config)" in code.value]
    assert "tokens=('to', 'be')" in code
    assert ("measured(trace, METRICS" in code) == has_measure
