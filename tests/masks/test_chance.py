"""Masks that leave out keys by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.masks import build_mask
from attnviz.masks.chance import draws, scrambled
from attnviz.registries import MASKS
from tests.strategies import lengths

menu_seeds = st.integers(0, 999_999)


def random_keys(n_q: int, n_k: int, n_heads: int = 3, **params: Any) -> np.ndarray:
    return build_mask([MASKS["random_keys"].spec(**params)], n_q, n_k, n_heads=n_heads)


@given(lengths, lengths, st.integers(1, 80), menu_seeds)
def test_every_query_keeps_exactly_so_many_keys_or_all_there_are(n_q: int, n_k: int, keep: int, seed: int) -> None:
    mask = random_keys(n_q, n_k, keep=keep, seed=seed)

    assert (mask.sum(axis=-1) == min(keep, n_k)).all()


@given(lengths, lengths, st.integers(1, 80), menu_seeds)
def test_among_earlier_keys_a_query_keeps_as_many_as_there_are_before_it(
    n_q: int, n_k: int, keep: int, seed: int
) -> None:
    mask = random_keys(n_q, n_k, keep=keep, seed=seed, among="earlier keys")
    before = np.maximum(np.arange(n_q) + n_k - n_q + 1, 0)

    np.testing.assert_array_equal(mask.sum(axis=-1), np.broadcast_to(np.minimum(keep, before), mask.shape[:2]))
    assert not (mask & ~build_mask([MASKS["causal"].spec()], n_q, n_k)).any()


@given(lengths, lengths, st.integers(1, 80), menu_seeds)
def test_among_earlier_keys_a_longer_text_keeps_the_choice_of_its_start(
    n: int, more: int, keep: int, seed: int
) -> None:
    short, long = (random_keys(size, size, keep=keep, seed=seed, among="earlier keys") for size in (n, n + more))

    np.testing.assert_array_equal(long[:, :n, :n], short)


def test_the_seed_decides_and_heads_draw_apart_or_together() -> None:
    first, other = random_keys(40, 40, keep=5), random_keys(40, 40, keep=5, seed=1)

    assert 0 < (first & other).sum() < first.sum() / 2
    assert 0 < (first[0] & first[1]).sum() < first[0].sum() / 2
    together = random_keys(40, 40, keep=5, per_head=False)
    assert together.shape == (1, 40, 40)
    np.testing.assert_array_equal(together[0], first[0])


def test_every_key_is_as_likely_as_any_other() -> None:
    mask = random_keys(2000, 20, n_heads=1, keep=5)

    share = mask[0].mean(axis=0)
    assert share.mean() == pytest.approx(0.25)
    assert np.abs(share - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 2000)


def test_numbers_are_scrambled_as_splitmix64_does_it() -> None:
    assert scrambled(np.array([0], dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF]


def test_a_draw_never_changes_and_never_holds_a_number_twice() -> None:
    drawn = draws(7, 2, np.arange(3)[:, None], np.arange(500)[None, :])

    assert drawn[1, :3].tolist() == [17932900512730251264, 12317123240377712641, 15849351227620130818]
    assert all(len(set(row.tolist())) == 500 for row in drawn)


def bigbird(n_q: int, n_k: int, **params: Any) -> np.ndarray:
    return build_mask([MASKS["bigbird"].spec(**params)], n_q, n_k, n_heads=2)


def test_bigbird_sees_its_neighbours_both_ends_and_random_blocks() -> None:
    mask = bigbird(24, 24, block=2, window=2, ends=1, random=2)

    blocks = mask[:, ::2, ::2]
    np.testing.assert_array_equal(np.repeat(np.repeat(blocks, 2, axis=1), 2, axis=2), mask)
    assert blocks[:, [0, -1]].all()
    assert blocks[:, :, [0, -1]].all()
    q, k = np.indices((12, 12))
    assert blocks[:, np.abs(q - k) < 2].all()
    assert (blocks[:, 2:-2].sum(axis=-1) == 2 + 3 + 2).all()
    assert (blocks[0] != blocks[1]).any()


@given(lengths, lengths, st.integers(1, 9), menu_seeds)
def test_more_random_blocks_than_there_are_leave_out_nothing(n_q: int, n_k: int, block: int, seed: int) -> None:
    assert bigbird(n_q, n_k, block=block, random=70, seed=seed).all()


@pytest.mark.parametrize("per_head", [True, False])
def test_the_heads_of_bigbird_draw_apart_or_together(per_head: bool) -> None:
    assert len(bigbird(30, 30, per_head=per_head)) == (2 if per_head else 1)
