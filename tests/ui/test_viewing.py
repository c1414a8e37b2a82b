"""The view of the weights on the Playground: its controls, its link, and what the pictures say."""

from __future__ import annotations

from html import unescape

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.scenario import HEADS_VIEWS
from tests.ui.conftest import Opener, errors, link_of, ran, unfolded
from tests.ui.drawn import pictures

VIEW = {"hidden": "0", "row_scale": "1", "log_scale": "1"}
SINK = {"input": "trained", "layer": "2", "head": "7"}


def badges(app: AppTest) -> dict[str, str]:
    """What each picture says at its top."""
    found = pictures(app)
    return {name: sent.figure["layout"].get("meta", {}).get("badge", "") for name, sent in found.items()}


def press(app: AppTest, label: str) -> AppTest:
    (button,) = [one for one in app.sidebar.button if one.label == label]
    return ran(button.click().run())


def test_weights_are_shown_as_they_are_unless_another_view_is_asked_for(open_app: Opener) -> None:
    assert set(badges(open_app()).values()) == {""}


def test_a_link_opens_in_its_view_and_stays_the_same(open_app: Opener) -> None:
    app = open_app({**VIEW, "dropout": "0.2"})

    said = "key 0 The hidden, rows renormalised · each row its own scale · log colours"
    shown = {name: text for name, text in badges(app).items() if text}
    assert shown == {"grid": said, "pattern": said, "after_dropout": said}
    assert link_of(app) == {**VIEW, "dropout": "0.2"}
    for name in shown:
        header = pictures(app)[name].header
        assert header["alt"].endswith(f"Shown with {said}.")
        assert "shown = weight / Σ" in header["caption"]
        assert "Numbers in sentences are of the weights themselves" in header["caption"]


def test_the_controls_set_the_view_one_by_one(open_app: Opener) -> None:
    app = unfolded(open_app())

    ran(app.toggle(key="log_scale").set_value(True).run())
    assert badges(app)["grid"] == "log colours"
    ran(app.toggle(key="row_scale").set_value(True).run())
    assert badges(app)["pattern"] == "each row its own scale · log colours"
    ran(app.text_input(key="hidden").set_value("0, 5").run())
    assert badges(app)["grid"].startswith("keys 0 The, 5 mat hidden, rows renormalised · ")

    assert link_of(app) == {"hidden": "0, 5", "row_scale": "1", "log_scale": "1"}


def test_a_text_that_is_no_list_stays_as_typed_with_the_reason_below_and_the_last_good_one_is_used(
    open_app: Opener,
) -> None:
    app = unfolded(open_app({"hidden": "1"}))

    ran(app.text_input(key="hidden").set_value("one").run())

    assert errors(app) == ['`hidden` must be whole numbers with commas between them; got "one". Try 6, 5.']
    assert app.text_input(key="hidden").value == "one"
    assert link_of(app) == {"hidden": "1"}
    assert badges(app)["grid"] == "key 1 cat hidden, rows renormalised"

    ran(app.text_input(key="hidden").set_value("").run())

    assert (errors(app), link_of(app)) == ([], {})


def test_keys_past_the_last_are_ignored_and_named(open_app: Opener) -> None:
    app = open_app({"hidden": "0, 99"})

    assert badges(app)["grid"] == "key 0 The hidden, rows renormalised"
    assert "Key 99 is past the last, 10: it is ignored." in pictures(app)["grid"].header["answer"]
    alone = open_app({"hidden": "99"})
    assert badges(alone)["grid"] == ""
    assert "Key 99 is past the last, 10: it is ignored." in pictures(alone)["grid"].header["answer"]


def test_all_keys_can_be_hidden_and_every_row_is_empty(open_app: Opener) -> None:
    app = open_app({"text": "a b", "hidden": "0, 1"})

    assert "16 rows, counted over 8 heads, have no weight left." in pictures(app)["grid"].header["answer"]
    assert pictures(app)["pattern"].header["answer"].endswith("Nothing is left.")
    assert pictures(app)["pattern"].figure["layout"]["meta"]["ticks"]["y"] == ["⊖ a", "⊖ b"]


