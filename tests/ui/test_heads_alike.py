"""The Alike view of the Heads page: every similarity, one layer or all, and the difference of two maps."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from attnviz.figures.alike_words import TOO_SHORT
from attnviz.registries import SIMILARITIES
from attnviz.scenario import MAX_CHARACTERS
from attnviz.ui import head_scope, session
from tests.ui.conftest import Opener, hints, link_of, ran, toasts
from tests.ui.drawn import pictures, sentences, table_rows

TRAINED = {"input": "trained", "layer": "2", "head": "7"}


@pytest.mark.parametrize("name", SIMILARITIES.names())
def test_every_similarity_is_shown_with_its_formula_source_and_unit(name: str, open_app: Opener) -> None:
    entry = SIMILARITIES[name]

    app = open_app({"similarity": name, "mask": "causal"}, page="heads")

    header = pictures(app)["alike_matrix"].header
    for part in (entry.summary, entry.formula, entry.source):
        assert part in header["caption"]
    assert entry.unit in header["answer"]
    headings, *rows = table_rows(app)
    assert headings == ["Similarity", "Nearest", "Value", "Baseline"]
    assert [row[0].split(" (")[0] for row in rows] == [one.label for one in SIMILARITIES]


def test_another_similarity_is_one_choice(open_app: Opener) -> None:
    app = open_app(page="heads")

    ran(app.selectbox(key="similarity").select("js_divergence").run())

    assert link_of(app) == {"similarity": "js_divergence"}
    assert "divergence" in pictures(app)["alike_matrix"].header["answer"]


def test_all_layers_of_a_trained_model_are_compared_at_once(open_app: Opener) -> None:
    app = open_app({**TRAINED, "scope": "all"}, page="heads")

    matrix = pictures(app)["alike_matrix"]
    assert len(matrix.trace()["z"]) == 72
    rows = matrix.figure["layout"]["meta"]["cells"]["rows"]
    assert sorted(rows) == sorted(f"head {layer}.{head}" for layer in range(6) for head in range(12))
    assert rows[matrix.figure["layout"]["meta"]["ticks"]["strong"]] == "head 2.7"
    assert "What does head 2.7 do differently from head " in pictures(app)["difference"].header["title"]


def test_one_layer_is_compared_alone_unless_all_are_asked_for(open_app: Opener) -> None:
    app = open_app(TRAINED, page="heads")

    assert len(pictures(app)["alike_matrix"].trace()["z"]) == 12


def test_one_token_is_too_short_to_tell_heads_apart_but_not_their_matrices(open_app: Opener) -> None:
    app = open_app({"text": "alone", "query": "0"}, page="heads")
    assert pictures(app)["alike_matrix"].header["answer"] == TOO_SHORT
    assert "alike" not in sentences(app).lower().replace(TOO_SHORT.lower(), "")

    of_matrices = open_app({"text": "alone", "query": "0", "similarity": "query_key_subspaces"}, page="heads")
    assert "are the most alike: query-key overlap" in pictures(of_matrices)["alike_matrix"].header["answer"]


def test_a_single_head_has_nothing_to_be_compared_with(open_app: Opener) -> None:
    app = open_app({"n_heads": "1"}, page="heads")

    assert "One head has no other" in pictures(app)["alike_matrix"].header["answer"]
    assert "difference" not in pictures(app)
    assert any("There is no other head to compare with" in hint for hint in hints(app))


def test_the_chosen_head_is_compared_with_the_most_alike_one_or_any_other(open_app: Opener) -> None:
    app = open_app({"head": "1"}, page="heads")
    assert "head 1 do differently from head 7" in pictures(app)["difference"].header["title"]

    ran(app.selectbox(key="other").select(3).run())

    assert link_of(app) == {"head": "1", "other": "3"}
    assert "head 1 do differently from head 3" in pictures(app)["difference"].header["title"]


def test_a_head_of_another_layer_may_be_taken(open_app: Opener) -> None:
    app = open_app({**TRAINED, "other": "2", "other_layer": "0"}, page="heads")

    assert "head 2.7 do differently from head 0.2" in pictures(app)["difference"].header["title"]


def test_another_head_that_is_not_there_is_lowered(open_app: Opener) -> None:
    app = open_app({"other": "99"}, page="heads")

    assert "from head 7?" in pictures(app)["difference"].header["title"]


def test_a_setting_that_was_kept_is_compared_with_what_is_changed_after(open_app: Opener) -> None:
    app = open_app({"n_heads": "4"}, page="heads")
    (keep,) = [button for button in app.button if button.label == "Keep this setting for comparison"]

    ran(keep.click().run())
    assert parse_qs(link_of(app)["beside"]) == {"n_heads": ["4"]}
    assert pictures(app)["difference"].header["answer"].startswith("No difference")

    app.session_state["sharpness"] = 3.0
    ran(app.run())
    assert "than in the kept setting?" in pictures(app)["difference"].header["title"]
    assert "of its attention on other keys" in pictures(app)["difference"].header["answer"]

    (back,) = [button for button in app.button if button.label == "Compare with a head instead"]
    ran(back.click().run())
    assert "beside" not in link_of(app)


def test_the_default_setting_can_be_kept_too(open_app: Opener) -> None:
    app = open_app(page="heads")
    (keep,) = [button for button in app.button if button.label == "Keep this setting for comparison"]

    ran(keep.click().run())

    assert link_of(app) == {"beside": "seed=0"}


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("text=one two", "only maps of one size have a difference"),
        ("n_heads=2", "so there is no head 5 to compare with"),
        ("text=", "cannot be shown"),
    ],
)
def test_a_kept_setting_that_does_not_fit_is_said_in_a_sentence(beside: str, said: str, open_app: Opener) -> None:
    app = open_app({"beside": beside, "head": "5"}, page="heads")

    assert "difference" not in pictures(app)
    assert any(said in hint for hint in hints(app))
    assert "head_map" in pictures(app)


@pytest.mark.parametrize("beside", ["%00&&==", "x" * 500])
def test_what_is_no_setting_cannot_be_compared_with_and_is_named(beside: str, open_app: Opener) -> None:
    app = open_app({"beside": beside}, page="heads")

    assert "from head 6?" in pictures(app)["difference"].header["title"]
    assert toasts(app)[0].startswith("Ignored in this link")
    assert "beside" in toasts(app)[0]


@pytest.mark.parametrize("beside", ["beside=beside%3D", "n_heads=-3&d_model=nan"])
def test_a_kept_setting_that_means_nothing_is_the_default_one(beside: str, open_app: Opener) -> None:
    app = open_app({"beside": beside}, page="heads")

    assert pictures(app)["difference"].header["answer"].startswith("No difference")


def test_a_setting_too_long_for_a_link_cannot_be_kept(open_app: Opener) -> None:
    app = open_app({"text": "é " * (MAX_CHARACTERS // 4)}, page="heads")

    (keep,) = [button for button in app.button if button.label == "Keep this setting for comparison"]
    assert keep.disabled


def test_every_pair_is_shown_by_its_looks_and_by_what_it_writes(open_app: Opener) -> None:
    app = open_app({"head": "1", "mask": "causal"}, page="heads")

    drawn = pictures(app)["pair_map"]
    dots = next(trace for trace in drawn.figure["data"] if trace["name"] == "pairs of heads")
    assert len(dots["x"]) == 8 * 7 / 2
    for said in ("rank correlation", "over 28 pairs", "A: heads ", "B, the reverse: heads ", "Baselines: cosine "):
        assert said in drawn.header["answer"]


@pytest.mark.parametrize(
    "link", [{"text": "alone", "query": "0"}, {"n_heads": "1"}, {"cross": "true", "text": "alone", "query": "0"}]
)
def test_without_a_second_head_or_query_there_is_no_pair_to_compare(link: dict[str, str], open_app: Opener) -> None:
    assert "pair_map" not in pictures(open_app(link, page="heads"))


def test_a_head_that_writes_the_same_for_every_query_is_in_no_pair_and_has_no_cka(open_app: Opener) -> None:
    app = open_app({"similarity": "linear_cka", "head": "5"}, page="heads")

    drawn = pictures(app)
    dots = next(trace for trace in drawn["pair_map"].figure["data"] if trace["name"] == "pairs of heads")
    assert len(dots["x"]) == 7 * 6 / 2
    assert 5 not in dots["customdata"][:, [1, 3]]
    said = "Head 5 (uniform) writes the same for every query: it has no "
    assert drawn["pair_map"].header["answer"].endswith(f"{said}CKA and is left out.")
    assert drawn["alike_matrix"].header["answer"].endswith(f"{said}linear CKA of outputs.")
    for name in ("alike_matrix", "head_map"):
        assert "Heads without a value count as" in drawn[name].header["caption"]
    assert (drawn["alike_matrix"].trace()["z"] < 0).sum() > 8 * 2 - 1
    row = next(row for row in table_rows(app) if row[0] == "Linear CKA of outputs")
    assert row[1:] == ["none", "–", "–"]


def test_what_has_nothing_in_common_with_the_chosen_head_is_not_named(open_app: Opener) -> None:
    app = open_app({"similarity": "query_key_subspaces"}, page="heads")

    row = next(row for row in table_rows(app) if row[0] == "Query-key overlap")
    assert row[1:] == ["none", "0", "0.125"]
    assert "none has anything in common with it" in pictures(app)["head_map"].header["answer"]


def test_pairs_of_heads_with_too_many_weights_are_not_drawn_and_the_limit_is_said(
    open_app: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_scope, "MOST_WORK", 64 * 100)

    app = open_app(page="heads")

    assert "pair_map" not in pictures(app)
    (said,) = [hint for hint in hints(app) if "Do heads that look alike write the same?" in hint]
    assert said.endswith(
        "is drawn for 8 heads of at most 100 weights each (as with 10 tokens); here they have 121. Choose fewer tokens "
        "or fewer heads."
    )


def test_heads_that_all_write_the_same_for_every_query_leave_no_pair(open_app: Opener) -> None:
    app = open_app({"weights": "random", "sharpness": "0"}, page="heads")

    assert "pair_map" not in pictures(app)
    (said,) = [hint for hint in hints(app) if "needs two heads with a CKA" in hint]
    assert "Each of 8 heads writes the same for every query" in said


@pytest.mark.model
@pytest.mark.parametrize(("scope", "count"), [("layer", 66), ("all", 2556)])
def test_a_clicked_pair_is_compared(scope: str, count: int, open_app: Opener) -> None:
    app = open_app({**TRAINED, "scope": scope}, page="heads")
    dots = next(t for t in pictures(app)["pair_map"].figure["data"] if t["name"] == "pairs of heads")
    assert dots["customdata"].shape == (count, 4)
    layer, head, other_layer, other = dots["customdata"][40].tolist()

    app.session_state["layer"], app.session_state["head"] = layer, head
    app.session_state["other"], app.session_state["other_layer"] = other, other_layer
    ran(app.run())

    title = pictures(app)["difference"].header["title"]
    assert title == f"What does head {layer}.{head} do differently from head {other_layer}.{other}?"


def test_a_clicked_row_chooses_its_head_and_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {"matrix": {"click": {"head": 1}}}
    monkeypatch.setattr(session.st, "session_state", state)

    session.row_setter("matrix", [{"head": 4, "layer": 0}, {"head": 11, "layer": 5}])()
    assert (state["head"], state["layer"]) == (11, 5)

    state["matrix"] = {"click": {"head": 2}}
    session.row_setter("matrix", [{"head": 4}])()
    assert (state["head"], state["layer"]) == (11, 5), "a row that is not there chooses nothing"
