"""The roles of the trained heads, of one layer and of all; and words that come again, in random order."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures.roles import ROLES as MAP_ROLES
from attnviz.metrics.roles import ROLES
from attnviz.models.random_words import random_words_twice
from attnviz.scenario import Scenario
from attnviz.ui import compute
from tests.ui.conftest import Opener, errors, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows

pytestmark = pytest.mark.model
ROLES_VIEW = {"heads_view": "roles", "input": "trained"}
BUTTON, TWICE = "Say random words twice", "Say the sentence twice"


def buttons(app) -> list[str]:
    return [button.label for button in app.button]


def test_the_roles_of_all_layers_stand_in_one_picture_and_one_table(open_app: Opener) -> None:
    app = open_app({**ROLES_VIEW, "scope": "all", "layer": "2", "head": "7"}, page="heads")

    assert set(pictures(app)) == {"role_overview"}
    drawn = pictures(app)["role_overview"]
    found = [layer.found_roles() for layer in compute.shown_layer(Scenario(input="trained")).run.layers]
    np.testing.assert_array_equal(drawn.trace()["z"], [[ROLES.index(role.name) for role in heads] for heads in found])
    assert drawn.header["answer"].startswith("Of 72 heads ")
    assert "1 looks at the token before (previous token: 0.2)" in drawn.header["answer"]
    headings, *rows = table_rows(app)
    assert headings == ["Head", "Role", "Evidence", "Why not another"]
    assert len(rows) == 72
    assert rows[31][:2] == ["2.7", "sink"]
    assert "to [CLS], [SEP] and punctuation (a uniform head: 23.1\u202f%)" in rows[31][2]
    (table,) = [element.proto.body for element in app.main.get("html") if "<table" in element.proto.body]
    assert "<tr class=av-strong><td class=av-word>2.7</td>" in table


def test_all_layers_of_made_input_are_one(open_app: Opener) -> None:
    app = open_app({"heads_view": "roles", "scope": "all"}, page="heads")

    assert set(pictures(app)) == {"role_map"}
    assert errors(app) == []
    assert BUTTON not in buttons(app)


def test_too_short_a_text_is_said_of_all_layers(open_app: Opener) -> None:
    app = open_app({**ROLES_VIEW, "scope": "all", "text": "to"}, page="heads")

    assert "Too short to tell: heads can be told apart from 5 tokens on." in sentences(app)
    assert pictures(app) == {}


@pytest.mark.parametrize("scope", ["layer", "all"])
def test_random_words_said_twice_tell_of_induction_beside_a_uniform_head(scope: str, open_app: Opener) -> None:
    app = open_app({**ROLES_VIEW, "scope": scope, "seed": "7"}, page="heads")

    (button,) = [button for button in app.button if button.label == BUTTON]
    ran(button.click().run())

    assert link_of(app)["text"] == random_words_twice(7)
    assert BUTTON not in buttons(app)
    assert "followed the query’s word before: " in sentences(app)
    assert "; a uniform head gives 2.00\u202f%, so none does (Olsson et al. 2022, section 2)." in sentences(app)


def test_the_measure_of_induction_offers_random_words_too(open_app: Opener) -> None:
    app = open_app({**ROLES_VIEW, "heads_view": "measure", "measure": "induction"}, page="heads")
    assert BUTTON in buttons(app)

    (button,) = [button for button in app.button if button.label == BUTTON]
    ran(button.click().run())

    *_, uniform, _ = pictures(app)["measure_of_heads"].figure["data"]
    np.testing.assert_allclose(uniform["x"], 0.02, rtol=1e-5)
    assert BUTTON not in buttons(app)


def test_where_no_word_comes_again_both_ways_are_offered(open_app: Opener) -> None:
    app = open_app({**ROLES_VIEW, "text": "one two three four five six"}, page="heads")

    assert [label for label in buttons(app) if label.startswith("Say ")] == ["Say the sentence twice", BUTTON]
    assert "Fewer than three queries have an earlier place of their own word" in sentences(app)


def test_of_a_sentence_it_is_said_that_induction_cannot_be_told_and_it_can_be_said_twice(open_app: Opener) -> None:
    app = open_app({"heads_view": "roles"}, page="heads")
    assert "Fewer than three queries have an earlier place of their own word" in sentences(app)
    z, induction = pictures(app)["role_map"].trace()["z"], MAP_ROLES.index("induction")
    assert (z[:, induction] < 0).all()

    (button,) = [button for button in app.button if button.label == TWICE]
    ran(button.click().run())

    assert "Fewer than three queries" not in sentences(app)
    assert TWICE not in buttons(app)
    assert (pictures(app)["role_map"].trace()["z"][:, induction] >= 0).all()


def test_a_mask_that_forbids_what_followed_is_named_where_the_sentence_is_said_twice_already(open_app: Opener) -> None:
    link = {"heads_view": "roles", "text": "one two three four five " * 2, "sparsity": "sliding_window"}
    app = open_app(link, page="heads")

    assert "All words come again here: the mask forbids it." in sentences(app)
    assert TWICE not in buttons(app)


def test_of_random_vectors_nothing_is_said_of_words(open_app: Opener) -> None:
    app = open_app({"heads_view": "roles", "input": "vectors"}, page="heads")

    assert "own word" not in sentences(app)
    assert TWICE not in buttons(app)


def test_the_evidence_of_few_queries_says_over_how_many(open_app: Opener) -> None:
    app = open_app({"heads_view": "roles", "text": "a b c d a b c d"}, page="heads")

    _, *rows = table_rows(app)
    found = compute.shown_layer(Scenario(text="a b c d a b c d")).layer.found_roles()
    counted = {one.counted for role in found for one in role.evidence if one.role == "induction"}
    assert counted == {4}
    assert rows[1][2].endswith(
        "to the token before, over the 7 of 8 queries that have such a place; a uniform head gives 12.5\u202f%."
    )


def test_a_head_without_a_name_is_mixed_in_the_column_of_roles_and_has_no_name_in_the_menu(open_app: Opener) -> None:
    app = open_app({"heads_view": "rank", "input": "trained"}, page="heads")

    headings, *rows = table_rows(app)
    found = compute.shown_layer(Scenario(input="trained")).layer.found_roles()
    assert headings[1] == "Role"
    assert [row[1] for row in rows] == [role.name for role in found]
    assert rows[0][1] == "mixed"
    assert app.selectbox(key="head").options[0] == "0"
