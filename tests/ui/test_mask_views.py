"""The views of the page about masks: one at a time, each with the values it should show."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.masks import build_mask, encode_drawing
from attnviz.registries import MASKS
from attnviz.scenario import MASK_VIEWS, Scenario
from attnviz.shapes import KIndex, Mask, QIndex
from attnviz.ui import mask_gallery, mask_views, session
from tests.ui.conftest import Opener, hints, link_of, ran
from tests.ui.drawn import Sent, pictures

ALWAYS = {"mask_picture", "keys_allowed"}
OWN = {
    "gallery": {"gallery"},
    "together": {"composition"},
    "depth": {"reach_map", "reach_line"},
    "polarity": {"misread_mask", "misread_row"},
    "order": {"order_row", "row_sums"},
    "code": set(),
}
WINDOW = {"mask": "causal", "sparsity": "sliding_window", "sparsity.window": "2"}


def map_at(sent: Sent, slot: int) -> np.ndarray:
    """Which pairs a map of the gallery allows."""
    cells, z = sent.figure["layout"]["meta"]["cells"], np.asarray(sent.trace()["z"])
    top = slot // cells["grid_columns"] * cells["pitch_rows"] + cells["map_top"]
    left = slot % cells["grid_columns"] * cells["pitch_columns"]
    grow = round(1 / cells["rows_per_cell"])
    return z[top : top + cells["map_rows"] : grow, left : left + cells["map_columns"] : grow] == 1


def test_every_view_has_a_name_and_the_gallery_comes_first() -> None:
    assert set(mask_views.VIEWS) == set(MASK_VIEWS) == set(OWN)
    assert Scenario().mask_view == next(iter(mask_views.VIEWS)) == "gallery"


@pytest.mark.parametrize("view", MASK_VIEWS)
def test_only_the_chosen_view_is_drawn_and_the_link_says_which(view: str, open_app: Opener) -> None:
    app = open_app(page="masks")
    buttons = next(group for group in app.get("button_group") if group.key == "mask_view")

    ran(buttons.set_value(view).run())

    assert set(pictures(app)) == ALWAYS | OWN[view]
    assert link_of(app) == ({} if view == "gallery" else {"mask_view": view})
    assert len(app.main.get("code")) == (view == "code")
    assert set(pictures(open_app({"mask_view": view}, page="masks"))) == ALWAYS | OWN[view]


def test_the_gallery_holds_every_registered_mask_at_the_length_on_screen(open_app: Opener) -> None:
    sent = pictures(open_app(page="masks"))["gallery"]

    cells = sent.figure["layout"]["meta"]["cells"]
    slots = {place: slot for slot, place in enumerate(cells["heads"]) if place >= 0}
    assert sorted(slots) == list(range(len(MASKS)))
    for place, entry in enumerate(MASKS):
        np.testing.assert_array_equal(map_at(sent, slots[place]), build_mask([entry.spec()], 11, 11))
        assert cells["roles"][slots[place]] == f"{entry.group}: {entry.label}"


def test_a_mask_registered_anywhere_is_in_the_gallery_and_a_click_chooses_it(
    open_app: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    @MASKS.register(label="Next token only", group="Sparsity", source="this test")
    def next_token_only(q: QIndex, k: KIndex) -> Mask:
        """A query may attend to the key after it."""
        return k == q + 1

    try:
        sent = pictures(open_app(page="masks"))["gallery"]
        cells = sent.figure["layout"]["meta"]["cells"]
        slot = cells["roles"].index("Sparsity: Next token only")
        np.testing.assert_array_equal(map_at(sent, slot), np.eye(11, k=1, dtype=bool))
        assert sent.header["answer"].startswith("Of 21 masks")

        monkeypatch.setattr(session, "clicked_map", lambda key: cells["heads"][slot])
        assert chosen_by_click(monkeypatch) == {"sparsity": "next_token_only"}
    finally:
        MASKS.unregister("next_token_only")


def chosen_by_click(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Fields that the gallery's callback sets."""
    chosen: dict[str, object] = {}
    monkeypatch.setattr(session, "setter", lambda **changes: lambda: chosen.update(changes))
    mask_gallery.chooser(MASKS.names())()
    return chosen


