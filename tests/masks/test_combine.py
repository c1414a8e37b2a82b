"""Masks together, empty rows, and positions that skip padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import SettingError, UnknownNameError
from attnviz.masks import build_mask, padded_position_ids, rows_without_keys
from attnviz.registries import MASKS
from attnviz.registry import Spec
from tests.strategies import lengths, mask_specs


@given(mask_specs(), lengths, lengths, st.randoms(use_true_random=False))
def test_masks_together_allow_what_each_allows_in_any_order(masks, n_q: int, n_k: int, random) -> None:
    each = [build_mask([spec], n_q, n_k) for spec in masks]
    shuffled = list(masks)
    random.shuffle(shuffled)

    np.testing.assert_array_equal(build_mask(masks, n_q, n_k), np.logical_and.reduce(each))
    np.testing.assert_array_equal(build_mask(shuffled, n_q, n_k), np.logical_and.reduce(each))
    np.testing.assert_array_equal(build_mask([*masks, *masks], n_q, n_k), np.logical_and.reduce(each))


def test_no_mask_allows_everything() -> None:
    np.testing.assert_array_equal(build_mask([], 2, 3), np.ones((2, 3), dtype=bool))


def test_an_unknown_mask_and_a_bad_parameter_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean sliding_window"):
        build_mask([Spec("sliding_windows")], 2, 2)
    with pytest.raises(SettingError, match=r"got window=65\. Try 64\."):
        build_mask([Spec("sliding_window", (("window", 65),))], 2, 2)


def test_a_row_counts_as_without_keys_only_if_every_head_forbids_every_key() -> None:
    mask = np.ones((2, 3, 4), dtype=bool)
    mask[0, 0] = mask[:, 2] = False

    assert rows_without_keys(mask) == [2]
    assert rows_without_keys(np.zeros((1, 2, 2), dtype=bool)) == [0, 1]


@pytest.mark.parametrize(
    ("name", "padded", "ids"),
    [
        ("padding_left", 3, [0, 0, 0, 0, 1]),
        ("padding_left", 1, [0, 0, 1, 2, 3]),
        ("padding_left", 64, [0, 0, 0, 0, 0]),
        ("padding_right", 2, [0, 1, 2, 2, 2]),
        ("padding_right", 64, [0, 0, 0, 0, 0]),
    ],
)
def test_positions_count_only_real_tokens(name: str, padded: int, ids: list[int]) -> None:
    assert padded_position_ids([MASKS["causal"].spec(), MASKS[name].spec(padded=padded)], 5).tolist() == ids


@given(mask_specs("Structure", "Sparsity"), lengths)
def test_without_padding_positions_are_the_places(masks, n: int) -> None:
    assert padded_position_ids((*masks, MASKS["no_padding"].spec()), n).tolist() == list(range(n))
