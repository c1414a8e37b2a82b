"""The view of measures: of one layer or all, where a mean tells too little, and with other parameters."""

from __future__ import annotations

import re

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
@pytest.mark.parametrize("name", [name for name in METRICS.names() if name != "distance_in_image"])
def test_every_measure_has_a_map_of_all_layers(name: str, open_app: Opener) -> None:
    app = open_app({**TRAINED, "scope": "all", "measure": name, "text": "a cat is a cat"}, page="heads")

    assert METRICS[name].formula in pictures(app)["measure_of_layers"].header["caption"]


@pytest.mark.model
def test_a_measure_that_no_layer_has_is_said_not_to_be_defined_with_a_way_out(open_app: Opener) -> None:
    app = open_app({**TRAINED, "scope": "all", "measure": "distance_in_image"}, page="heads")

    assert pictures(app) == {}
    assert hints(app)[0].startswith("Mean distance in the image is not defined for any query of this input.")
    assert hints(app)[0].endswith("choose the positions 2-D relative (Swin).")


@pytest.mark.model
def test_the_head_whose_offsets_stand_below_the_map_of_all_layers_is_named_with_its_layer(open_app: Opener) -> None:
    link = {**TRAINED, "scope": "all", "measure": "mean_distance", "layer": "2", "head": "7"}

    header = pictures(open_app(link, page="heads"))["offsets_of_head"].header

    assert header["title"] == "How far does head 2.7 (sink) look, and which way?"
    assert header["answer"].startswith("Head 2.7 (sink) gives ")


@pytest.mark.parametrize("mask", ["full", "causal"])
def test_the_share_of_the_output_has_the_same_baselines_in_the_sentence_as_in_the_table(
    mask: str, open_app: Opener
) -> None:
    app = open_app({**VIEW, "measure": "output_share", "mask": mask}, page="heads")

    answer = pictures(app)["measure_of_heads"].header["answer"]
    said = re.findall(r"head (\d+) \([^.]*?\), (\S+) \(spread evenly (\S+)\)", answer)
    assert len(said) == 2
    rows = {row[0]: row for row in table_rows(app)[1:]}
    for head, value, even in said:
        assert rows[head][2:4] == [value, even]


@pytest.mark.model
@pytest.mark.parametrize(
    "link",
    [
        {"n_heads": "1"},
        {"text": "one", "query": "0"},
        {"text": "one two", "mask": "causal", "query": "0"},
        {"mask": "causal", "padding": "padding_left"},
        {"mask": "causal", "sparsity": "sliding_window", "input": "vectors", "n_heads": "64"},
        {"input": "trained", "text": "a"},
        {"input": "trained", "text": "a", "scope": "all"},
    ],
)
@pytest.mark.parametrize("name", ["gini", "next_token", "distance_back", "sink_mass", "top_mass", "output_share"])
def test_the_sentence_of_a_measure_has_numbers_or_says_that_it_tells_nothing(
    link: dict[str, str], name: str, open_app: Opener
) -> None:
    app = open_app({**VIEW, **link, "measure": name}, page="heads")

    if not pictures(app):
        assert "is not defined for any query of this input" in hints(app)[0]
        return
    for drawn in pictures(app).values():
        answer = drawn.header["answer"]
        assert not {"nan", "–", "10⁻⁷"} & set(re.split(r"[\s,.;()]+", answer))
        if "Every head has 0 " in answer or "Every head has 0," in answer:
            assert answer.endswith("the measure tells nothing here.")


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