@pytest.mark.parametrize("name", MASKS.names())
def test_a_click_chooses_each_mask_in_the_menu_of_its_group(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field = {"Structure": "mask", "Sparsity": "sparsity", "Padding": "padding"}[MASKS[name].group]
    monkeypatch.setattr(session, "clicked_map", lambda key: MASKS.names().index(name))

    assert chosen_by_click(monkeypatch) == {field: name}


@pytest.mark.parametrize("place", [None, 999])
def test_a_click_beside_the_masks_chooses_none(place: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "clicked_map", lambda key: place)

    assert chosen_by_click(monkeypatch) == {}


def test_masks_on_screen_are_framed_and_keep_their_parameters_in_the_gallery(open_app: Opener) -> None:
    drawing = encode_drawing(np.eye(11, dtype=bool))
    link = {"mask": "drawn", "mask.drawing": drawing, "sparsity": "sliding_window", "sparsity.window": "2"}
    sent = pictures(open_app(link, page="masks"))["gallery"]

    roles = sent.figure["layout"]["meta"]["cells"]["roles"]
    np.testing.assert_array_equal(map_at(sent, roles.index("Structure: Drawn")), np.eye(11, dtype=bool))
    window = build_mask([MASKS["sliding_window"].spec(window=2)], 11, 11)
    np.testing.assert_array_equal(map_at(sent, roles.index("Sparsity: Sliding window")), window)
    assert sent.figure["layout"]["shapes"][-1]["path"].count("M") == 3


def test_of_a_long_input_the_gallery_shows_128_tokens_and_says_so(open_app: Opener) -> None:
    app = open_app({"input": "vectors", "n_tokens": "600", "d_model": "8", "n_heads": "1"}, page="masks")

    sent = pictures(app)["gallery"]
    assert len(sent.figure["layout"]["meta"]["cells"]["rows"]) == 128
    assert "Drawn for 128 tokens" in sent.header["caption"]
    assert len(sent.trace()["z"][0]) <= 11 * 70


@pytest.mark.parametrize(("depth", "pairs"), [(1, 21), (2, 30), (5, 51), (10, 66), (64, 66)])
def test_the_reach_through_layers_is_the_power_of_the_matrix(depth: int, pairs: int, open_app: Opener) -> None:
    app = open_app({**WINDOW, "mask_view": "depth", "depth": str(depth), "query": "10"}, page="masks")

    found = pictures(app)
    step = np.eye(11, dtype=int) + np.eye(11, k=-1, dtype=int)
    expected = np.linalg.matrix_power(step, depth) > 0 if depth < 60 else np.tri(11, dtype=bool)
    np.testing.assert_array_equal(np.asarray(found["reach_map"].trace()["z"]) >= 0, expected)
    assert expected.sum() == pairs
    share = found["reach_line"].trace(0)["y"]
    assert share[depth - 1] == pytest.approx(100 * pairs / 121)
    seen, layers = min(depth + 1, 11), "1 layer" if depth == 1 else f"{depth} layers"
    assert (
        found["reach_map"]
        .header["answer"]
        .startswith(f"After {layers} token 10 “.” can be reached by {seen} of 11 tokens, itself among them")
    )
    growth = found["reach_line"].header["answer"]
    assert growth.startswith("Every pair that can ever be reached is reached after 10 layers")
    assert app.slider(key="depth").value == depth


def test_heads_that_see_different_keys_reach_further_together(open_app: Opener) -> None:
    link = {"input": "vectors", "n_tokens": "9", "sparsity": "strided", "sparsity.heads": "alternating"}
    found = pictures(open_app({**link, "mask_view": "depth"}, page="masks"))

    assert "A pair counts where any head allows it." in found["reach_map"].header["caption"]
    spec = MASKS["strided"].spec(heads="alternating")
    step = build_mask([spec], 9, 9, n_heads=8).any(axis=0)
    expected = np.linalg.matrix_power(step.astype(int), 2) > 0
    np.testing.assert_array_equal(np.asarray(found["reach_map"].trace()["z"]) >= 0, expected)


def test_where_reach_has_no_meaning_or_would_take_long_the_page_says_so(open_app: Opener) -> None:
    cross = open_app({"cross": "1", "mask_view": "depth"}, page="masks")
    long = open_app({"input": "vectors", "n_tokens": "513", "n_heads": "1", "mask_view": "depth"}, page="masks")

    assert hints(cross)[0].startswith("In cross-attention every layer reads the same keys")
    assert hints(long) == ["Reach is computed for up to 512 tokens; here are 513."]
    assert set(pictures(cross)) == set(pictures(long)) == ALWAYS


@pytest.mark.parametrize("view", ["together", "polarity", "order"])
def test_maps_of_long_inputs_are_left_out_and_the_chosen_query_is_still_there(view: str, open_app: Opener) -> None:
    link = {"input": "vectors", "n_tokens": "600", "d_model": "8", "n_heads": "1", "mask": "causal", "query": "400"}
    app = open_app({**link, "mask_view": view}, page="masks")

    assert any("up to 512 tokens" in caption.value for caption in app.caption)
    assert set(pictures(app)) - ALWAYS == {"polarity": {"misread_row"}, "order": {"order_row"}}.get(view, set())


def test_long_lines_of_code_are_wrapped(open_app: Opener) -> None:
    app = open_app({"mask_view": "code"}, page="masks")

    assert app.main.get("code")[0].proto.wrap_lines
