"""Heads that are switched off, on every page; and the views of what is lost without a head."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz import attend
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from tests.ui.conftest import Opener, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows

OFF = {"removed": "3, 5"}


def switches(app: AppTest, key: str = "heads_on"):
    (found,) = [group for group in app.button_group if group.key == key]
    return found


def titles(app: AppTest) -> list[str]:
    return pictures(app)["grid"].trace(1)["text"]


def test_a_head_that_is_off_is_marked_in_the_grid_and_said(open_app: Opener) -> None:
    app = open_app(OFF)

    assert titles(app)[3] == "<b>3</b> off · first token"
    assert titles(app)[4] == "<b>4</b> near neighbours"
    assert "heads 3 and 5 off" in sentences(app)
    assert switches(app).value == [0, 1, 2, 4, 6, 7]


def test_the_mean_as_stand_in_is_said(open_app: Opener) -> None:
    assert "head 3 off (its mean instead)" in sentences(open_app({"removed": "3", "stand_in": "mean"}))


def test_a_switch_writes_the_link_and_the_link_sets_the_switches(open_app: Opener) -> None:
    app = open_app()
    assert switches(app).value == list(range(8))

    ran(switches(app).set_value([0, 1, 2, 3, 4, 5, 7]).run())
    assert link_of(app) == {"removed": "6"}
    assert titles(app)[6].startswith("<b>6</b> off")

    ran(switches(app).set_value(list(range(8))).run())
    assert link_of(app) == {}
    assert titles(app)[6] == "<b>6</b> same word (2)"


def test_switches_of_a_layer_leave_those_of_others(open_app: Opener) -> None:
    app = open_app({"input": "trained", "layer": "2", "removed": "1, 2.7, 5.11"})
    assert switches(app).value == [head for head in range(12) if head != 7]

    ran(switches(app).set_value(list(range(12))).run())

    assert link_of(app)["removed"] == "1, 5.11"
    assert "heads 0.1 and 5.11 off" in sentences(app)


def test_of_many_heads_those_that_are_off_are_listed(open_app: Opener) -> None:
    app = open_app({"input": "vectors", "n_heads": "64", "removed": "40"})
    assert app.multiselect(key="heads_off").value == [40]

    ran(app.multiselect(key="heads_off").set_value([2, 40]).run())

    assert link_of(app)["removed"] == "2, 40"


def test_heads_that_there_are_not_are_ignored_and_said(open_app: Opener) -> None:
    app = open_app({"removed": "1, 9"})

    assert "Switched off was head 9, which there is not: the last head is 7." in sentences(app)
    assert "head 1 off" in sentences(app)


def test_every_step_of_a_number_goes_without_the_head(open_app: Opener) -> None:
    link = {"head": "3", "stage": "output", "removed": "3"}

    said = sentences(open_app(link, page="step_by_step"))

    assert "Head 3 is switched off: 0 takes the place of its context." in said
    assert "A vector of length 0, 0 % of the lengths" in said


def test_removing_a_head_of_the_model_changes_later_layers(open_app: Opener) -> None:
    link = {"input": "trained", "layer": "5"}
    before, after = (
        pictures(open_app(one))["pattern"].trace()["z"] for one in (link, link | {"removed": "2.7, 0.2, 0.3"})
    )

    assert np.nanmax(np.abs(before - after)) > 1e-3


def test_the_bars_and_the_sentence_tell_what_a_head_is_worth(open_app: Opener) -> None:
    app = open_app({"heads_view": "removal", "removed": "3"}, page="heads")

    header = pictures(app)["removal_bars"].header
    assert header["answer"] == (
        "Removing head 1 (previous token) changes the output most, by 45.7 %; head 5 (uniform) least, by "
        "21.9 %. For comparison, 8 heads of equal length at right angles would each give 35.4 %."
    )
    headings, *rows = table_rows(app)
    assert headings[3] == "Change without it (%)"
    assert [row[3] for row in rows[:2]] == ["37.7", "45.7"]
    said = sentences(app)
    assert "Without it the output changes by 37.9 % (cosine 0.922). Pictures" in said
    assert said.count("changes by") == 1


def test_heads_of_other_layers_are_told_from_those_of_the_layer_on_screen(open_app: Opener) -> None:
    link = {"input": "trained", "layer": "2"}

    assert "heads 0.1 and 2.7 off" in sentences(open_app(link | {"removed": "1, 2.7"}))
    assert "Without head 2.7 the output changes by" in sentences(open_app(link | {"removed": "1, 2.7"}))
    assert "Without them the output changes by" in sentences(open_app(link | {"removed": "2.3, 2.7"}))


def test_of_a_long_input_the_view_alone_says_what_heads_that_are_off_change(open_app: Opener) -> None:
    link = {"input": "vectors", "n_tokens": "2100", "n_heads": "4", "removed": "3"}
    app = open_app(link | {"heads_view": "removal"}, page="heads")

    assert sentences(app).count("Without it the output changes by") == 1
    change = float(table_rows(app)[4][3])
    assert f"Without it the output changes by {change:g}" in sentences(app)


def test_the_stand_in_is_one_choice_and_in_the_link(open_app: Opener) -> None:
    app = open_app({"heads_view": "removal"}, page="heads")
    before = pictures(app)["removal_bars"].trace(1)["x"]

    ran(app.button_group(key="stand_in").set_value("mean").run())

    assert link_of(app) == {"heads_view": "removal", "stand_in": "mean"}
    assert (pictures(app)["removal_bars"].trace(1)["x"] < before).all()


@pytest.mark.parametrize("stand_in", ["zero", "mean"])
def test_the_share_of_what_is_written_is_from_nothing_whatever_takes_the_place(stand_in: str, open_app: Opener) -> None:
    trace = attend(Scenario(mask=MASKS["causal"].spec()).config())
    W = trace.origin.to_output.W.astype(np.float64).reshape(trace.n_heads, trace.d_head, -1)
    lengths = [np.linalg.norm(trace.context[head].astype(np.float64) @ W[head]) for head in range(trace.n_heads)]

    app = open_app({"heads_view": "removal", "mask": "causal", "stand_in": stand_in}, page="heads")

    headings, *rows = table_rows(app)
    place = headings.index("Share of what is written (%)")
    shown = [float(row[place]) for row in rows]
    np.testing.assert_allclose(shown, 100 * np.array(lengths) / np.sum(lengths), rtol=0.005)
    assert shown[3] == 13.4
    captions = {name: sent.header["caption"] for name, sent in pictures(app).items()}
    symbol, what = ("p_h", "what it writes;") if stand_in == "zero" else ("d_h", "what it writes less its mean")
    assert f"by ‖{symbol}‖, the length of {what}" in captions["pruning_lines"]
    assert f"‖Σ{symbol}‖ / √Σ‖{symbol}‖²" in captions["pruning_lines"]
    assert f"Dotted: ‖Σ{symbol}‖ / ‖output‖ / √heads" in captions["removal_bars"]


def test_all_heads_of_the_model_are_measured_at_once_for_a_short_text(open_app: Opener) -> None:
    app = open_app({"heads_view": "removal", "input": "trained", "removed": "5.3"}, page="heads")

    sent = pictures(app)["importance_map"]
    assert sent.header["answer"].startswith(
        "Without head 5.11 the embedding changes by 14.4 %, without 5.3 by 8.10 %, without any one of the other 70 by "
        "at most 3.06"
    )
    assert sent.trace()["z"].shape == (6, 12)
    assert sent.trace()["text"][5][3] == "8.1"
    np.testing.assert_allclose(10 ** sent.trace()["z"], sent.trace()["customdata"], rtol=0.02)
    assert (sent.trace(1)["x"].round().tolist(), sent.trace(1)["y"].tolist()) == ([3.0], [5.0])
    assert "All heads that are off together change the embedding of the text by 8.1" in sentences(app)


def test_of_a_longer_text_all_heads_are_measured_when_that_is_asked_for(open_app: Opener) -> None:
    text = "The cat sat on the mat because it was tired. " * 3
    app = open_app({"heads_view": "removal", "input": "trained", "text": text}, page="heads")
    assert set(pictures(app)) == {"removal_bars", "pruning_lines"}

    (button,) = [button for button in app.button if button.label == "Measure all 72 heads"]
    ran(button.click().run())
    assert "importance_map" in pictures(app)

    ran(app.slider(key="layer").set_value(3).run())
    assert "importance_map" in pictures(app)


@pytest.mark.parametrize("gate_by", ["query", "sentence"])
def test_adaptive_heads_hold_what_is_asked_for(gate_by: str, open_app: Opener) -> None:
    app = open_app({"heads_view": "adaptive", "kept_share": "0.5", "gate_by": gate_by}, page="heads")

    sent = pictures(app)["gate_map"]
    on = sent.trace()["z"] >= 0
    assert "of 8 heads hold 50 % of what is written. Without the others the output changes by" in sent.header["answer"]
    assert (np.where(on, sent.trace()["z"], 0).sum(axis=1) > (0.499 if gate_by == "query" else 0)).all()
    assert (len(np.unique(on, axis=0)) == 1) == (gate_by == "sentence")


def test_any_query_of_a_long_input_can_be_chosen_for_its_gates(open_app: Opener) -> None:
    app = open_app({"heads_view": "adaptive", "input": "vectors", "n_tokens": "150"}, page="heads")
    assert pictures(app)["gate_map"].trace()["y0"] == 0

    ran(app.selectbox(key="query").select(140).run())

    assert pictures(app)["gate_map"].trace()["y0"] == 128
    assert "Query 140 “x140” uses" in sentences(app)
    assert link_of(app)["query"] == "140"


def test_the_gates_of_all_layers_are_shown_with_what_each_and_the_model_loses(open_app: Opener) -> None:
    link = {"heads_view": "adaptive", "input": "trained", "scope": "all"}

    app = open_app(link | {"gate_by": "sentence"}, page="heads")

    shown = pictures(app)
    assert set(shown) == {"gates_of_layers", "lost_in_layers"}
    on = shown["gates_of_layers"].trace()["z"]
    assert set(np.unique(on)) == {0, 100}
    assert f", {round(on.sum() / 100)} of 72 heads are on" in shown["gates_of_layers"].header["answer"]
    assert shown["lost_in_layers"].figure["layout"]["meta"]["ticks"]["y"] == [
        f"layer {layer} · {round(row.sum() / 100)}" for layer, row in enumerate(on)
    ]
    lost, random = (trace["x"] for trace in shown["lost_in_layers"].figure["data"])
    assert (lost < random).all()
    assert "All these heads off together, in one run of the model, change the embedding" in sentences(app)

    app = open_app(link | {"kept_share": "1"}, page="heads")
    assert (pictures(app)["gates_of_layers"].trace()["z"] == 100).all()
    assert "All heads of the model are on, and the embedding of the text does not change." in sentences(app)


def test_made_input_has_one_layer_whatever_the_scope(open_app: Opener) -> None:
    assert "gate_map" in pictures(open_app({"heads_view": "adaptive", "scope": "all"}, page="heads"))


def test_too_many_heads_are_refused_in_a_sentence(open_app: Opener) -> None:
    link = {"heads_view": "removal", "input": "vectors", "n_tokens": "4", "d_model": "256", "n_heads": "256"}

    app = open_app(link, page="heads")

    assert [error.value.split(";")[0] for error in app.error] == [
        "`n_heads` must be at most 128 to be removed one by one"
    ]
