"""Masks together, empty rows, and positions that skip padding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, attend, masked_softmax
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
    with pytest.raises(SettingError, match=r"got window=0\. Try 1\."):
        build_mask([Spec("sliding_window", (("window", 0),))], 2, 2)


PER_HEAD = MASKS["strided"].spec(stride=2, heads="alternating")


def test_a_mask_that_heads_share_is_kept_once_for_all_of_them() -> None:
    shared = build_mask([MASKS["causal"].spec()], 2, 3, n_heads=8)

    assert shared.tolist() == [[[True, True, False], [True, True, True]]]


@given(mask_specs(), lengths, lengths, st.integers(1, 4))
def test_a_mask_that_differs_from_head_to_head_has_one_of_each_and_the_first_without_a_number_of_heads(
    masks, n_q: int, n_k: int, n_heads: int
) -> None:
    together = build_mask((*masks, PER_HEAD), n_q, n_k, n_heads=n_heads)
    alone = np.broadcast_to(build_mask(masks, n_q, n_k, n_heads=n_heads), together.shape)

    assert together.shape == (n_heads, n_q, n_k)
    np.testing.assert_array_equal(together, alone & build_mask([PER_HEAD], n_q, n_k, n_heads=n_heads))
    np.testing.assert_array_equal(build_mask((*masks, PER_HEAD), n_q, n_k), together[0])


def test_a_layer_gives_each_head_its_own_mask() -> None:
    config = AttentionConfig(tokens=tuple("abcdef"), d_model=16, n_heads=4, masks=(PER_HEAD,))

    trace = attend(config)

    np.testing.assert_array_equal(trace.mask, build_mask([PER_HEAD], 6, 6, n_heads=4))
    np.testing.assert_array_equal(trace.weights > 0, trace.mask)
    assert np.flatnonzero(trace.weights[0, 5]).tolist() == [3, 4, 5]
    assert np.flatnonzero(trace.weights[1, 5]).tolist() == [1, 3, 5]


def test_true_means_may_attend_as_in_pytorchs_attention_and_not_as_in_its_multi_head_attention() -> None:
    mask = np.array([[True, True, False]])

    assert masked_softmax(np.zeros((1, 3)), mask).tolist() == [[0.5, 0.5, 0.0]]
    assert masked_softmax(np.zeros((1, 3)), ~mask).tolist() == [[0.0, 0.0, 1.0]]


def test_a_causal_mask_with_padding_on_the_left_leaves_the_padding_no_key_and_the_tokens_each_other() -> None:
    mask = build_mask([MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=3)], 5, 5)

    assert np.argwhere(mask).tolist() == [[3, 3], [4, 3], [4, 4]]
    weights = masked_softmax(np.zeros((5, 5)), mask)
    assert weights[3:].tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0.5, 0.5]]
    assert not weights[:3].any()
    assert rows_without_keys(mask[None]) == [0, 1, 2]


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
        ("padding_left", 32_768, [0, 0, 0, 0, 0]),
        ("padding_right", 2, [0, 1, 2, 2, 2]),
        ("padding_right", 64, [0, 0, 0, 0, 0]),
    ],
)
def test_positions_count_only_real_tokens(name: str, padded: int, ids: list[int]) -> None:
    assert padded_position_ids([MASKS["causal"].spec(), MASKS[name].spec(padded=padded)], 5).tolist() == ids


@given(mask_specs("Structure", "Sparsity"), lengths)
def test_without_padding_positions_are_the_places(masks, n: int) -> None:
    assert padded_position_ids((*masks, MASKS["no_padding"].spec()), n).tolist() == list(range(n))
