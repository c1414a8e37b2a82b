"""Links to the Heads page with a value that means nothing: it is told in a sentence, and the rest is shown."""

from __future__ import annotations

import pytest

from tests.ui.conftest import Opener, errors, link_of, toasts
from tests.ui.drawn import pictures, sentences

TOLD = {
    "removed=abc": '`removed` must be heads with commas between them; got "abc". Try 3, 5.11.',
    "view=map": "`view` is not a setting.",
    "heads_view=map": "`heads_view` must be one of alike, measure, roles, …; got heads_view=map. Try alike.",
    "heads_view=tabel": "`heads_view` must be one of alike, measure, roles, …; got heads_view=tabel. "
    "Did you mean table?",
    "measure=entrop": "`measure`: there is no entry 'entrop' here; did you mean entropy?",
    "measure=zzz": "`measure`: there is no entry 'zzz' here; try entropy, entropy_nats or normalised_entropy.",
    "similarity=cos": "`similarity`: there is no entry 'cos' here; did you mean cosine?",
    "layers_view=x": "`layers_view` must be one of lines, rollout or flow; got layers_view=x. Try lines.",
    "kept_share=7": "`kept_share` must be a number from 0.05 to 1; got kept_share=7.0. Try 1.0.",
    "hidden=abc": '`hidden` must be whole numbers with commas between them; got "abc". Try 6, 5.',
    "other=99": "`other` must be a whole number from -1 to 7; got other=99. Shown with other=7.",
    "other=-5": "`other` must be a whole number from -1 to 2047; got other=-5. Try -1.",
    "beside=nonsense": '`beside` must be settings as a link has them after its question mark; got "nonsense". '
    "Try n_heads=4.",
    "beside=n_heads=3": "`beside`: `n_heads` must divide `d_model`; got n_heads=3, d_model=64. "
    "Try 1, 2, 4, 8, 16, 32 or 64. Shown with n_heads=2.",
}


@pytest.mark.parametrize("part", TOLD)
def test_a_part_that_means_nothing_is_told_and_the_page_is_drawn_with_the_rest(part: str, open_app: Opener) -> None:
    field, _, value = part.partition("=")

    app = open_app({"mask": "causal", field: value}, page="heads", cold=True)

    (told,) = toasts(app)
    what = "Changed" if "Shown with" in TOLD[part] else "Ignored"
    assert told.startswith(f"{what} in this link: {field}.")
    assert " in this link: " not in told.removeprefix(f"{what} in this link: {field}.")
    assert TOLD[part] in told
    assert errors(app) == []
    assert {"alike_matrix", "head_map"} <= set(pictures(app))
    assert link_of(app)["mask"] == "causal"


@pytest.mark.parametrize("field", ["head", "query", "key", "other"])
def test_an_index_past_the_last_is_changed_to_it_and_one_past_all_limits_is_ignored(
    field: str, open_app: Opener
) -> None:
    last = 7 if field in ("head", "other") else 10

    changed, ignored = (open_app({field: value}, page="heads", cold=True) for value in ("77", "99999"))

    assert toasts(changed)[0].startswith(f"Changed in this link: {field}. ")
    assert link_of(changed) == {field: str(last)}
    assert toasts(ignored)[0].startswith(f"Ignored in this link: {field}. ")
    assert link_of(ignored) == {}


def test_what_is_ignored_is_told_before_what_is_changed(open_app: Opener) -> None:
    (told,) = toasts(open_app({"head": "77", "seed": "x", "measure": "entrop"}, page="heads"))

    assert told == (
        "Ignored in this link: seed, measure. `seed` must be a whole number from 0 to 999999; got seed=x. Try 0. "
        "`measure`: there is no entry 'entrop' here; did you mean entropy? "
        "Changed in this link: head. `head` must be a whole number from 0 to 7; got head=77. Shown with head=7."
    )


@pytest.mark.parametrize("removed", ["99", "1.99"])
@pytest.mark.parametrize("view", ["alike", "removal", "table"])
def test_a_head_that_there_is_not_cannot_be_off_and_the_page_says_so(removed: str, view: str, open_app: Opener) -> None:
    app = open_app({"heads_view": view, "removed": removed}, page="heads")

    expected = f"Switched off was head {removed}, which there is not: the last head is 7."
    assert expected in sentences(app)
    assert errors(app) == []
    assert bool(pictures(app)) == (view != "table")


@pytest.mark.model
def test_of_a_trained_model_the_last_head_of_the_last_layer_is_named(open_app: Opener) -> None:
    app = open_app({"input": "trained", "heads_view": "table", "removed": "1.99, 0.3"}, page="heads")

    assert "Switched off was head 1.99, which there is not: the last head is 5.11." in sentences(app)
    assert "head 0.3 off" in sentences(app)


def test_all_bad_parts_of_one_link_are_told_together(open_app: Opener) -> None:
    link = {"heads_view": "map", "measure": "entrop", "kept_share": "7", "hidden": "abc", "beside": "nonsense"}

    app = open_app({**link, "n_heads": "4"}, page="heads")

    (told,) = toasts(app)
    for field in link:
        assert f"`{field}`" in told
    assert link_of(app) == {"n_heads": "4"}
    assert len(pictures(app)["alike_matrix"].trace()["z"]) == 4
