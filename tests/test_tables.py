"""Tables of a trace: values, order and units of the columns."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.core.shuffling import shuffled
from attnviz.metrics import SURVEYED, Measured, Survey, mean_over_queries, measured, measured_all, survey
from attnviz.metrics.spectra import layer_spectra
from attnviz.registries import MASKS, METRICS
from attnviz.steps import Focus
from attnviz.steps.row import row_of
from attnviz.tables import (
    CellSummary,
    MeasuredLayer,
    as_parquet,
    cell_summary,
    column_name,
    head_summary,
    measure_table,
    rank_table,
    rounded,
    row_table,
    shuffled_table,
    tidy_table,
)
from tests.figures.traces import numbered, trace_of
from tests.strategies import configs

ROW = np.array([[[0.5, 0.25, 0.25, 0.0]]])
MASK = np.array([[[True, True, True, False]]])


def summary(trace: AttentionTrace, roles: tuple[str, ...]) -> pd.DataFrame:
    return head_summary(roles, survey(trace))


def only_cosine(cosine: np.ndarray) -> Survey:
    """A survey of heads that are as alike as this, without any measure."""
    found = survey(trace_of(np.ones((len(cosine), 1, 1))))
    return replace(found, measures={}, uniform={}, cosine=cosine)


def test_a_measure_with_a_unit_has_it_in_its_column_name() -> None:
    assert [column_name(METRICS[name]) for name in ("entropy", "mean_distance", "largest_weight")] == [
        "entropy_bits",
        "mean_distance_tokens",
        "largest_weight",
    ]


def test_every_measure_stands_beside_its_baseline_in_menu_order() -> None:
    trace = attend(AttentionConfig(tuple("abcd"), n_heads=2))
    columns = [column_name(METRICS[name]) for name in SURVEYED]

    frame = summary(trace, ("one", "two"))

    beside = [name for column in columns for name in (column, f"{column}_uniform")]
    assert list(frame.columns) == ["head", "role", *beside, "most_alike_head", "most_alike_cosine"]
    assert frame["head"].tolist() == [0, 1]
    assert frame["role"].tolist() == ["one", "two"]


def test_a_head_without_a_name_beside_named_ones_is_mixed() -> None:
    trace = attend(AttentionConfig(tuple("abcd"), n_heads=4))
    roles, spec = ("sink", "", "broad", ""), METRICS["entropy"].spec()
    found = Measured(*(getattr(survey(trace), name)["entropy"] for name in ("measures", "uniform")))

    assert summary(trace, roles)["role"].tolist() == ["sink", "mixed", "broad", "mixed"]
    assert measure_table(spec, roles, found)[0]["role"].tolist() == ["sink", "mixed", "broad", "mixed"]
    assert rank_table(roles, layer_spectra(trace), {})[0]["role"].tolist() == ["sink", "mixed", "broad", "mixed"]
    assert summary(trace, ("",) * 4)["role"].tolist() == [""] * 4


@given(configs())
def test_the_table_holds_the_means_of_every_measure_and_of_the_uniform_head(config: AttentionConfig) -> None:
    trace = attend(config)

    found = survey(trace)

    frame = summary(trace, ("",) * trace.n_heads)

    assert list(found.measures) == list(found.uniform) == list(SURVEYED)
    for entry in map(METRICS.__getitem__, SURVEYED):
        column = column_name(entry)
        np.testing.assert_array_equal(frame[column], mean_over_queries(found.measures[entry.name]))
        uniform = mean_over_queries(found.uniform[entry.name])
        np.testing.assert_array_equal(frame[f"{column}_uniform"], np.broadcast_to(uniform, (trace.n_heads,)))


def test_each_head_is_told_the_other_head_that_is_most_like_it() -> None:
    similarity = np.array([[1.0, 0.2, 0.7], [0.2, 1.0, 0.2], [0.7, 0.2, 1.0]])

    frame = head_summary(("",) * 3, only_cosine(similarity))

    assert frame["most_alike_head"].tolist() == [2, 0, 0]
    assert frame["most_alike_cosine"].tolist() == [0.7, 0.2, 0.7]


def test_one_head_is_most_like_none() -> None:
    frame = head_summary(("alone",), only_cosine(np.ones((1, 1))))

    assert frame["most_alike_head"].isna().all()
    assert frame["most_alike_cosine"].isna().all()


def test_a_cell_has_its_score_bias_weight_and_rank_among_the_allowed_keys() -> None:
    scores, bias = np.array([[[2.0, 1.0, 1.0, 9.0]]]), np.array([[[0.0, -0.5, -0.5, -1.0]]])
    trace = trace_of(ROW, MASK, scores=scores, bias=bias)

    cells = [cell_summary(trace, 0, 0, key) for key in range(4)]

    assert cells[0] == CellSummary(allowed=True, score=2, bias=0, weight=0.5, rank=1, allowed_keys=3, ties=0)
    assert cells[1] == CellSummary(allowed=True, score=1, bias=-0.5, weight=0.25, rank=2, allowed_keys=3, ties=1)
    assert cells[2].rank == 2, "equal weights share a rank"
    assert cells[3] == CellSummary(allowed=False, score=9, bias=-1, weight=None, rank=None, allowed_keys=3, ties=0)


def test_a_cell_of_a_query_without_keys_has_no_weight_and_no_rank() -> None:
    cell = cell_summary(trace_of(np.zeros((1, 1, 2)), np.zeros((1, 1, 2), dtype=bool)), 0, 0, 1)

    assert (cell.allowed, cell.weight, cell.rank, cell.allowed_keys) == (False, None, None, 0)


@pytest.mark.parametrize("head", [0, 1])
def test_a_cell_is_judged_by_the_mask_of_its_own_head(head: int) -> None:
    masks = np.array([[[True, False]], [[False, True]]])
    trace = trace_of(masks.astype(float), masks)

    assert [cell_summary(trace, head, 0, key).allowed for key in range(2)] == masks[head, 0].tolist()


def test_a_query_against_every_key_is_a_row_a_key_in_order() -> None:
    trace = trace_of(ROW, MASK, scores=np.array([[[2.0, 1.0, 1.0, 9.0]]]))

    frame, labels = row_table(row_of(Focus(trace, 0, 0, 3, ())))

    assert list(labels) == list(frame.columns)
    assert [*frame.columns] == [
        *("key", "token", "weight", "product", "score", "bias", "allowed", "masked_score", "exponential")
    ]
    assert frame["key"].tolist() == [0, 1, 2, 3]
    assert frame["token"].tolist() == list(numbered(4))
    assert frame["score"].tolist() == [2, 1, 1, 9]
    assert frame["bias"].tolist() == [0, 0, 0, 0]
    assert frame["allowed"].tolist() == ["yes", "yes", "yes", "no"]
    assert frame["masked_score"].tolist()[:3] == [2, 1, 1]
    assert frame["masked_score"][3] == -np.inf
    np.testing.assert_allclose(frame["exponential"], [1, np.exp(-1), np.exp(-1), 0])
    assert frame["weight"].tolist() == [0.5, 0.25, 0.25, 0]


def test_a_tidy_table_has_a_row_for_each_layer_head_and_measure() -> None:
    traces = [trace_of(np.stack([np.eye(3), np.full((3, 3), 1 / 3)])), trace_of(np.full((1, 3, 3), 1 / 3))]
    specs = [METRICS["entropy"].spec(), METRICS["top_mass"].spec(top=2), METRICS["induction"].spec()]
    layers = [
        MeasuredLayer(place, ("own place", "")[: trace.n_heads], specs, measured_all(trace, specs))
        for place, trace in enumerate(traces)
    ]

    frame = tidy_table(layers)

    assert list(frame.columns) == [*("layer", "head", "role", "measure", "value", "baseline", "unit", "source", "name")]
    assert frame["layer"].tolist() == [0] * 6 + [1] * 3
    assert frame["head"].tolist() == [0, 1] * 3 + [0] * 3
    assert frame["measure"].tolist()[:6:2] == ["Entropy", "Top mass, top 2", "Induction"]
    assert frame["name"].tolist()[6:] == ["entropy", "top_mass", "induction"]
    bits = np.log2(3)
    np.testing.assert_allclose(frame["value"][:4], [0, bits, 1, 2 / 3])
    np.testing.assert_allclose(frame["baseline"][:4], [bits, bits, 2 / 3, 2 / 3])
    assert frame["value"][4:6].isna().all()
    assert frame["unit"].tolist()[:2] == ["bits", "bits"]
    assert frame["source"][2] == METRICS["top_mass"].source


def test_a_table_survives_a_parquet_file_exactly() -> None:
    trace = attend(AttentionConfig(tuple("abcab"), n_heads=2))
    specs = [entry.spec() for entry in METRICS]
    frame = tidy_table([MeasuredLayer(0, ("", "sink"), specs, measured_all(trace, specs))])

    back = pd.read_parquet(BytesIO(as_parquet(frame)))

    pd.testing.assert_frame_equal(back, frame)


def test_a_table_is_rounded_to_three_digits_for_the_eye_only() -> None:
    frame = pd.DataFrame({"name": ["a"] * 5, "value": [0.0, -0.0012349, 1234.0, np.nan, 99.96]})

    shown = rounded(frame)

    np.testing.assert_allclose(shown["value"], [0, -0.00123, 1230, np.nan, 100], rtol=1e-12)
    assert frame["value"][2] == 1234.0


def test_a_measure_with_other_parameters_is_named_with_them() -> None:
    spec = METRICS["keys_for_most"].spec(share=0.5)

    _, labels = measure_table(spec, ("", ""), measured(trace_of(np.full((2, 4, 4), 0.25)), spec))

    assert list(labels.values()) == ["Head", "Keys needed, share 0.5 (keys)", "uniform", "least", "most"]


def test_repeated_tokens_keep_a_row_each() -> None:
    trace = attend(AttentionConfig(("the", "cat", "the"), masks=(MASKS["full"].spec(),)))

    frame, _ = row_table(row_of(Focus(trace, 0, 0, 0, ())))
    assert frame["token"].tolist() == ["the", "cat", "the"]


def test_the_changes_of_shuffled_tokens_have_only_the_columns_worth_comparing() -> None:
    found = shuffled(AttentionConfig(("a", "b", "a"), projections="random"))

    every, labels = shuffled_table(found, has_positions=True, has_mask=True)
    least, _ = shuffled_table(found, has_positions=False, has_mask=False)

    assert list(every.columns) == ["place", "token", "with_positions", "mask_alone", "neither"] == list(labels)
    assert list(least.columns) == ["place", "token", "neither"]
    assert every["token"].tolist() == ["a", "b", "a"]
    assert every["with_positions"].tolist() == found.with_positions.tolist()
