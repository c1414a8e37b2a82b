"""Weights of some rows at a time are those of whole maps: streamed, in windows, row by row, after dropout."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.core import layer, tiles
from attnviz.core.rows import Rows, row_blocks, rows_of
from attnviz.registries import MASKS, POSITIONS
from tests.strategies import configs, in_small_blocks, masked, seeds

SENTENCE = AttentionConfig(tuple("abcdefghij"), d_model=16, n_heads=4)
cells = st.sampled_from([1, 30, 200, 1 << 21])


def unkept(trace: AttentionTrace) -> AttentionTrace:
    """The same layer, of which no map is held."""
    return replace(trace, kept=None)


def made_in_rows(config: AttentionConfig) -> AttentionTrace:
    """The layer of this setting as a long one is made: mask and bias too are computed for some rows at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layer, "MOST_KEPT", 0)
        return attend(config)


class Whole(NamedTuple):
    """Maps put together from blocks."""

    weights: np.ndarray
    mask: np.ndarray
    nats: np.ndarray
    places: np.ndarray
    n_blocks: int


def put_together(trace: AttentionTrace, heads: range | None = None, rows: range | None = None) -> Whole:
    """Every block of a trace scattered into maps of all keys, in their order; each row must come once."""
    of, wanted = heads or range(trace.n_heads), rows or range(trace.n_q)
    shape = (len(of), len(wanted), trace.n_k)
    weights, mask, nats = np.zeros(shape), np.zeros(shape, dtype=bool), np.full(shape[:2], np.nan)
    places: list[int] = []
    came: list[int] = []

    def copied(some: Rows, which: range) -> range:
        assert some.n_k == trace.n_k
        assert len(some.keys) >= 1
        assert some.keys.tolist() == list(range(some.keys[0], some.keys[-1] + 1))
        assert some.weights.shape == (len(of), len(which), len(some.keys))
        into = (slice(None), slice(which.start - wanted.start, which.stop - wanted.start), some.keys)
        weights[into], mask[into], nats[into[:2]] = some.weights, some.mask, some.entropy_nats()
        allowed = np.broadcast_to(some.n_allowed, (*shape[:1], len(which)))
        np.testing.assert_array_equal(allowed, mask[into[:2]].sum(axis=-1))
        assert some.allows_all == mask[into[:2]].all()
        places.extend(some.places.tolist())
        return which

    for which in trace.each_block(copied, heads=heads, rows=rows):
        came.extend(which)
    assert came == list(wanted)
    return Whole(weights, mask, nats, np.array(places), len(row_blocks(len(of), wanted, trace.n_k)))


def whole_mask(trace: AttentionTrace) -> np.ndarray:
    return np.broadcast_to(trace.mask, trace.weights.shape)


def entropy_of(weights: np.ndarray) -> np.ndarray:
    """-sum w ln w in float64."""
    wide = weights.astype(np.float64)
    return -(wide * np.log(np.where(wide > 0, wide, 1.0))).sum(axis=-1)


WAYS: dict[str, Callable[[AttentionConfig], AttentionTrace]] = {
    "kept": attend,
    "not kept": lambda config: unkept(attend(config)),
    "made in rows": made_in_rows,
}


@pytest.mark.parametrize("way", WAYS)
@given(config=configs(), cells=cells)
def test_blocks_of_rows_put_together_are_the_whole_maps(way: str, config: AttentionConfig, cells: int) -> None:
    right = attend(config)
    trace = WAYS[way](config)

    with in_small_blocks(cells):
        found = put_together(trace)

    assert (trace.kept is None) is (way != "kept")
    np.testing.assert_array_equal(found.mask, whole_mask(right))
    np.testing.assert_allclose(found.weights, right.weights, rtol=0, atol=1e-6)
    assert not found.weights[~found.mask].any()
    assert found.places.tolist() == list(range(right.n_k - right.n_q, right.n_k))
    np.testing.assert_allclose(found.nats, entropy_of(right.weights), rtol=0, atol=1e-5)
    if cells == 1:
        assert found.n_blocks == right.n_q


