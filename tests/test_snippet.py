"""The program that the page offers computes what the page shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import NothingYetError
from attnviz.metrics import measured
from attnviz.metrics.adaptive import adaptive
from attnviz.metrics.contribution import leave_one_out, written
from attnviz.metrics.flow import flow
from attnviz.metrics.links import strongest_links
from attnviz.metrics.rollout import mean_maps, rollout
from attnviz.metrics.spectra import layer_spectra
from attnviz.metrics.viewing import View
from attnviz.registries import MASKS, METRICS, POSITIONS, SIMILARITIES
from attnviz.scenario import HEADS_VIEWS, LAYERS_VIEWS, Scenario
from attnviz.snippet import snippet
from attnviz.ui import compute
from tests.strategies import configs, specs

MEASURES = st.sampled_from(METRICS.names()).flatmap(lambda name: specs(METRICS[name]))


def results(scenario: Scenario, view: str = "measure") -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(snippet(scenario, view), "snippet", "exec"), names)
    return names


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    config = draw(configs())
    is_spoken = draw(st.booleans())
    return Scenario(
        input="sentence" if is_spoken else "vectors",
        text=draw(st.sampled_from(['The cat\'s hat\n"sat" on the hat.', "to be or not to be", "{x} \\ $y$ 🙂 <b>"])),
        n_tokens=draw(st.integers(1, 12)),
        cross=draw(st.booleans()),
        n_keys=draw(st.integers(1, 9)),
        d_model=config.d_model if config.d_model % 2 == 0 else 2 * config.d_model,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads or 0,
        d_value=config.d_value or 0,
        mask=config.masks[0],
        sparsity=config.masks[1],
        padding=config.masks[2],
        position=config.position,
        weights=config.projections,
        sharpness=config.sharpness,
        is_scaled=config.is_scaled,
        softcap=config.softcap,
        sinks=config.sinks,
        dropout=config.dropout,
        seed=config.seed % 1_000_000,
        measure=draw(MEASURES),
    )


@given(scenario=scenarios())
def test_the_program_computes_exactly_the_weights_and_the_measure_of_the_page(scenario: Scenario) -> None:
    trace = compute.shown_layer(scenario).layer.trace

    found = results(scenario)

    np.testing.assert_array_equal(found["weights"], trace.weights)
    right = measured(trace, scenario.measure)
    np.testing.assert_array_equal(found["found"].values, right.values)
    np.testing.assert_array_equal(found["found"].uniform, right.uniform)


@pytest.mark.model
@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"layer": 5, "sharpness": 2.0},
        {"mask": MASKS["causal"].spec()},
        {"removed": "2, 1.3", "layer": 2, "stand_in": "mean"},
    ],
)
def test_the_program_of_the_trained_model_computes_the_same_layer(chosen: dict[str, Any]) -> None:
    scenario = Scenario(input="trained", mask=MASKS["full"].spec(), measure=METRICS["induction"].spec())
    scenario = replace(scenario, text='The cat said: "It\'s tired".', **chosen)

    found = results(scenario)

    np.testing.assert_array_equal(found["weights"], compute.shown_layer(scenario).layer.trace.weights)
    assert found["found"].values.shape == (12, len(found["trace"].query_tokens))


def test_of_a_long_trace_one_row_is_computed() -> None:
    scenario = Scenario(input="vectors", n_tokens=1200, n_heads=2, d_model=8, head=1, query=700)

    found = results(scenario, "")

    row, allowed = compute.shown_layer(scenario).layer.trace.row(1, 700)
    np.testing.assert_array_equal(found["row"], row)
    np.testing.assert_array_equal(found["allowed"], allowed)


def test_only_what_is_not_usual_is_written_and_only_what_is_used_imported() -> None:
    scenario = Scenario(text="to be", position=POSITIONS["alibi"].spec(slope=2.0), mask=MASKS["causal"].spec())

    assert snippet(scenario) == (
        "from attnviz import MASKS, POSITIONS, AttentionConfig, attend\n"
        "\n"
        "config = AttentionConfig(\n"
        "    tokens=('to', 'be'),\n"
        '    masks=(MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["no_padding"].spec(),),\n'
        '    position=POSITIONS["alibi"].spec(slope=2.0),\n'
        ")\n"
        "trace = attend(config)\n"
        "weights = trace.weights  # (head, query, key)\n"
    )


def test_without_a_word_there_is_no_program() -> None:
    with pytest.raises(NothingYetError):
        snippet(Scenario(text=" "), "measure")


def test_the_program_of_a_view_computes_its_numbers() -> None:
    shown = compute.shown_layer(Scenario())
    trace, layer = shown.layer.trace, shown.layer
    found = {view: results(Scenario(query=5), view)["found"] for view in HEADS_VIEWS if view != "layers"}

    np.testing.assert_array_equal(found["alike"].pairs, SIMILARITIES["cosine"].function([trace]).pairs)
    np.testing.assert_array_equal(found["measure"].values, layer.survey().measures["entropy"])
    assert found["roles"] == layer.found_roles()
    np.testing.assert_array_equal(found["rank"].scores.values, layer_spectra(trace).scores.values)
    assert [one.relative for one in found["removal"]] == [one.relative for one in leave_one_out(written(trace))]
    np.testing.assert_array_equal(found["adaptive"].keeps, adaptive(written(trace), 0.8, "query").keeps)
    assert [point.n_heads for point in found["number"].points] == [1, 2, 4, 8, 16, 32, 64]
    assert found["table"].shape == (8 * len(METRICS), 9)


def test_the_program_of_the_table_gives_the_rows_that_are_asked_for_in_their_order() -> None:
    chosen = {"table_heads": "5, 1", "table_measures": "gini, entropy", "sort_by": "value", "is_descending": True}

    found = results(Scenario(**chosen), "table")["found"]

    survey = compute.shown_layer(Scenario()).layer.survey()
    means = {head: float(survey.measures["entropy"][head].mean()) for head in (1, 5)}
    entropy = found[found["name"] == "entropy"]
    assert entropy["head"].tolist() == [5, 1]
    assert entropy["value"].tolist() == pytest.approx([means[5], means[1]])
    assert sorted(found["name"]) == ["entropy"] * 2 + ["gini"] * 2
    assert found["value"].is_monotonic_decreasing


@pytest.mark.parametrize("view", LAYERS_VIEWS)
def test_the_program_of_attention_across_layers_computes_its_numbers(view: str) -> None:
    scenario = Scenario(layers_view=view, query=2)
    trace = compute.shown_layer(scenario).layer.trace
    found = results(scenario, "layers")["found"]

    right = {
        "lines": lambda: strongest_links(trace, range(8)).holding(0.5).weight,
        "rollout": lambda: rollout([mean_maps(trace).weights])[-1],
        "flow": lambda: flow([mean_maps(trace).weights], 2),
    }[view]()
    np.testing.assert_array_equal(found.weight if view == "lines" else found, right)


def test_the_program_of_the_lines_draws_the_chosen_head_without_hidden_keys() -> None:
    scenario = Scenario(heads_view="layers", drawn="head", head=3, hidden="4, 0, 4")
    trace = compute.shown_layer(scenario).layer.trace

    found = results(scenario, "layers")["found"]

    right = strongest_links(trace, range(3, 4), view=View((0, 4))).holding(0.9)
    np.testing.assert_array_equal(found.weight, right.weight)
    assert not set(found.key.tolist()) & {0, 4}


def test_the_program_of_the_lines_of_many_heads_takes_the_block_around_the_chosen_one() -> None:
    scenario = Scenario(layers_view="lines", n_heads=128, d_model=128, head=70)
    trace = compute.shown_layer(scenario).layer.trace

    found = results(scenario, "layers")["found"]

    np.testing.assert_array_equal(found.weight, strongest_links(trace, range(64, 128)).holding(0.5).weight)
    assert set(found.head.tolist()) <= set(range(64, 128))


def test_the_program_of_the_lines_holds_the_share_that_is_drawn_of_one_head_and_of_several() -> None:
    one, first = Scenario(layers_view="lines", n_heads=1), Scenario(layers_view="lines", n_heads=128, d_model=128)
    trained = Scenario(layers_view="lines", input="trained", n_heads=1)

    assert "strongest_links(trace, range(trace.n_heads)).holding(0.9)" in snippet(one, "layers")
    assert "strongest_links(trace, range(0, 64)).holding(0.5)" in snippet(first, "layers")
    assert "strongest_links(trace, range(trace.n_heads)).holding(0.5)" in snippet(trained, "layers")


@pytest.mark.model
def test_the_program_of_all_layers_computes_them_all() -> None:
    scenario = Scenario(input="trained", scope="all", layer=2, layers_view="rollout")

    assert results(scenario, "alike")["found"].pairs.shape == (72, 72)
    assert len(results(scenario, "measure")["found"]) == 6
    layers = compute.shown_layer(scenario).run.layers
    assert results(scenario, "roles")["found"] == [layer.found_roles() for layer in layers]
    for found, layer in zip(results(scenario, "rank")["found"], layers, strict=True):
        np.testing.assert_array_equal(found.weights.values, layer_spectra(layer.trace).weights.values)
    for found, layer in zip(results(scenario, "adaptive")["found"], layers, strict=True):
        np.testing.assert_array_equal(found.keeps, adaptive(written(layer.trace), 0.8, "query").keeps)
    table = results(replace(scenario, table_layers="1, 4", table_measures="gini"), "table")["found"]
    assert table[["layer", "head"]].to_numpy().tolist() == [[layer, head] for layer in (1, 4) for head in range(12)]
    across = results(scenario, "layers")
    assert across["found"].shape == (13, 13)
    assert across["routes"].paths[0].tokens[-1] == scenario.query
    assert len(across["routes"].paths[0].tokens) == 4
