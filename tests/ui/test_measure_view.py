"""The view of measures: of one layer or all, where a mean tells too little, and with other parameters."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.registries import METRICS
from attnviz.ui import session
from tests.ui.conftest import Opener, hints, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows

VIEW = {"heads_view": "measure"}
TRAINED = {"input": "trained", "mask": "full", **VIEW}


def test_a_measure_of_distance_comes_with_the_offsets_of_the_chosen_head(open_app: Opener) -> None:
    app = open_app({**VIEW, "measure": "mean_distance", "head": "1"}, page="heads")

    header = pictures(app)["offsets_of_head"].header
    assert header["title"] == "How far does head 1 (previous token) look, and which way?"
    assert "to offset −1; a uniform head gives" in header["answer"]


@pytest.mark.parametrize("name", ["first_key", "sink_mass"])
def test_a_measure_of_the_sink_comes_with_what_each_key_receives(name: str, open_app: Opener) -> None:
    app = open_app({**VIEW, "measure": name}, page="heads")

    received = pictures(app)["received_by_keys"]
    assert received.header["answer"].startswith("Most: head 3 (first token) gives key 0 “The”")
    np.testing.assert_allclose(np.nansum(received.trace()["z"], axis=1), 0, atol=1e-5)


def test_another_parameter_is_in_titles_and_headings_and_is_measured(open_app: Opener) -> None:
    usual = open_app({**VIEW, "measure": "top_mass"}, page="heads")
    app = open_app({**VIEW, "measure": "top_mass", "measure.top": "1"}, page="heads")

    assert pictures(usual)["measure_of_heads"].header["title"].startswith("Top mass, top 5:")
    assert pictures(app)["measure_of_heads"].header["title"].startswith("Top mass, top 1:")
    assert table_rows(app)[0][2] == "Top mass, top 1"
    largest = open_app({**VIEW, "measure": "largest_weight"}, page="heads")
    assert [row[2] for row in table_rows(app)[1:]] == [row[2] for row in table_rows(largest)[1:]]


@pytest.mark.model
def test_all_layers_are_one_map_and_the_previous_token_head_is_its_highest(open_app: Opener) -> None:
    app = open_app({**TRAINED, "scope": "all", "measure": "previous_token"}, page="heads")

    drawn = pictures(app)["measure_of_layers"]
    assert drawn.header["answer"].startswith("Highest: head 0.2 (previous token), ")
    assert (
        "For comparison, a head that spreads its attention evenly over the allowed keys has 0.0769."
        in (drawn.header["answer"])
    )
    values = drawn.trace()["z"]
    assert values.shape == (6, 14)
    np.testing.assert_allclose(values[:, 13], 1 / 13, rtol=1e-5)
    assert int(np.nanargmax(values)) == 2
    assert set(pictures(app)) == {"measure_of_layers"}


@pytest.mark.model
@pytest.mark.parametrize("name", METRICS.names())
def test_every_measure_has_a_map_of_all_layers(name: str, open_app: Opener) -> None:
    app = open_app({**TRAINED, "scope": "all", "measure": name, "text": "a cat is a cat"}, page="heads")

    assert METRICS[name].formula in pictures(app)["measure_of_layers"].header["caption"]


@pytest.mark.model
def test_one_layer_or_all_is_one_choice(open_app: Opener) -> None:
    app = open_app(TRAINED, page="heads")

    ran(app.button_group(key="scope").set_value("all").run())

    assert link_of(app)["scope"] == "all"
    assert set(pictures(app)) == {"measure_of_layers"}


def test_where_there_is_one_layer_nothing_is_asked(open_app: Opener) -> None:
    app = open_app({**VIEW, "scope": "all"}, page="heads")

    assert [group for group in app.button_group if group.key == "scope"] == []
    assert set(pictures(app)) == {"measure_of_heads"}


@pytest.mark.parametrize(
    ("clicked", "chosen"),
    [({"query": 5, "key": 11}, {"layer": 5, "head": 11}), ({"query": 2, "key": 13}, {}), ({"head": 3}, {}), ({}, {})],
)
def test_a_click_in_the_map_chooses_layer_and_head_but_not_the_uniform_one(
    clicked: dict[str, int], chosen: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    state: dict[str, object] = {"map": {"click": clicked}}
    monkeypatch.setattr(session.st, "session_state", state)

    session.head_setter("map", 12)()

    assert {name: state[name] for name in ("layer", "head") if name in state} == chosen


def test_where_no_word_comes_again_the_sentence_can_be_said_twice(open_app: Opener) -> None:
    app = open_app({**VIEW, "measure": "induction", "text": "my cat sat"}, page="heads")
    assert hints(app)[0].startswith("Induction is not defined for any query of this input.")

    (button,) = [button for button in app.button if button.label == "Say the sentence twice"]
    ran(button.click().run())

    assert link_of(app)["text"] == "my cat sat my cat sat"
    assert pictures(app)["measure_of_heads"].header["answer"].startswith("Most: head ")


def test_random_vectors_have_no_word_that_comes_again(open_app: Opener) -> None:
    app = open_app({**VIEW, "measure": "same_token", "input": "vectors"}, page="heads")

    assert "No word comes again here." in sentences(app)
    assert [button for button in app.button if button.label == "Say the sentence twice"] == []