@pytest.mark.parametrize("mask", MASKS.names())
@pytest.mark.parametrize("n_keys", [None, 5, 23], ids=["as many keys", "fewer keys", "more keys"])
def test_every_mask_is_the_same_in_rows_as_in_whole(mask: str, n_keys: int | None) -> None:
    config = replace(SENTENCE, masks=(MASKS[mask].spec(),), key_tokens=None if n_keys is None else ("a",) * n_keys)
    right = attend(config)

    with in_small_blocks(100):
        found = put_together(made_in_rows(config))

    assert found.n_blocks > 1
    np.testing.assert_array_equal(found.mask, whole_mask(right))
    np.testing.assert_allclose(found.weights, right.weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize("position", POSITIONS.names())
def test_every_position_gives_the_same_weights_in_rows_as_in_whole(position: str) -> None:
    config = replace(SENTENCE, position=POSITIONS[position].spec())
    right = attend(config)
    trace = made_in_rows(config)

    with in_small_blocks(100):
        found = put_together(trace)

    np.testing.assert_allclose(found.weights, right.weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(trace.bias, right.bias, rtol=0, atol=1e-6)
    for query in range(right.n_q):
        bias = np.broadcast_to(right.bias, right.weights.shape)[1, query]
        np.testing.assert_allclose(trace.row_of_bias(1, query), bias, rtol=0, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@given(config=configs(), cells=cells, data=st.data())
def test_of_some_heads_and_rows_the_blocks_hold_those_and_no_others(
    way: str, config: AttentionConfig, cells: int, data: st.DataObject
) -> None:
    right = attend(config)
    heads, rows = part_of(right.n_heads, data), part_of(right.n_q, data)
    chosen = (slice(heads.start, heads.stop), slice(rows.start, rows.stop))

    with in_small_blocks(cells):
        found = put_together(WAYS[way](config), heads, rows)

    np.testing.assert_array_equal(found.mask, whole_mask(right)[chosen])
    np.testing.assert_allclose(found.weights, right.weights[chosen], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.nats, entropy_of(right.weights[chosen]), rtol=0, atol=1e-5)
    first = right.n_k - right.n_q
    assert found.places.tolist() == list(range(first + rows.start, first + rows.stop))


def part_of(n: int, data: st.DataObject) -> range:
    start = data.draw(st.integers(0, n - 1))
    return range(start, data.draw(st.integers(start + 1, n)))


@pytest.mark.parametrize("way", WAYS)
@given(config=configs(), cells=cells, data=st.data())
def test_a_window_and_a_row_are_those_of_the_whole_map(
    way: str, config: AttentionConfig, cells: int, data: st.DataObject
) -> None:
    right = attend(config)
    trace = WAYS[way](config)
    head = data.draw(st.integers(0, right.n_heads - 1))
    rows, columns = part_of(right.n_q, data), part_of(right.n_k, data)

    with in_small_blocks(cells):
        weights, mask = trace.window(head, rows, columns)
        row, row_mask = trace.row(head, rows[0])

    part = (head, slice(rows.start, rows.stop), slice(columns.start, columns.stop))
    np.testing.assert_array_equal(mask, whole_mask(right)[part])
    np.testing.assert_allclose(weights, right.weights[part], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(row_mask, whole_mask(right)[head, rows[0]])
    np.testing.assert_allclose(row, right.weights[head, rows[0]], rtol=0, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@given(config=configs(), p=st.floats(0.01, 0.9), cells=cells, data=st.data())
def test_blocks_and_windows_in_training_are_those_of_the_whole_after_dropout(
    way: str, config: AttentionConfig, p: float, cells: int, data: st.DataObject
) -> None:
    right = attend(replace(config, dropout=p)).in_training()
    trace = WAYS[way](replace(config, dropout=p)).in_training()
    head, rows, columns = 0, part_of(right.n_q, data), part_of(right.n_k, data)

    with in_small_blocks(cells):
        found = put_together(trace)
        weights, _ = trace.window(head, rows, columns)

    close = 1e-6 / (1 - p)
    np.testing.assert_allclose(found.weights, right.weights, rtol=0, atol=close)
    np.testing.assert_array_equal(found.mask, whole_mask(right))
    np.testing.assert_allclose(found.nats, np.abs(entropy_of(right.weights)), rtol=0, atol=1e-4)
    part = right.weights[head, rows.start : rows.stop, columns.start : columns.stop]
    np.testing.assert_allclose(weights, part, rtol=0, atol=close)
    dropped = (right.weights == 0) & (attend(config).weights > 1e-5)
    assert not found.weights[dropped].any()


def test_without_dropout_a_trace_in_training_is_the_trace_itself() -> None:
    trace = attend(SENTENCE)

    assert trace.in_training() is trace


@pytest.mark.parametrize("on_threads", [False, True], ids=["one thread", "several threads"])
def test_blocks_come_in_order_and_hold_the_right_rows_on_any_number_of_threads(
    on_threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(SENTENCE, tokens=tuple("abcdefghij") * 8, n_heads=4)
    right = attend(config)
    monkeypatch.setattr(tiles, "TILE_CELLS", 1 if on_threads else 1 << 30)

    with in_small_blocks(4 * 80 * 2):
        found = put_together(made_in_rows(config))

    assert found.n_blocks == 40
    np.testing.assert_allclose(found.weights, right.weights, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.mask, whole_mask(right))


def test_keys_that_no_row_of_a_block_may_attend_to_are_left_out() -> None:
    trace = unkept(attend(replace(SENTENCE, masks=(MASKS["sliding_window"].spec(window=3), MASKS["causal"].spec()))))

    with in_small_blocks(1):
        keys = list(trace.each_block(lambda some, which: (which[0], some.keys.tolist())))

    assert keys == [(row, list(range(max(row - 2, 0), row + 1))) for row in range(10)]


def test_maps_of_blocks_share_their_memory() -> None:
    trace = unkept(attend(replace(SENTENCE, masks=(MASKS["full"].spec(),))))

    with in_small_blocks(4 * 10 * 2):
        addresses = set(trace.each_block(lambda some, _: some.weights.ctypes.data))

    assert len(addresses) == 1


@given(config=configs(), cells=cells)
def test_progress_is_told_in_growing_shares_that_end_at_1(config: AttentionConfig, cells: int) -> None:
    trace = made_in_rows(config)
    told: list[float] = []

    with in_small_blocks(cells):
        rows = list(trace.each_block(lambda _, which: len(which), on_progress=told.append))

    np.testing.assert_allclose(told, np.cumsum(rows) / trace.n_q, rtol=1e-12)
    assert told[-1] == 1
    assert (np.diff([0.0, *told]) > 0).all()


def test_progress_of_some_rows_is_their_share_of_those_asked_for() -> None:
    trace = unkept(attend(SENTENCE))
    told: list[float] = []

    with in_small_blocks(1):
        list(trace.each_block(lambda _, which: which, heads=range(1), rows=range(5, 9), on_progress=told.append))

    assert told == [0.25, 0.5, 0.75, 1]


class StoppedError(Exception):
    """What a reader who leaves raises."""


@pytest.mark.parametrize("on_threads", [False, True], ids=["one thread", "several threads"])
def test_an_exception_raised_where_progress_is_told_stops_the_work(
    on_threads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = unkept(attend(replace(SENTENCE, tokens=tuple("abcdefghij") * 20, n_heads=1)))
    monkeypatch.setattr(tiles, "TILE_CELLS", 1 if on_threads else 1 << 30)
    done: list[int] = []

    def work(some: Rows, which: range) -> None:
        time.sleep(0.005)
        done.append(which[0])

    def stop(share: float) -> None:
        raise StoppedError(f"{share}")

    with in_small_blocks(1), pytest.raises(StoppedError, match=r"0\.005") as stopped:
        for _ in trace.each_block(work, on_progress=stop):
            pass

    del stopped
    gc.collect()
    n_done = len(done)
    time.sleep(0.1)
    assert 1 <= n_done <= (50 if on_threads else 1)
    assert len(done) <= n_done + tiles.N_THREADS, "no more than the blocks that were begun"


def test_an_exception_in_the_work_reaches_the_caller() -> None:
    trace = unkept(attend(SENTENCE))

    def work(_: Rows, which: range) -> range:
        if 3 in which:
            raise StoppedError("at row 3")
        return which

    with in_small_blocks(1), pytest.raises(StoppedError, match="at row 3"):
        list(trace.each_block(work))


@given(seeds, st.integers(1, 30), st.integers(1, 30), st.sampled_from([0.1, 0.5, 1.0]), st.booleans())
def test_rows_of_whole_maps_know_their_places_keys_and_entropy(
    seed: int, n_q: int, n_k: int, share: float, per_head: bool
) -> None:
    weights, mask = masked(seed, (3, n_q, n_k), share, per_head=per_head)

    rows = rows_of(weights, mask)

    assert rows.places.tolist() == list(range(n_k - n_q, n_k))
    assert rows.keys.tolist() == list(range(n_k))
    np.testing.assert_array_equal(rows.n_allowed, mask.sum(axis=-1))
    assert rows.allows_all == mask.all()
    np.testing.assert_allclose(rows.entropy_nats(), entropy_of(weights), rtol=0, atol=1e-12)


def test_a_long_layer_holds_no_whole_map_while_its_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("a whole map was computed")

    trace = attend(AttentionConfig(tuple("abcdefghij") * 150, d_model=8, n_heads=1))
    assert trace.kept is None

    for name in ("weights", "scores", "attention"):
        monkeypatch.setattr(type(trace), name, property(refused))
    sums = np.concatenate(list(trace.each_block(lambda some, _: some.weights.sum(axis=-1)[0])))

    np.testing.assert_allclose(sums, 1, atol=1e-5)
    assert trace.window(0, range(700, 703), range(1500))[0].sum(axis=-1) == pytest.approx([1, 1, 1], abs=1e-5)
