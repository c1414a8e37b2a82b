"""Lines, rollout and flow on the Heads page, for a layer that is made and for a trained model."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures.lines import colour_of
from attnviz.metrics.flow import flow
from attnviz.metrics.links import strongest_links
from attnviz.metrics.rollout import rollout
from attnviz.metrics.viewing import PLAIN, View
from attnviz.numbers import THIN_SPACE
from attnviz.ui.head_lines import drawn_links
from tests.figures.traces import trace_of
from tests.reference import golden
from tests.ui.conftest import Opener, errors, hints, link_of, ran
from tests.ui.drawn import pictures, table_rows

LAYERS = {"heads_view": "layers"}
TRAINED = {**LAYERS, "input": "trained"}
CAT = golden("minilm")["cat_weights"].astype(np.float64)


def colours(app) -> set[str]:
    """Colours of the lines that are drawn."""
    drawn = pictures(app)["attention_lines"].figure["data"]
    return {trace["line"]["color"] for trace in drawn if trace["name"].startswith("head") and len(trace["x"]) > 2}


def test_lines_of_all_heads_have_a_colour_each_and_a_table(open_app: Opener) -> None:
    app = open_app(LAYERS, page="heads")

    assert colours(app) == {colour_of(head) for head in range(8)}
    assert pictures(app)["attention_lines"].header["title"] == "Where does query 4 “the” look in each head?"


def test_the_table_holds_the_links_of_the_chosen_query_beside_a_uniform_head(open_app: Opener) -> None:
    app = open_app({**LAYERS, "query": "7"}, page="heads")

    headings, *rows = table_rows(app)
    assert headings == ["Head", "Key", "Weight", "uniform"]
    assert len(rows) == 12
    assert rows[0] == ["6", "7 it", "1.00", "0.0909"]
    assert {row[3] for row in rows} == {"0.0909"}
    weights = [float(row[2]) for row in rows]
    assert weights == sorted(weights, reverse=True)
    alone = open_app({**LAYERS, "query": "2", "drawn": "head", "head": "5", "mask": "causal"}, page="heads")
    headings, *rows = table_rows(alone)
    assert headings == ["Key", "Weight", "uniform"]
    assert [row[2] for row in rows] == ["0.333"] * 3, "of three keys it may attend to"
    assert [row[0] for row in rows] == ["0 The", "1 cat", "2 sat"]


def test_only_the_strongest_links_of_the_chosen_query_are_drawn_and_in_the_table(open_app: Opener) -> None:
    app = open_app({**LAYERS, "query": "7", "drawn": "head", "head": "1"}, page="heads")

    drawn = [trace for trace in pictures(app)["attention_lines"].figure["data"] if trace["name"] == "head 1"]
    ends = {
        end for trace in drawn for start, end in zip(trace["y"][0::3], trace["y"][1::3], strict=False) if start == 7
    }
    assert ends == {6.0}, "99.5 % of its attention goes to the token before"
    _, *rows = table_rows(app)
    assert rows == [["6 because", "0.995", "0.0909"]]


def test_the_file_of_the_links_holds_all_that_are_drawn_those_of_the_chosen_query_first() -> None:
    trace = trace_of(np.array([[[0.7, 0.3], [0.4, 0.6]]]), tokens=("a b", "c"))
    of_query = strongest_links(trace, range(1), rows=range(1, 2))

    plain = drawn_links(of_query, strongest_links(trace, range(1), 2).without(1), trace, PLAIN)
    hidden = drawn_links(of_query, of_query.without(1), trace, View((0,)))

    assert list(plain.columns) == ["head", "query", "query_token", "key", "key_token", "weight", "uniform"]
    assert plain.to_numpy().tolist() == [
        [0, 1, "c", 1, "c", 0.6, 0.5],
        [0, 1, "c", 0, "a␣b", 0.4, 0.5],
        [0, 0, "a␣b", 0, "a␣b", 0.7, 0.5],
    ]
    assert "renormalised_weight" in hidden.columns


def test_hidden_keys_have_no_link_and_the_rest_of_each_row_is_renormalised(open_app: Opener) -> None:
    link = {**LAYERS, "hidden": "6, 99", "query": "7", "head": "1", "drawn": "head", "log_scale": "1"}
    app = open_app(link, page="heads")

    sent = pictures(app)["attention_lines"]
    assert sent.figure["layout"]["meta"]["badge"] == "key 6 because hidden, rows renormalised"
    assert sent.header["alt"].endswith("Shown with key 6 because hidden, rows renormalised.")
    answer = sent.header["answer"].replace(THIN_SPACE, " ")
    assert answer.startswith("The hidden key had 9.09 % of the attention (of a uniform head: 9.09 %); what follows is")
    assert "of what is left of the attention" in answer
    assert answer.endswith("Key 99 is past the last, 10: it is ignored.")
    _, *rows = table_rows(app)
    assert {row[2] for row in rows} == {"0.100"}
    assert 1 <= len(rows) <= 10
    assert not any(row[0].startswith("6 ") for row in rows)


def test_the_chosen_head_is_drawn_alone(open_app: Opener) -> None:
    app = open_app({**LAYERS, "head": "3"}, page="heads")

    app.segmented_control(key="drawn").set_value("head")
    ran(app.run())

    assert link_of(app) == {**LAYERS, "head": "3", "drawn": "head"}
    assert colours(app) == {colour_of(3)}
    assert pictures(app)["attention_lines"].header["title"] == "Where does query 4 “the” look in head 3?"


def test_another_query_is_one_choice(open_app: Opener) -> None:
    app = open_app(LAYERS, page="heads")

    ran(app.selectbox(key="query").select(1).run())

    assert link_of(app)["query"] == "1"
    sent = pictures(app)["attention_lines"]
    assert "The strongest link of query 1 “cat” leads to" in sent.header["answer"]
    assert sent.figure["layout"]["meta"]["ticks"]["strong"] == 1


def test_cross_attention_has_its_own_tokens_on_each_side(open_app: Opener) -> None:
    link = {**LAYERS, "cross": "true", "text": "a <b>", "key_text": "x y z", "query": "1"}
    ticks = pictures(open_app(link, page="heads"))["attention_lines"].figure["layout"]["meta"]["ticks"]

    assert ("".join(ticks["y"]), "".join(ticks["right"])) == ("a<b>", "xyz")


@pytest.mark.parametrize("view", ["rollout", "flow"])
def test_other_keys_than_queries_cannot_be_followed_through_layers(view: str, open_app: Opener) -> None:
    app = open_app({**LAYERS, "cross": "true", "layers_view": view}, page="heads")

    assert pictures(app) == {}
    assert hints(app)[-1].endswith("Switch off cross-attention, or choose Lines.")
    assert errors(app) == []


def test_rollout_of_a_trained_model_is_the_product_of_its_layers(open_app: Opener) -> None:
    app = open_app({**TRAINED, "layers_view": "rollout", "layer": "3"}, page="heads")

    sent = pictures(app)
    assert set(sent) == {"rollout", "mean_attention", "rollout_paths"}
    np.testing.assert_allclose(sent["rollout"].trace()["z"], rollout(list(CAT.mean(axis=1)))[3], rtol=0, atol=1e-5)
    np.testing.assert_allclose(sent["mean_attention"].trace()["z"], CAT[3].mean(axis=0), rtol=0, atol=1e-5)
    assert sent["rollout"].header["title"] == "What is each token made of after layers 0 to 3?"
    assert "with attention uniform over the allowed keys" in sent["rollout"].header["answer"]


def test_rollout_of_one_layer_is_drawn_and_leads_to_the_trained_model(open_app: Opener) -> None:
    app = open_app({**LAYERS, "layers_view": "rollout"}, page="heads")

    assert set(pictures(app)) == {"rollout", "mean_attention"}
    assert "this input has one" in hints(app)[-1]
    (button,) = [one for one in app.main.button if one.label == "Read the text with the trained model"]
    ran(button.click().run())

    assert link_of(app) == {**TRAINED, "layers_view": "rollout"}
    assert "After layer 0" in pictures(app)["rollout"].header["answer"]


def test_flow_of_a_trained_model_is_at_least_its_rollout(open_app: Opener) -> None:
    app = open_app({**TRAINED, "layers_view": "flow", "layer": "5", "query": "6"}, page="heads")

    sent = pictures(app)["flow_of_query"]
    bars, uniform, flows = sent.figure["data"]
    maps = list(CAT.mean(axis=1))
    assert (flows["x"] >= rollout(maps)[5][6] - 1e-5).all()
    np.testing.assert_allclose(flows["x"], flow(maps, 6), atol=1e-4)
    np.testing.assert_allclose(uniform["x"], 1, atol=1e-5)
    np.testing.assert_allclose(bars["base"] + bars["x"], flows["x"], atol=1e-6)
    assert "(with attention uniform over the allowed keys: 100\u202f%)" in sent.header["answer"]
    assert "Rollout, never more than the flow, puts token 0 “[CLS]” first" in sent.header["answer"]


def test_the_strongest_paths_of_a_trained_model_lead_to_the_chosen_query(open_app: Opener) -> None:
    app = open_app({**TRAINED, "layers_view": "rollout", "layer": "5", "query": "8"}, page="heads")

    sent = pictures(app)["rollout_paths"]
    assert sent.header["title"] == "Along which paths does the input reach query 8 “it”?"
    assert "comes from token 0 “[CLS]”, reaches it in layer 4 and carries 8.00" in sent.header["answer"]
    lines = [trace for trace in sent.figure["data"] if trace["mode"] == "lines" and len(trace["x"]) > 2]
    ends = np.concatenate([np.stack([one["x"][1::3], one["y"][1::3]], axis=1) for one in lines])
    assert 40 < len(ends) <= 60
    (row,) = set(ends[ends[:, 0] == 6, 1].astype(int).tolist())
    assert sent.figure["layout"]["meta"]["ticks"]["y"][row] == "8 it"


@pytest.mark.model
def test_of_many_tokens_those_on_the_strongest_paths_are_drawn_and_it_is_said(open_app: Opener) -> None:
    link = {**TRAINED, "layers_view": "rollout", "layer": "1", "query": "90", "text": "a b c d " * 30}
    sent = pictures(open_app(link, page="heads"))["rollout_paths"]

    labels = sent.figure["layout"]["meta"]["ticks"]["y"]
    assert "90 b" in labels
    places = [int(label.split()[0]) for label in labels]
    assert places == sorted(places)
    assert len(places) <= 60 + 1
    assert f"Shown are the {len(places)} of 122 tokens that these links touch." in sent.header["caption"]


def test_flow_of_one_layer_offers_the_trained_model(open_app: Opener) -> None:
    app = open_app({**LAYERS, "layers_view": "flow"}, page="heads")

    assert pictures(app) == {}
    assert "this input has one" in hints(app)[-1]
    assert "Read the text with the trained model" in [one.label for one in app.main.button]


@pytest.mark.parametrize(("view", "n_tokens", "most"), [("rollout", "600", "512"), ("flow", "200", "128")])
def test_what_takes_too_long_is_refused_with_a_way_out(view: str, n_tokens: str, most: str, open_app: Opener) -> None:
    link = {**LAYERS, "layers_view": view, "input": "vectors", "n_tokens": n_tokens, "n_heads": "2"}
    app = open_app(link, page="heads")

    assert hints(app)[-1].endswith(
        f"is computed for at most {most} tokens; here are {n_tokens}. Shorten the text, or choose Lines."
    )
    assert "Lines" in app.segmented_control(key="layers_view").options


def test_lines_of_a_long_input_are_streamed_and_few(open_app: Opener) -> None:
    link = {**LAYERS, "input": "vectors", "n_tokens": "3000", "n_heads": "2", "mask": "sliding_window", "query": "1500"}
    app = open_app(link, page="heads")

    sent = pictures(app)["attention_lines"]
    assert " strongest of " in sent.header["answer"]
    n_points = sum(len(trace["x"]) for trace in sent.figure["data"] if trace["name"].startswith("head"))
    assert n_points <= 3 * (2000 + 200) + 2
    assert sent.figure["layout"]["meta"]["ticks"]["right"] == {"letter": "x", "count": 3000}
