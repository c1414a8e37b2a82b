"""Two views of the Heads page: how many directions a head uses, and what the number of heads changes."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.registries import MASKS, SPECTRA
from attnviz.scenario import Scenario
from attnviz.ui import compute
from tests.ui.conftest import Opener, errors, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows


def test_the_view_of_rank_shows_the_chosen_head_before_and_after_the_softmax(open_app: Opener) -> None:
    app = open_app({"heads_view": "rank", "head": "1", "weights": "random", "mask": "causal"}, page="heads")

    one, every = (pictures(app)[name] for name in ("singular_values", "ranks_of_heads"))
    trace = compute.shown_layer(Scenario(head=1, weights="random")).layer.trace
    scores = np.linalg.svd(trace.scores[1].astype(np.float64), compute_uv=False)
    drawn = one.figure["data"][3]["y"]
    np.testing.assert_allclose(drawn, scores[:8] / scores[0], rtol=1e-4)
    assert one.header["answer"].startswith("Head 1")
    assert "uses 8 directions before the softmax (d_head = 8 is the most) and 11 of 11 after it" in one.header["answer"]
    assert "A head uniform over the allowed keys uses 11." in one.header["answer"]
    assert "Bhojanapalli et al. 2020" in one.header["caption"]
    assert every.header["answer"].startswith("The softmax ")
    assert "a uniform head has " in every.header["answer"]


def test_the_table_of_ranks_has_every_measure_beside_its_baseline(open_app: Opener) -> None:
    headings, *rows = table_rows(open_app({"heads_view": "rank"}, page="heads"))

    assert headings[0] == "Head"
    assert headings.count("uniform") == len(SPECTRA)
    for entry in SPECTRA:
        assert f"Scores: {entry.label.lower()}" in headings
        assert headings[headings.index(f"Weights: {entry.label.lower()}") + 1] == "uniform"
    assert "Copying" not in headings
    place = headings.index("Scores: numerical rank")
    assert [row[place] for row in rows] == ["8", "8", "8", "1", "8", "0", "8", "7"]
    assert rows[5][headings.index("Scores: effective rank")] == "–", "a head whose scores are all 0"
    assert {row[headings.index("Weights: numerical rank") + 1] for row in rows} == {"1"}


@pytest.mark.model
def test_trained_heads_have_a_copying_score_with_its_source(open_app: Opener) -> None:
    app = open_app({"heads_view": "rank", "input": "trained", "layer": "2"}, page="heads")

    headings, *rows = table_rows(app)
    assert headings[-1] == "Copying"
    assert rows[1][-1].startswith("0.9")
    assert rows[2][-1].startswith("−0.9")
    said = "\n".join(element.proto.body for element in app.main.get("html"))
    assert "Elhage et al. 2021" in said


@pytest.mark.model
def test_the_ranks_of_all_layers_stand_in_two_maps_and_one_table(open_app: Opener) -> None:
    link = {"heads_view": "rank", "input": "trained", "scope": "all", "layer": "2", "head": "7", "mask": "causal"}
    app = open_app(link, page="heads")

    assert set(pictures(app)) == {"ranks_before", "ranks_after"}
    before, after = (pictures(app)[name].trace()["z"] for name in ("ranks_before", "ranks_after"))
    traces = compute.shown_layer(Scenario(input="trained", mask=MASKS["causal"].spec())).run.traces
    for layer, trace in enumerate(traces):
        for drawn, maps in ((before, trace.scores), (after, trace.weights)):
            values = np.linalg.svd(maps.astype(np.float64), compute_uv=False)
            shares = values / values.sum(axis=1, keepdims=True)
            ranks = np.exp(-(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1))
            np.testing.assert_allclose(drawn[layer, :12], ranks, rtol=2e-3)
    even = np.linalg.svd(np.tril(np.ones((13, 13))) / np.arange(1, 14)[:, None], compute_uv=False)
    shares = even / even.sum()
    np.testing.assert_allclose(after[:, 13], np.exp(-(shares * np.log(shares)).sum()), rtol=1e-5)
    assert "On average most in layer " in pictures(app)["ranks_after"].header["answer"]
    headings, *rows = table_rows(app)
    assert headings[:2] == ["Head", "Role"]
    assert headings[-1] == "Copying"
    assert [row[0] for row in rows[11:14]] == ["0.11", "1.0", "1.1"]
    assert len(rows) == 72


def test_more_heads_at_the_same_width_have_fewer_directions_each(open_app: Opener) -> None:
    app = open_app({"heads_view": "number", "weights": "random"}, page="heads")

    directions, entropy, alike = (pictures(app)[f"sweep_{name}"] for name in ("directions", "entropy", "alike"))
    mark, bound, scores, weights, uniform = directions.figure["data"]
    assert mark["name"] == "now: 8"
    assert bound["y"].tolist() == [11, 11, 11, 8, 4, 2, 1]
    assert scores["y"][-1] == pytest.approx(1)
    assert (np.diff(scores["y"]) < 0).all()
    assert uniform["y"].tolist() == pytest.approx([1] * 7)
    assert weights["y"].shape == (7,)
    assert directions.header["answer"].startswith("From 1 to 64 heads the effective rank ")
    assert "parameters stay 16\u202f384" in directions.header["answer"]
    assert entropy.figure["data"][2]["y"].tolist() == pytest.approx([1] * 7)
    assert np.isnan(alike.figure["data"][1]["y"][0])


def test_the_table_of_numbers_of_heads_sets_the_present_one_in_bold(open_app: Opener) -> None:
    app = open_app({"heads_view": "number", "n_heads": "16"}, page="heads")

    headings, *rows = table_rows(app)
    assert [row[0] for row in rows] == ["1", "2", "4", "8", "16", "32", "64"]
    assert {row[headings.index("Parameters")] for row in rows} == {"16384"}
    (table,) = [element.proto.body for element in app.main.get("html") if "<table" in element.proto.body]
    assert "<tr class=av-strong><td>16</td>" in table
    assert "Uniform heads: 1" in pictures(app)["sweep_alike"].header["answer"]


def test_numbers_of_heads_that_cannot_be_computed_are_left_out_with_the_reason(open_app: Opener) -> None:
    app = open_app({"heads_view": "number", "position": "rotary"}, page="heads")

    _, *rows = table_rows(app)
    assert [row[0] for row in rows] == ["1", "2", "4", "8", "16", "32"]
    assert errors(app) == []
    said = "\n".join(element.proto.body for element in app.main.get("html"))
    assert "Left out, 64 heads: " in said


@pytest.mark.model
def test_of_one_token_there_is_no_entropy_and_no_empty_picture_of_it(open_app: Opener) -> None:
    app = open_app({"heads_view": "number", "text": "cat", "query": "0"}, page="heads")

    assert set(pictures(app)) == {"sweep_directions", "sweep_alike"}
    assert "The entropy is not defined: no query has two keys it may attend to." in sentences(app)


def test_the_number_of_trained_heads_is_fixed_and_the_way_out_is_one_click(open_app: Opener) -> None:
    app = open_app({"heads_view": "number", "input": "trained"}, page="heads")

    assert pictures(app) == {}
    assert "training fixed their number" in sentences(app)
    (button,) = [button for button in app.main.button if button.label == "Use the sentence without the model"]
    ran(button.click().run())
    assert link_of(app) == {"heads_view": "number"}
    assert set(pictures(app)) == {"sweep_directions", "sweep_entropy", "sweep_alike"}
