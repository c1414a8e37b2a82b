"""Lines, rollout and flow on the Heads page, for a layer that is made and for a trained model."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures.lines import colour_of
from attnviz.metrics.rollout import rollout
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
    assert pictures(app)["attention_lines"].header["title"] == "Which tokens does each head link?"
    headings, *rows = table_rows(app)
    assert headings == ["Head", "Query", "Token", "Key", "Token", "Weight"]
    assert len(rows) == 12
    assert all(row[5] == "1.00" for row in rows[:3])


def test_the_chosen_head_is_drawn_alone(open_app: Opener) -> None:
    app = open_app({**LAYERS, "head": "3"}, page="heads")

    app.segmented_control(key="drawn").set_value("head")
    ran(app.run())

    assert link_of(app) == {**LAYERS, "head": "3", "drawn": "head"}
    assert colours(app) == {colour_of(3)}
    assert pictures(app)["attention_lines"].header["title"] == "Which tokens does head 3 link?"


def test_another_query_is_one_choice(open_app: Opener) -> None:
    app = open_app(LAYERS, page="heads")

    ran(app.selectbox(key="query").select(1).run())

    assert link_of(app)["query"] == "1"
    sent = pictures(app)["attention_lines"]
    assert "The strongest of query 1 “cat” leads to" in sent.header["answer"]
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
    assert set(sent) == {"rollout", "mean_attention"}
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

    flows, uniform, rolled = (trace["x"] for trace in pictures(app)["flow_of_query"].figure["data"])
    np.testing.assert_allclose(rolled, rollout(list(CAT.mean(axis=1)))[5][6], rtol=0, atol=1e-5)
    assert (flows >= rolled - 1e-6).all()
    np.testing.assert_allclose(uniform, 1, atol=1e-5)
    assert len(flows) == 13


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
