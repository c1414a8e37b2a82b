"""Rows of the table of all measures: which are shown, in what order, and what is in the files."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from attnviz import AttentionConfig, attend
from attnviz.chosen_rows import Rows, chosen_rows, in_order, order_after_click, past_the_last
from attnviz.metrics import measured_all
from attnviz.registries import METRICS
from attnviz.scenario import TABLE_COLUMNS
from attnviz.tables import MeasuredLayer, as_parquet, tidy_table

SPECS = [METRICS[name].spec() for name in ("entropy", "gini", "distance_in_image")]


@pytest.fixture(scope="module")
def tidy() -> pd.DataFrame:
    """Two layers of four heads and three measures, the last of which is not defined."""
    layers = []
    for layer in range(2):
        trace = attend(AttentionConfig(tuple("abcdef"), d_model=16, n_heads=4, seed=layer, projections="random"))
        roles = ("sink", "broad", "Local", "sink") if layer else ("mixed",) * 4
        layers.append(MeasuredLayer(layer, roles, SPECS, measured_all(trace, SPECS)))
    return tidy_table(layers)


def test_nothing_asked_for_leaves_all_rows_in_their_order(tidy: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(chosen_rows(tidy, Rows()), tidy)
    pd.testing.assert_frame_equal(in_order(tidy, "layer"), tidy)


def test_rows_meet_all_that_is_asked_for(tidy: pd.DataFrame) -> None:
    shown = chosen_rows(tidy, Rows((1,), (0, 1), ("gini", "entropy"), ("sink",)))

    assert shown[["layer", "head", "role", "name"]].to_numpy().tolist() == [
        [1, 0, "sink", "entropy"],
        [1, 0, "sink", "gini"],
    ]


@pytest.mark.parametrize("column", ["value", "baseline"])
def test_numbers_are_sorted_by_size_and_what_is_not_defined_is_last_both_ways(column: str, tidy: pd.DataFrame) -> None:
    up, down = (in_order(tidy, column, is_descending=way)[column].to_numpy() for way in (False, True))

    assert np.isnan(up[-8:]).all()
    assert np.isnan(down[-8:]).all()
    np.testing.assert_array_equal(up[:-8], np.sort(tidy[column].dropna()))
    np.testing.assert_array_equal(down[:-8], up[:-8][::-1])


def test_heads_are_in_the_order_of_their_layers(tidy: pd.DataFrame) -> None:
    shown = in_order(tidy, "head", is_descending=True)

    assert shown[["layer", "head"]].drop_duplicates().to_numpy().tolist() == [
        [layer, head] for layer in (1, 0) for head in (3, 2, 1, 0)
    ]
    assert shown["name"].tolist()[:3] == ["entropy", "gini", "distance_in_image"]


def test_words_are_sorted_by_letter_and_the_same_ones_stay_in_order(tidy: pd.DataFrame) -> None:
    shown = in_order(tidy, "role")

    assert shown["role"].drop_duplicates().tolist() == ["broad", "Local", "mixed", "sink"]
    sinks = shown[shown["role"] == "sink"]
    assert sinks["head"].tolist() == [0, 3] * 3


@pytest.mark.parametrize("column", TABLE_COLUMNS)
def test_both_files_hold_every_row_that_is_left_in_the_order_on_screen(column: str, tidy: pd.DataFrame) -> None:
    shown = in_order(chosen_rows(tidy, Rows(heads=(0, 2, 3))), column, is_descending=True)

    parquet = pd.read_parquet(BytesIO(as_parquet(shown)))
    csv = pd.read_csv(
        BytesIO(shown.to_csv(index=False).encode()), keep_default_na=False, na_values={"value": "", "baseline": ""}
    )

    assert len(parquet) == len(csv) == 18
    for file in (parquet, csv):
        assert set(TABLE_COLUMNS) <= set(file.columns)
        pd.testing.assert_frame_equal(file, shown.reset_index(drop=True), check_dtype=False)


def test_a_click_on_a_heading_sorts_and_another_turns_the_order_round() -> None:
    assert order_after_click("value", "layer", is_descending=True) == ("value", True)
    assert order_after_click("value", "value", is_descending=True) == ("value", False)
    assert order_after_click("role", "value", is_descending=True) == ("role", False)


def test_what_there_is_not_is_named_with_the_last_that_there_is() -> None:
    assert past_the_last("head", (1, 5), 8) == ""
    assert past_the_last("head", (1, 9), 8) == "Head 9 is past the last, 7: it is ignored."
    assert past_the_last("layer", (6, 7), 6) == "2 of the layers asked for are past the last, 5: they are ignored."
