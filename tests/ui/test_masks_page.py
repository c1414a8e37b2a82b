"""The page about masks: its picture, drawing by clicks, undo, the three parts, and the mask as code."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.masks import build_mask, decode_drawing, encode_drawing
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from attnviz.ui import compute, drawing, session
from tests.ui.conftest import Opener, errors, link_of, ran
from tests.ui.drawn import pictures, sentences

CAUSAL_WINDOW = {"mask": "causal", "sparsity": "sliding_window", "sparsity.window": "3"}


def allowed_in(app: AppTest, name: str = "mask_picture") -> np.ndarray:
    return np.asarray(pictures(app)[name].trace()["z"]) == 1


def pressed(app: AppTest, label: str) -> AppTest:
    (button,) = [button for button in app.button if button.label == label]
    return ran(button.click().run())


def test_the_picture_shows_what_all_three_masks_allow(open_app: Opener) -> None:
    app = open_app({**CAUSAL_WINDOW, "padding": "padding_left", "padding.padded": "2"}, page="masks")

    specs = [
        MASKS["causal"].spec(),
        MASKS["sliding_window"].spec(window=3),
        MASKS["padding_left"].spec(padded=2),
    ]
    expected = build_mask(specs, 11, 11)
    np.testing.assert_array_equal(allowed_in(app), expected)
    said = pictures(app)["mask_picture"].header["answer"]
    assert said.startswith(f"{int(expected.sum())} of 121 pairs are allowed")
    assert said.endswith("a query sees 0 to 3 keys, 2.18 on average.")
    assert "⊘ marks a query with no key allowed." in pictures(app)["mask_picture"].header["caption"]


def test_the_three_masks_stand_side_by_side_with_what_they_make_together(open_app: Opener) -> None:
    header = pictures(open_app({**CAUSAL_WINDOW, "mask_view": "together"}, page="masks"))["composition"].header

    assert header["answer"] == (
        "Structure allows 54.5\u202f% of the pairs, sparsity 40.5\u202f%, padding 100\u202f%; "
        "all three together 24.8\u202f%."
    )


def test_a_drawing_starts_from_the_masks_on_screen(open_app: Opener) -> None:
    app = pressed(open_app(CAUSAL_WINDOW, page="masks"), "Draw on this mask")

    expected = build_mask([MASKS["causal"].spec(), MASKS["sliding_window"].spec(window=3)], 11, 11)
    np.testing.assert_array_equal(allowed_in(app), expected)
    assert link_of(app) == {"mask": "drawn", "mask.drawing": encode_drawing(expected)}


@pytest.mark.parametrize("name", [name for name in MASKS.names("Structure") if name != "drawn"])
def test_a_drawing_may_start_from_any_structure(name: str, open_app: Opener) -> None:
    app = pressed(open_app({"mask": name}, page="masks"), "Draw on this mask")

    np.testing.assert_array_equal(allowed_in(app), build_mask([MASKS[name].spec()], 11, 11))


def test_where_nothing_is_drawn_a_click_chooses_query_and_key(open_app: Opener) -> None:
    picture = pictures(open_app(page="masks"))["mask_picture"]

    assert picture.figure["layout"]["meta"]["cells"]["click"] == "cell"
    assert picture.header["caption"].startswith("Click a cell to choose its query and key;")


def test_while_choosing_a_click_leaves_the_drawing_and_takes_its_pair(
    open_app: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app({"mask": "drawn", "mask.drawing": "3-m4A", "input": "vectors", "n_tokens": "3"}, page="masks")
    assert pictures(app)["mask_picture"].header["caption"].startswith("Click a cell to switch it;")

    kinds = next(group for group in app.get("button_group") if group.key == "drawing.kind")
    ran(kinds.set_value("choose").run())

    assert pictures(app)["mask_picture"].header["caption"].startswith("Click a cell to choose its query and key;")
    assert link_of(app)["mask.drawing"] == "3-m4A"
    shown = Scenario(mask=MASKS["drawn"].spec(drawing="3-m4A"), input="vectors", n_tokens=3)
    assert clicked(shown, "choose", monkeypatch) == {"query": 0, "key": 1}
    assert clicked(shown, "cell", monkeypatch) == {"mask.drawing": "3-24A", "query": 0, "key": 1}


def clicked(shown: Scenario, kind: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What a click on the cell of query 0 and key 1 sets while this kind of click is chosen."""
    state: dict[str, object] = {drawing.KIND: kind, drawing.PICTURE: {"click": {"query": 0, "key": 1}}}
    before = set(state)
    monkeypatch.setattr(session.st, "session_state", state)
    drawing.on_click(shown, compute.shown_layer(shown).layer.trace)()
    monkeypatch.undo()
    return {name: value for name, value in state.items() if name not in before and "earlier" not in name}


