"""The gallery of masks: where each stands, what it is called, what a click on it gives."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from attnviz.figures import mask_words
from attnviz.figures.mask_gallery import Example, mask_gallery
from attnviz.figures.theme import LIGHT
from attnviz.masks import build_mask
from attnviz.registries import MASKS

LABELS = tuple("abcdefg")


def registered(n_q: int = 7, n_k: int = 7, chosen: tuple[str, ...] = ()) -> list[Example]:
    return [
        Example(entry.group, entry.label, build_mask([entry.spec()], n_q, n_k), entry.name in chosen) for entry in MASKS
    ]


def map_at(picture: go.Figure, slot: int) -> np.ndarray:
    """The cells of a map, one for each pair or block."""
    cells, z = picture.layout.meta["cells"], np.asarray(picture.data[0].z)
    top = slot // cells["grid_columns"] * cells["pitch_rows"] + cells["map_top"]
    left = slot % cells["grid_columns"] * cells["pitch_columns"]
    grow = max(1, round(1 / cells["rows_per_cell"]))
    return z[top : top + cells["map_rows"], left : left + cells["map_columns"]][::grow, ::grow]


@pytest.mark.parametrize("fit", [2, 4, 5, 8, 16])
def test_every_mask_is_there_once_at_the_place_that_a_click_on_it_gives(fit: int) -> None:
    examples = registered()
    picture = mask_gallery(examples, LABELS, LABELS, fit=fit)

    heads = picture.layout.meta["cells"]["heads"]
    assert sorted(place for place in heads if place >= 0) == list(range(len(MASKS)))
    for slot, place in enumerate(heads):
        if place < 0:
            assert np.isnan(map_at(picture, slot)).all()
        else:
            np.testing.assert_array_equal(map_at(picture, slot) == 1, examples[place].mask)
            assert picture.layout.meta["cells"]["roles"][slot] == f"{examples[place].group}: {examples[place].label}"


@pytest.mark.parametrize("fit", [4, 8])
def test_each_group_begins_a_row_with_its_name_above(fit: int) -> None:
    examples = registered()
    picture = mask_gallery(examples, LABELS, LABELS, fit=fit)

    cells, titles = picture.layout.meta["cells"], list(picture.data[1].text)
    for group in MASKS.groups:
        first = next(place for place, example in enumerate(examples) if example.group == group)
        slot = cells["heads"].index(first)
        assert slot % cells["grid_columns"] == 0
        assert titles[slot].startswith(f"{group} <br>\n")
    assert sum(title.startswith(MASKS.groups) for title in titles) == 3
    assert cells["grid_columns"] == {4: 4, 8: 11}[fit]


def test_only_the_chosen_masks_are_framed() -> None:
    chosen = ("causal", "dense", "no_padding")
    picture = mask_gallery(registered(chosen=chosen), LABELS, LABELS)

    (frames,) = [shape.path for shape in picture.layout.shapes if shape.line.color == LIGHT.accent]
    assert frames.count("M") == 3
    outlines = picture.layout.shapes[0].path
    assert outlines.count("M") == len(MASKS)


def test_the_name_of_a_group_is_not_said_twice_and_long_names_are_shortened() -> None:
    titles = [title.partition("\n")[2] for title in mask_gallery(registered(), LABELS, LABELS).data[1].text if title]

    assert {"On the left", "On the right", "No padding"} <= set(titles)
    assert "Window and glo…" in titles
    assert max(map(len, titles)) <= 15


def test_a_long_mask_is_drawn_in_blocks_and_a_wide_one_keeps_its_shape() -> None:
    long = mask_gallery(registered(200, 200), tuple(map(str, range(200))), tuple(map(str, range(200))))
    wide = mask_gallery(registered(2, 7), LABELS[:2], LABELS)

    assert (long.layout.meta["cells"]["map_rows"], long.layout.meta["cells"]["rows_per_cell"]) == (50, 4)
    assert wide.layout.meta["cells"]["map_rows"] * 7 == wide.layout.meta["cells"]["map_columns"] * 2
    assert wide.layout.height < mask_gallery(registered(), LABELS, LABELS).layout.height


def test_the_answer_names_the_densest_and_the_sparsest_mask_that_allow_some_pairs() -> None:
    all_pairs, none = np.ones((2, 2), dtype=bool), np.zeros((2, 2), dtype=bool)
    masks = {"A": all_pairs, "B": np.tri(2, dtype=bool), "C": np.eye(2, dtype=bool), "D": none}
    examples = [Example("Structure", label, mask) for label, mask in masks.items()]

    assert mask_words.gallery_answer(examples) == (
        "Of 4 masks 1 allows every pair and 1 allows none; of the others “B” is the densest (75.0\u202f%) and “C” the "
        "sparsest (50.0\u202f%)."
    )
    assert mask_words.gallery_answer(examples[:1]) == "Of 1 mask 1 allows every pair and no mask allows none."
    assert "Structure: C 50.0\u202f%" in mask_words.gallery_alt(examples)
