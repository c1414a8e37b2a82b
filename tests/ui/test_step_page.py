"""The page with the arithmetic of one weight: its stages, its row, what if, and the link to it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz import attend
from attnviz.registries import MASKS, POSITIONS
from attnviz.scenario import STAGES, Scenario
from attnviz.ui.stepper import nearest
from tests.ui.conftest import Opener, errors, link_of, ran, toasts
from tests.ui.drawn import pictures, sentences, table_rows

EVERY_STAGE = {"position": "rotary", "softcap": "20.0", "dropout": "0.1"}


def stage_names(app: AppTest) -> list[str]:
    (control,) = [one for one in app.get("button_group") if one.key == "stage"]
    return [re.sub(r"^\d+ ", "", option.content) for option in control.proto.options]


def pressed(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    return ran(button.click().run())


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage != "bias"])
@pytest.mark.parametrize("cold", [False, True], ids=["warm", "cold"])
def test_every_stage_has_its_own_link(stage: str, cold: bool, open_app: Opener) -> None:
    link = EVERY_STAGE | ({} if stage == "dot" else {"stage": stage})

    app = open_app(link, page="step_by_step", cold=cold)

    assert errors(app) == []
    assert toasts(app) == []
    assert link_of(app) == link
    assert {"arrays"} <= set(pictures(app))


def test_next_and_previous_lead_through_the_stages_that_there_are(open_app: Opener) -> None:
    app = open_app({"stage": "input"}, page="step_by_step")
    seen = [link_of(app).get("stage", "dot")]
    for _ in range(7):
        pressed(app, "Next")
        seen.append(link_of(app).get("stage", "dot"))

    assert seen == ["input", "projection", "dot", "scale", "mask", "softmax", "context", "output"]
    (last,) = [button for button in app.button if button.label == "Next"]
    assert last.disabled
    assert link_of(pressed(app, "Previous"))["stage"] == "context"


def test_a_link_to_a_stage_that_the_setting_has_not_shows_the_next_one_and_says_so(open_app: Opener) -> None:
    app = open_app({"stage": "cap"}, page="step_by_step")

    assert link_of(app) == {"stage": "mask"}
    (toast,) = toasts(app)
    assert "`stage` must be one of input, projection, dot" in toast
    assert "got stage=cap. Shown with stage=mask." in toast
    assert nearest("dropout", ["softmax", "context"]) == "context"


def test_a_stage_that_goes_away_with_its_setting_gives_way_to_the_next_one(open_app: Opener) -> None:
    app = open_app({"position": "alibi", "stage": "bias"}, page="step_by_step")

    ran(app.selectbox(key="position").select("sinusoidal").run())

    assert link_of(app) == {"stage": "mask"}
    assert toasts(app) == []


def test_the_equations_on_screen_hold_the_numbers_of_the_trace(open_app: Opener) -> None:
    app = open_app({"stage": "scale", "head": "4", "query": "8", "key": "3"}, page="step_by_step")

    score = float(attend(Scenario().config()).scores[4, 8, 3])
    assert f"{score:.3f}" in sentences(app)
    assert r"\frac{1}{\sqrt{d_\text{head}}}" in sentences(app)
    assert "scores: 11 × 11 for each of 8 heads" in sentences(app)


@pytest.mark.parametrize("way", ["by selector", "by link"])
def test_the_same_weight_by_selector_and_by_link_is_the_same_page(way: str, open_app: Opener) -> None:
    link = {"head": "3", "query": "6", "key": "0"}
    app = open_app(link if way == "by link" else {}, page="step_by_step")
    if way == "by selector":
        for field, place in link.items():
            ran(app.selectbox(key=field).select_index(int(place)).run())

    assert link_of(app) == {"head": "3", "query": "6"}
    assert "query 6 “because”" in pictures(app)["row_scores"].header["title"]
    assert pictures(app)["arrays"].header["answer"].startswith("Marked: query · key ")


def test_the_row_table_has_masked_cells_as_masked_and_others_with_their_bias(open_app: Opener) -> None:
    app = open_app({"position": "alibi", "sparsity": "sliding_window", "head": "1"}, page="step_by_step")

    head, *rows = table_rows(app)
    scenario = Scenario(
        position=POSITIONS["alibi"].spec(),
        sparsity=MASKS["sliding_window"].spec(),
    )
    trace = attend(scenario.config())

    assert head == [*("Key", "Token", "Weight", "q · k", "Score", "Bias", "Allowed", "Masked", "Exponential")]
    assert [row[6] for row in rows] == ["yes" if ok else "no" for ok in trace.mask[0, 4]]
    assert [row[7] == "−∞" for row in rows] == [not ok for ok in trace.mask[0, 4]]
    assert [row[5] for row in rows][:4] == ["−1.00", "−0.750", "−0.500", "−0.250"]
    assert {row[2] for row in rows if row[6] == "no"} == {"0"}


def test_the_scores_of_the_row_are_drawn_with_forbidden_keys_apart(open_app: Opener) -> None:
    app = open_app({"mask": "causal"}, page="step_by_step")

    names = [trace["name"] for trace in pictures(app)["row_scores"].figure["data"]]
    allowed, forbidden, given = pictures(app)["row_scores"].figure["data"]

    assert names == ["score", "score of a forbidden key", "what the softmax gets"]
    assert np.isnan(allowed["y"]).tolist() == [False] * 5 + [True] * 6
    np.testing.assert_array_equal(np.isnan(forbidden["y"]), ~np.isnan(allowed["y"]))
    np.testing.assert_array_equal(given["y"], allowed["y"])


def test_what_if_shows_the_row_under_another_setting_and_leaves_the_link_alone(open_app: Opener) -> None:
    link = {"head": "4", "step_view": "what_if"}
    app = open_app(link, page="step_by_step")
    assert pictures(app)["row_changed"].header["answer"].startswith("Nothing changes: the chosen key keeps")
    ran(app.toggle(key="what_if.scaled").set_value(False).run())
    as_set, changed = pictures(app)["row_changed"].figure["data"]
    trace = attend(Scenario().config())

    np.testing.assert_allclose(as_set["y"], trace.weights[4, 4], atol=1e-6)
    scores = trace.scores[4, 4].astype(float) * np.sqrt(8)
    expected = np.exp(scores - scores.max())
    np.testing.assert_allclose(changed["y"], expected / expected.sum(), atol=1e-5)

    ran(app.toggle(key="what_if.scaled").set_value(True).run())
    assert pictures(app)["row_changed"].header["answer"].startswith("Nothing changes: the chosen key keeps")
    ran(app.slider(key="what_if.temperature").set_value(10.0).run())
    _, cooler = pictures(app)["row_changed"].figure["data"]
    assert cooler["y"].max() < as_set["y"].max()
    assert link_of(app) == link


def test_what_if_is_measured_from_the_setting_and_kept_over_a_page_switch(open_app: Opener) -> None:
    app = open_app({"is_scaled": "0", "step_view": "what_if"}, page="step_by_step")
    assert not app.toggle(key="what_if.scaled").value
    assert pictures(app)["row_changed"].header["answer"].startswith("Nothing changes")

    ran(app.toggle(key="what_if.scaled").set_value(True).run())
    _, changed = pictures(app)["row_changed"].figure["data"]

    np.testing.assert_allclose(changed["y"], attend(Scenario().config()).weights[0, 4], atol=1e-6)


def test_with_a_soft_cap_the_score_and_the_capped_score_have_a_column_each(open_app: Opener) -> None:
    head, *rows = table_rows(open_app({"softcap": "20.0"}, page="step_by_step"))

    assert head[3:6] == ["q · k", "Score", "Capped"]
    assert (rows[0][4], rows[0][5]) == ("24.0", "16.7")


def test_without_the_mask_a_forbidden_key_gets_its_weight(open_app: Opener) -> None:
    app = open_app({"mask": "causal", "head": "5", "step_view": "what_if"}, page="step_by_step")

    ran(app.toggle(key="what_if.masked").set_value(False).run())

    as_set, changed = pictures(app)["row_changed"].figure["data"]
    assert (as_set["y"][5:] == 0).all()
    np.testing.assert_allclose(changed["y"], 1 / 11, atol=1e-6)


def test_the_scaling_view_measures_variance_and_gradient(open_app: Opener) -> None:
    app = open_app({"step_view": "scaling", "weights": "random"}, page="step_by_step")

    plain, scaled, own_plain, own = pictures(app)["variance"].figure["data"]
    np.testing.assert_allclose(plain["y"] / np.array(plain["x"]), 1, atol=0.15)
    np.testing.assert_allclose(scaled["y"], 1, atol=0.15)
    trace = attend(Scenario(weights="random").config())
    assert own["x"] == [8]
    assert own["y"][0] == pytest.approx(float(trace.scores[0].astype(float).var()), rel=1e-5)
    assert own_plain["y"][0] == pytest.approx(8 * own["y"][0])
    without, with_scale, *_ = pictures(app)["gradient"].figure["data"]
    assert without["y"][-1] < 0.4 * with_scale["y"][-1]


def test_grouped_heads_are_drawn_with_the_head_that_serves_them(open_app: Opener) -> None:
    app = open_app({"stage": "projection", "n_kv_heads": "2", "head": "5"}, page="step_by_step")

    lines = pictures(app)["groups"].figure["data"][1]
    assert lines["x"][:2].tolist() == [5.0, 5.5]
    assert pictures(app)["groups"].header["answer"] == (
        "Key/value head 1 serves query heads 4 to 7, head 5 among them: 2 instead of 8 keys and values for each token."
    )
    assert "groups" not in pictures(open_app({"stage": "projection"}, page="step_by_step"))


def test_cross_attention_shows_both_inputs(open_app: Opener) -> None:
    link = {"input": "vectors", "cross": "1", "n_tokens": "5", "n_keys": "9", "stage": "input", "key": "8"}

    app = open_app(link, page="step_by_step")

    assert pictures(app)["arrays"].figure["layout"]["meta"]["cells"]["roles"] == [
        *("vector of the query", "position of the query", "x of the query"),
        *("vector of the key", "position of the key", "x of the key"),
    ]


def test_dropout_shows_the_weight_before_and_after(open_app: Opener) -> None:
    app = open_app({"dropout": "0.2", "sharpness": "0.0", "stage": "dropout"}, page="step_by_step")

    said = sentences(app)
    assert "With this seed the weight is" in said
    assert ("kept and divided by 1 − 0.2" in said) or ("the weight is dropped" in said)
    before, after = pictures(app)["arrays"].figure["layout"]["meta"]["cells"]["roles"]
    assert (before, after) == ("weights", "after dropout")


@pytest.mark.parametrize("stage", ["input", "projection", "dot", "softmax", "context", "output"])
@pytest.mark.parametrize("layer", ["0", "5"])
def test_a_trained_models_weight_has_its_arithmetic_too(stage: str, layer: str, open_app: Opener) -> None:
    link = {"input": "trained", "layer": layer, "head": "11", "query": "8", "key": "2", "stage": stage}

    app = open_app(link, page="step_by_step")

    assert errors(app) == []
    assert toasts(app) == []
    if (stage, layer) == ("softmax", "5"):
        assert "The key gets 71.2" in sentences(app)
    if (stage, layer) == ("input", "0"):
        assert (
            "the sum of word + position + segment, brought to mean 0 and variance 1 by LayerNorm, then stretched"
            in sentences(app)
        )


def test_the_playground_says_the_arithmetic_of_the_chosen_weight_and_leads_to_every_step(open_app: Opener) -> None:
    app = open_app({"head": "4", "query": "8", "key": "7"})

    trace = attend(Scenario().config())
    answer = pictures(app)["query_row"].header["answer"]
    assert f"× 0.354 = {trace.scores[4, 8, 7]:.2f}" in answer
    assert answer.endswith(f"= {trace.weights[4, 8, 7]:.3f}.")
    (link,) = [link for link in app.get("page_link") if "Every step" in link.proto.label]
    assert link.proto.query_string == "head=4&query=8&key=7"