def test_a_rule_is_one_click_away_from_any_other_structure(open_app: Opener) -> None:
    app = pressed(open_app({"mask": "causal"}, page="masks"), "Type a rule")

    assert link_of(app) == {"mask": "rule"}
    assert [button.label for button in app.button if button.label == "Type a rule"] == []


def test_with_a_rule_the_page_says_what_it_may_hold_and_sets_an_example_by_one_click(open_app: Opener) -> None:
    app = open_app({"mask": "rule"}, page="masks")

    said = sentences(app)
    assert all(f"`{name}` (" in said for name in "qkhn")
    assert all(f"`{symbols}`" in said for symbols in ("+ - * // %", "< <= > >= == !=", "&", "|", "~"))
    examples = [button.label.strip("`") for button in app.button if button.label.startswith("`")]
    assert examples == ["q == k", "(k <= q) & (k % 3 == 0)", "0 <= q - k < 4 + h"]
    for example in examples:
        pressed(app, f"`{example}`")
        assert link_of(app) == {"mask": "rule", "mask.rule": example}
        assert app.sidebar.text_input(key="mask.rule").value == example
        np.testing.assert_array_equal(allowed_in(app), build_mask([MASKS["rule"].spec(rule=example)], 11, 11))


def test_from_the_chosen_cell_a_link_leads_to_its_arithmetic(open_app: Opener) -> None:
    app = open_app({"mask": "causal", "head": "2", "query": "3", "key": "1"}, page="masks")

    (link,) = [link.proto for link in app.main.get("page_link") if link.proto.label == "Every step of this number"]
    assert link.page == "step_by_step"
    assert link.query_string == "mask=causal&head=2&query=3&key=1"


def test_more_than_64_keys_cannot_be_drawn_and_the_page_says_so(open_app: Opener) -> None:
    app = open_app({"input": "vectors", "n_tokens": "65"}, page="masks")

    assert [caption.value for caption in app.caption] == ["A mask can be drawn on up to 64 keys; here are 65 keys."]
    assert [button.label for button in app.button if "Draw" in button.label] == []


def test_with_fewer_queries_than_keys_a_click_switches_the_row_of_the_place_among_the_keys() -> None:
    after = drawing.after_click("3-m4A", "cell", 0, 0, n_q=2, n_k=3)

    assert decode_drawing(after).astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [1, 1, 1]]
    assert drawing.after_click("3-m4A", "cell", 0, 0, n_q=5, n_k=3) == "3-m4A", "this query stands before the keys"


@pytest.mark.parametrize("library", ["NumPy", "PyTorch SDPA", "FlexAttention"])
def test_the_mask_is_there_as_code(library: str, open_app: Opener) -> None:
    app = open_app({**CAUSAL_WINDOW, "mask_view": "code"}, page="masks")

    group = next(group for group in app.get("button_group") if group.key == "mask_code")
    ran(group.set_value(library).run())

    code = app.main.get("code")[0].value
    assert "mask = mask & causal(q, k, n_q, align='bottom-right')" in code
    assert ("flex_attention(" in code, "F.scaled_dot_product_attention(" in code) == (
        library == "FlexAttention",
        library == "PyTorch SDPA",
    )


def test_the_trained_model_has_its_masks_on_the_page_too(open_app: Opener) -> None:
    app = open_app({"input": "trained", "mask": "causal"}, page="masks")

    assert errors(app) == []
    np.testing.assert_array_equal(allowed_in(app), np.tril(np.ones((13, 13), dtype=bool)))
