"""Widgets, scenario and link stay the same thing, over page switches and visits."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.scenario import DEFAULT_TEXT, Scenario
from tests.ui.conftest import PAGES, Opener, link_of, ran, toasts, unfolded
from tests.ui.drawn import pictures

LINK = {
    "input": "vectors",
    "n_tokens": "7",
    "d_model": "48",
    "n_heads": "4",
    "sparsity": "sliding_window",
    "sparsity.window": "5",
    "position": "rotary",
    "weights": "random",
    "seed": "12",
    "scale": "viridis",
    "shared_scale": "0",
}


def switched(app: AppTest, page: str) -> AppTest:
    return ran(app.switch_page(f"pages/{page}.py").run())


def test_a_link_sets_every_widget(open_app: Opener) -> None:
    app = unfolded(open_app(LINK, page="heads"))

    assert link_of(app) == LINK
    assert app.number_input(key="n_tokens").value == 7
    assert (app.selectbox(key="d_model").value, app.selectbox(key="n_heads").value) == (48, 4)
    assert app.number_input(key="sparsity.window").value == 5
    assert app.selectbox(key="position").value == "rotary"
    assert app.number_input(key="seed").value == 12
    assert app.selectbox(key="scale").value == "viridis"
    assert app.toggle(key="shared_scale").value is False


def test_a_change_of_page_keeps_every_setting_there_and_back(open_app: Opener) -> None:
    app = open_app(LINK)

    for page in (*PAGES, *reversed(PAGES)):
        switched(app, page)
        assert link_of(app) == LINK, page
        assert app.selectbox(key="n_heads").value == 4
        assert app.number_input(key="n_tokens").value == 7


def test_settings_made_on_one_page_are_those_of_the_next(open_app: Opener) -> None:
    app = open_app()

    ran(app.selectbox(key="mask").select("causal").run())
    ran(app.selectbox(key="mask.align").select("top-left").run())
    switched(app, "heads")
    assert app.selectbox(key="mask.align").value == "top-left"
    ran(app.selectbox(key="n_heads").select(2).run())
    switched(app, "playground")

    assert link_of(app) == {"n_heads": "2", "mask": "causal", "mask.align": "top-left"}


def test_each_widget_changes_its_own_part_of_the_link(open_app: Opener) -> None:
    app = unfolded(open_app())

    for change, key, value in (
        (lambda: app.text_area(key="text").set_value("a b c d e"), "text", "a b c d e"),
        (lambda: app.selectbox(key="d_model").select(128), "d_model", "128"),
        (lambda: app.selectbox(key="n_heads").select(16), "n_heads", "16"),
        (lambda: app.slider(key="sharpness").set_value(2.0), "sharpness", "2.0"),
        (lambda: app.number_input(key="seed").set_value(9), "seed", "9"),
        (lambda: app.selectbox(key="scale").select("cividis"), "scale", "cividis"),
        (lambda: app.toggle(key="shared_scale").set_value(False), "shared_scale", "0"),
        (lambda: app.selectbox(key="head").select(3), "head", "3"),
        (lambda: app.selectbox(key="query").select(1), "query", "1"),
        (lambda: app.selectbox(key="key").select(1), "key", "1"),
    ):
        before = link_of(app)
        ran(change().run())
        assert link_of(app) == {**before, key: value}


def test_length_and_sentence_are_kept_while_the_input_is_the_other_one(open_app: Opener) -> None:
    app = open_app({"text": "to be or not to be"}, page="heads")

    _choose_input(app, "vectors")
    ran(app.number_input(key="n_tokens").set_value(7).run())
    _choose_input(app, "sentence")
    assert app.text_area(key="text").value == "to be or not to be"
    ran(app.run())
    _choose_input(app, "vectors")

    assert app.number_input(key="n_tokens").value == 7
    assert link_of(app) == {"input": "vectors", "text": "to be or not to be", "n_tokens": "7"}


def _choose_input(app: AppTest, kind: str) -> None:
    group = next(group for group in app.get("button_group") if group.key == "input")
    ran(group.set_value(kind).run())


def test_another_entry_of_a_menu_has_its_own_parameters_and_the_first_ones_do_not_leak(open_app: Opener) -> None:
    app = open_app({"padding": "padding_left", "padding.padded": "3"}, page="heads")

    ran(app.selectbox(key="padding").select("no_padding").run())

    assert link_of(app) == {}


def test_from_one_entry_to_another_only_a_changed_parameter_is_carried(open_app: Opener) -> None:
    app = open_app(page="heads")

    ran(app.selectbox(key="position").select("rotary").run())
    assert link_of(app) == {"position": "rotary"}
    ran(app.selectbox(key="position").select("rotary_llama3").run())
    assert link_of(app) == {"position": "rotary_llama3"}
    ran(app.slider(key="position.factor").set_value(6.0).run())
    ran(app.selectbox(key="position").select("rotary_linear").run())
    assert link_of(app) == {"position": "rotary_linear", "position.factor": "6.0"}


def test_a_new_link_in_the_same_session_sets_the_widgets_again(open_app: Opener) -> None:
    app = open_app({"n_heads": "4"}, page="heads")
    ran(app.selectbox(key="n_heads").select(2).run())

    app.query_params.clear()
    app.query_params.update({"n_heads": "16", "mask": "causal"})
    ran(app.run())

    assert app.selectbox(key="n_heads").value == 16
    assert app.selectbox(key="mask").value == "causal"
    assert link_of(app) == {"n_heads": "16", "mask": "causal"}


def test_reset_brings_the_default_scenario_back(open_app: Opener) -> None:
    app = open_app({**LINK, "text": "to be"}, page="heads")

    ran(next(button for button in app.button if button.label == "Reset").click().run())

    assert link_of(app) == {}
    assert app.text_area(key="text").value == DEFAULT_TEXT


def test_a_new_seed_is_a_new_seed(open_app: Opener) -> None:
    app = open_app({"seed": "5"}, page="heads")

    ran(next(button for button in app.button if button.label == "New seed").click().run())

    assert link_of(app).get("seed", "0") == str(app.number_input(key="seed").value)
    assert 0 <= app.number_input(key="seed").value <= 999_999


def test_a_head_that_a_smaller_setting_lacks_is_lowered_to_its_last(open_app: Opener) -> None:
    app = open_app({"head": "7", "query": "10", "key": "9"})

    ran(app.selectbox(key="n_heads").select(4).run())
    ran(app.text_area(key="text").set_value("a b c").run())

    assert (app.selectbox(key="head").value, app.selectbox(key="query").value, app.selectbox(key="key").value) == (
        3,
        2,
        2,
    )


def test_a_link_past_the_last_head_and_token_says_so_once_and_carries_what_is_shown(open_app: Opener) -> None:
    app = open_app({"head": "99", "query": "11", "key": "2", "n_heads": "4"})

    assert toasts(app) == [
        "Changed in this link: head, query. "
        "`head` must be a whole number from 0 to 3; got head=99. Shown with head=3. "
        "`query` must be a whole number from 0 to 10; got query=11. Shown with query=10."
    ]
    assert link_of(app) == {"n_heads": "4", "head": "3", "query": "10", "key": "2"}
    assert toasts(ran(app.run())) == [], "said once"


@pytest.mark.model
def test_a_link_past_the_last_token_of_the_trained_model_says_so_once(open_app: Opener) -> None:
    app = open_app({"input": "trained", "query": "13", "key": "12", "layer": "6"})

    assert toasts(app) == [
        "Changed in this link: layer, query. "
        "`layer` must be a whole number from 0 to 5; got layer=6. Shown with layer=5. "
        "`query` must be a whole number from 0 to 12; got query=13. Shown with query=12."
    ]
    assert link_of(app) == {"input": "trained", "layer": "5", "query": "12", "key": "12"}
    ran(app.text_area(key="text").set_value("a b").run())
    assert toasts(app) == [], "a shorter text lowers the query without a word"
    assert link_of(app) == {"input": "trained", "text": "a b", "layer": "5", "query": "3", "key": "3"}


@pytest.mark.parametrize("page_name", PAGES)
def test_a_shorter_sentence_lowers_the_query_in_the_link_without_a_word(page_name: str, open_app: Opener) -> None:
    app = open_app({"query": "10", "key": "9"}, page=page_name)

    ran(app.text_area(key="text").set_value("a b c").run())

    assert link_of(app) == {"text": "a b c", "query": "2", "key": "2"}
    assert toasts(app) == []


def test_the_first_cell_on_screen_is_a_word_that_finds_its_other_occurrence(open_app: Opener) -> None:
    found = pictures(open_app())

    assert found["pattern"].header["title"] == "Which keys does head 0 (same word) look at?"
    assert found["query_row"].header["title"] == "What does query 4 “the” look at?"
    answer = found["query_row"].header["answer"]
    assert answer.startswith("It gives 0.507 to key 0 “The”: rank 1 of 11 allowed keys")
    assert "A uniform head would give 0.0909. Its arithmetic: q·k 67.8 × 0.354 = 24.0," in answer


def test_the_link_to_copy_is_the_link_in_the_address_bar(open_app: Opener) -> None:
    app = open_app({"text": "a & b=c", "n_heads": "4"})
    app.session_state["link"] = True
    ran(app.run())

    assert app.sidebar.get("code")[0].value.partition("?")[2] == "text=a+%26+b%3Dc&n_heads=4"


def test_only_the_mask_changes_when_the_mask_is_changed(open_app: Opener) -> None:
    app = open_app({"query": "10"})
    before = pictures(app)["query_row"].header["answer"]

    ran(app.selectbox(key="mask").select("causal").run())

    assert pictures(app)["query_row"].header["answer"] == before, "the last query may attend to every key either way"


@pytest.mark.parametrize("page_name", PAGES)
def test_the_first_change_after_a_cold_deep_link_changes_nothing_else(page_name: str, open_app: Opener) -> None:
    app = open_app({"d_model": "32", "text": "to be or not to be"}, page=page_name, cold=True)

    ran(app.selectbox(key="mask").select("causal").run())

    assert link_of(app) == {"d_model": "32", "text": "to be or not to be", "mask": "causal"}
    assert app.text_area(key="text").value == "to be or not to be"


def test_the_defaults_of_the_widgets_are_those_of_the_scenario(open_app: Opener) -> None:
    app, default = unfolded(open_app()), Scenario()

    assert app.selectbox(key="d_model").value == default.d_model
    assert app.selectbox(key="n_heads").value == default.n_heads
    assert app.slider(key="sharpness").value == default.sharpness
    assert app.number_input(key="seed").value == default.seed
    assert app.toggle(key="shared_scale").value is default.shared_scale


def test_a_parameter_of_an_entry_that_was_left_does_not_come_back_with_another_one(open_app: Opener) -> None:
    app = open_app(page="positions")
    for name in ("none", "sinusoidal"):
        app.session_state["compared"] = name
        ran(app.run())

    assert link_of(app) == {"compared": "sinusoidal"}, (
        "the layout of rotary, which it began with, is not that of sinusoidal"
    )