def test_where_nothing_is_a_sink_the_button_says_so(open_app: Opener) -> None:
    app = press(unfolded(open_app({"sharpness": "0.0"})), "Hide sinks")

    (told,) = [unescape(caption.value) for caption in app.sidebar.caption]
    assert told.startswith("No key gets 5.00\u202f% of the attention more than a uniform head gives it")
    assert link_of(app) == {"sharpness": "0.0"}

    ran(app.number_input(key="seed").set_value(1).run())

    assert list(app.sidebar.caption) == []


@pytest.mark.model
def test_a_head_that_parks_on_a_sink_shows_the_rest_of_its_pattern_once_the_sink_is_hidden(open_app: Opener) -> None:
    app = unfolded(open_app(SINK))
    before = np.asarray(pictures(app)["pattern"].trace()["z"])
    assert before[1:, 1:].max() < 0.1

    press(app, "Hide sinks")

    after = np.asarray(pictures(app)["pattern"].trace()["z"])
    assert link_of(app) == {**SINK, "hidden": "0"}
    assert badges(app)["pattern"] == "key 0 [CLS] hidden, rows renormalised"
    assert after[1:, 1:].max() > 0.3
    np.testing.assert_allclose(after[:, 1:].sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(after[:, 1:], before[:, 1:] / before[:, 1:].sum(axis=1, keepdims=True), rtol=1e-4)
    answer = pictures(app)["pattern"].header["answer"].replace("\u202f", " ")
    assert "gives 89.7 % of its attention to key 0 “[CLS]”; a uniform head would give 7.69 %. That key is" in answer
    assert "Of the rest most goes to key 1 “the”: 18.2 %; a uniform head gives 8.33 %." in answer

    press(app, "Show all keys")

    assert link_of(app) == SINK
    np.testing.assert_array_equal(np.asarray(pictures(app)["pattern"].trace()["z"]), before)


def test_a_long_input_is_viewed_without_its_map_being_held(open_app: Opener) -> None:
    app = open_app({"input": "vectors", "n_tokens": "700", "hidden": "3", "mask": "causal"})

    assert badges(app)["grid"] == "key 3 x3 hidden, rows renormalised"
    assert "1 row" not in pictures(app)["grid"].header["answer"]
    assert pictures(app)["pattern"].trace()["z"].shape == (234, 234)


UNUSED = {"row_scale": "1", "log_scale": "1", "hidden": "0", "shared_scale": "0"}


def captions(app: AppTest) -> str:
    return "\n".join(unescape(caption.value) for caption in app.main.caption)


@pytest.mark.parametrize("view", HEADS_VIEWS)
def test_every_view_of_the_heads_says_which_settings_of_the_view_change_nothing_in_it(
    view: str, open_app: Opener
) -> None:
    link = {"text": "one two one", "heads_view": view}

    assert "no effect here" not in captions(open_app(link, page="heads"))

    said = captions(open_app({**link, **UNUSED}, page="heads"))
    if view == "layers":
        assert "Each row its own scale, log colours and a scale for each head: no effect here" in said
        return
    assert (
        "Hidden keys, each row its own scale, log colours and a scale for each head: no effect here, where all is of "
        "the weights themselves; see the Playground and, for hidden keys, the lines across layers."
    ) in said


@pytest.mark.parametrize(("view", "has_effect"), [("lines", True), ("rollout", False), ("flow", False)])
def test_hidden_keys_have_an_effect_on_the_lines_alone(view: str, has_effect: bool, open_app: Opener) -> None:
    app = open_app({"heads_view": "layers", "layers_view": view, "hidden": "0"}, page="heads")

    assert ("Hidden keys: no effect here" in captions(app)) != has_effect
