"""The table of every measure of every head, its filters and its files; and the program that computes it again."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.metrics import measure_label
from attnviz.metrics.roles import ROLES
from attnviz.registries import METRICS
from attnviz.ui import head_table
from tests.ui.conftest import Opener, link_of, ran, toasts
from tests.ui.drawn import sentences

VIEW = {"heads_view": "table"}


def frame(app: AppTest) -> pd.DataFrame:
    (table,) = app.dataframe
    return table.value


def place(name: str) -> int:
    return METRICS.names().index(name)


def said(app: AppTest) -> str:
    return sentences(app).replace("\u202f", "")


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

    ran(app.multiselect(key="picked.table_measures").set_value([place("gini"), place("induction")]).run())
    assert len(frame(app)) == 16
    ran(app.multiselect(key="picked.table_roles").set_value([ROLES.index("broad")]).run())

    shown = frame(app)
    assert set(shown["role"]) == {"broad"}
    assert set(shown["measure"]) == {"Gini coefficient", "Induction"}
    assert f"{len(shown)} of {8 * len(METRICS)} rows: the mean of each measure over the queries" in said(app)
    assert link_of(app) == {
        **VIEW,
        "text": "one two one two one two",
        "table_measures": "gini, induction",
        "table_roles": "broad",
    }


def test_a_new_browser_gets_the_same_rows_in_the_same_order(open_app: Opener) -> None:
    first = open_app(VIEW, page="heads")
    ran(first.multiselect(key="picked.table_heads").set_value([2, 5]).run())
    ran(first.multiselect(key="picked.table_measures").set_value([place("entropy"), place("mean_distance")]).run())
    ran(first.selectbox(key="sort_by").set_value("value").run())
    ran(first.toggle(key="is_descending").set_value(True).run())

    link = link_of(first)
    second = open_app(link, page="heads", cold=True)

    assert link == {
        **VIEW,
        "table_heads": "2, 5",
        "table_measures": "entropy, mean_distance",
        "sort_by": "value",
        "is_descending": "1",
    }
    assert link_of(second) == link
    pd.testing.assert_frame_equal(frame(second), frame(first))
    assert frame(second)["head"].tolist() == [5, 5, 2, 2]
    assert second.multiselect(key="picked.table_heads").value == [2, 5]
    assert "Sorted by value, largest first" in said(second)


@pytest.mark.parametrize("column", ["layer", "head", "role", "measure", "value", "baseline", "unit", "source"])
@pytest.mark.parametrize("is_descending", [False, True])
def test_a_link_sorts_by_any_column_numbers_by_size_and_words_by_letter(
    column: str, is_descending: bool, open_app: Opener
) -> None:
    app = open_app({**VIEW, "n_heads": "16", "sort_by": column, "is_descending": str(int(is_descending))}, page="heads")

    shown = frame(app)[column].dropna().tolist()

    ordered = sorted(shown, key=lambda value: value.casefold() if isinstance(value, str) else value)
    assert shown == (ordered[::-1] if is_descending else ordered)
    assert len(frame(app)) == 16 * len(METRICS)


def test_layers_and_heads_that_there_are_not_are_said_and_left_out(open_app: Opener) -> None:
    app = open_app({**VIEW, "table_layers": "7", "table_heads": "1, 99"}, page="heads")

    assert set(frame(app)["head"]) == {1}
    assert "Layer 7 is past the last, 0: it is ignored. Head 99 is past the last, 7: it is ignored." in said(app)


def test_names_that_there_are_not_are_told_and_all_rows_are_shown(open_app: Opener) -> None:
    app = open_app({**VIEW, "table_measures": "gini, ginny", "table_roles": "sinks", "sort_by": "size"}, page="heads")

    assert len(frame(app)) == 8 * len(METRICS)
    (told,) = toasts(app)
    assert '`table_measures` must be known names with commas between them; got "ginny". Did you mean gini?' in told
    assert '`table_roles` must be known names with commas between them; got "sinks". Did you mean sink?' in told
    assert "`sort_by` must be one of layer, head, role, …; got sort_by=size. Try layer." in told
    assert link_of(app) == VIEW


def test_a_choice_that_no_row_meets_says_so(open_app: Opener) -> None:
    app = open_app({**VIEW, "table_roles": "too short to tell"}, page="heads")

    assert frame(app).empty
    assert f"None of {8 * len(METRICS)} rows has all that is asked for: take a choice away." in said(app)


def test_what_a_phone_shows_without_scrolling_stands_first(open_app: Opener) -> None:
    (table,) = open_app(VIEW, page="heads").dataframe

    assert tuple(table.proto.column_order)[:4] == head_table.ON_A_PHONE == ("head", "measure", "value", "baseline")
    assert sum(head_table.WIDTHS[name] for name in head_table.ON_A_PHONE) < 358


@pytest.mark.parametrize(("is_descending", "arrow"), [("0", "↑"), ("1", "↓")])
def test_every_column_has_a_width_of_its_own_and_the_sorted_one_an_arrow(
    is_descending: str, arrow: str, open_app: Opener
) -> None:
    app = open_app({**VIEW, "sort_by": "baseline", "is_descending": is_descending}, page="heads")

    (table,) = app.dataframe
    columns = json.loads(table.proto.columns)
    assert {name: columns[name]["width"] for name in table.proto.column_order} == head_table.WIDTHS
    headings = ["Head", "Measure", "Value", f"Uniform {arrow}", "Unit", "Role", "Layer", "Source"]
    assert [columns[name]["label"] for name in table.proto.column_order] == headings


def test_of_more_heads_than_a_menu_holds_the_numbers_are_typed(open_app: Opener) -> None:
    app = open_app({**VIEW, "text": "to be", "d_model": "512", "n_heads": "512", "table_heads": "500"}, page="heads")

    assert set(frame(app)["head"]) == {500}
    ran(app.text_input(key="table_heads").set_value("1, 2").run())
    assert set(frame(app)["head"]) == {1, 2}


@pytest.mark.model
def test_all_layers_of_the_trained_model_are_one_table(open_app: Opener) -> None:
    shown = frame(open_app({**VIEW, "input": "trained", "scope": "all"}, page="heads"))

    assert len(shown) == 72 * len(METRICS)
    assert sorted(set(shown["layer"])) == list(range(6))
    assert {"previous token", "sink", "one word"} <= set(shown["role"])
    assert {"0.2", "5.11"} <= set(shown["head"])


@pytest.mark.model
def test_of_all_layers_those_that_are_asked_for_are_shown(open_app: Opener) -> None:
    link = {**VIEW, "input": "trained", "scope": "all", "table_layers": "1, 7", "table_measures": "gini"}

    app = open_app(link, page="heads")

    assert frame(app)["head"].tolist() == [f"1.{head}" for head in range(12)]
    assert "Layer 7 is past the last, 5: it is ignored." in said(app)
    ran(app.multiselect(key="picked.table_layers").set_value([0, 5]).run())
    assert sorted(set(frame(app)["layer"])) == [0, 5]
    assert link_of(app) == {**link, "table_layers": "0, 5"}


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
