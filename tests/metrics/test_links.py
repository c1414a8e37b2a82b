"""The strongest links: exactly the largest weights, in one pass over blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz import AttentionTrace
from attnviz.metrics import uniform_weights
from attnviz.metrics.links import Hidden, Links, strongest_links
from attnviz.metrics.viewing import View
from attnviz.registries import MASKS
from tests.figures.traces import random_trace, sentence_trace, trace_of
from tests.strategies import in_small_blocks, masked, seeds

BY_EYE = np.array([[[0.7, 0.2, 0.1], [0.0, 0.6, 0.4], [0.3, 0.3, 0.4]], [[1.0, 0, 0], [0.5, 0.5, 0], [0.9, 0, 0.1]]])


def listed(links: Links) -> list[tuple[int, int, int, float]]:
    places = (links.head.tolist(), links.query.tolist(), links.key.tolist(), links.weight.tolist())
    return list(zip(*places, strict=True))


def sorted_whole(trace: AttentionTrace, heads: range) -> list[tuple[int, int, int, float]]:
    """Every link with any weight, by the largest weight and then by head, query and key."""
    places = np.argwhere(trace.weights > 0).tolist()
    every = [(head, query, key, float(trace.weights[head, query, key])) for head, query, key in places if head in heads]
    return sorted(every, key=lambda link: (-link[3], *link[:3]))


def test_the_strongest_links_by_eye() -> None:
    links = strongest_links(trace_of(BY_EYE), range(2), 4)

    assert listed(links) == [(1, 0, 0, 1.0), (1, 2, 0, 0.9), (0, 0, 0, 0.7), (0, 1, 1, 0.6)]
    assert links.n_links == 18
    assert links.share_of_mass() == pytest.approx(3.2 / 6)
    assert links.uniform_share() == pytest.approx(4 / 18)


def test_links_of_one_head_and_of_one_query_compete_with_no_others() -> None:
    trace = trace_of(BY_EYE)

    assert listed(strongest_links(trace, range(1), 2)) == [(0, 0, 0, 0.7), (0, 1, 1, 0.6)]
    of_query = strongest_links(trace, range(2), 2, rows=range(2, 3))
    assert listed(of_query) == [(1, 2, 0, 0.9), (0, 2, 2, 0.4)]
    assert (of_query.n_links, of_query.share_of_mass()) == (6, pytest.approx(1.3 / 2))


def test_of_equal_weights_the_first_by_head_query_and_key_are_taken() -> None:
    links = strongest_links(trace_of(np.full((2, 3, 4), 0.25)), range(2), 6)

    assert listed(links) == [(0, 0, key, 0.25) for key in range(4)] + [(0, 1, 0, 0.25), (0, 1, 1, 0.25)]


def test_a_weight_of_nothing_is_no_link() -> None:
    links = strongest_links(trace_of(np.eye(3)[None]), range(1), 100)

    assert listed(links) == [(0, place, place, 1.0) for place in range(3)]
    assert (links.n_links, links.share_of_mass()) == (9, 1.0)


def test_no_allowed_pair_gives_no_link() -> None:
    links = strongest_links(trace_of(np.zeros((2, 3, 3)), np.zeros((1, 3, 3), dtype=bool)), range(2))

    assert (links.count, links.n_links, links.share_of_mass(), links.uniform_share()) == (0, 0, 0.0, 0.0)


@settings(max_examples=60)
@given(seeds, st.integers(1, 60), st.booleans(), st.integers(4, 60))
def test_links_in_blocks_are_the_first_of_a_sort_of_the_whole(seed: int, most: int, per_head: bool, cells: int) -> None:
    weights, mask = masked(seed, (3, 7, 6), 0.7, per_head=per_head)
    trace = trace_of(weights.round(1), mask)

    with in_small_blocks(cells):
        links = strongest_links(trace, range(1, 3), most)

    assert listed(links) == sorted_whole(trace, range(1, 3))[:most]
    allowed = np.broadcast_to(mask, weights.shape)[1:]
    assert links.n_links == allowed.sum()
    assert links.share_of_mass() == pytest.approx(sum(link[3] for link in listed(links)) / trace.weights[1:].sum())


@given(seeds, st.integers(1, 100), st.booleans())
def test_a_uniform_head_holds_exactly_the_baseline(seed: int, most: int, per_head: bool) -> None:
    _, mask = masked(seed, (2, 6, 8), 0.6, per_head=per_head)
    weights = uniform_weights(np.broadcast_to(mask, (2, 6, 8)))

    links = strongest_links(trace_of(weights, mask), range(2), most)

    assert links.share_of_mass() == pytest.approx(links.uniform_share(), rel=1e-12)


def test_the_fewest_links_that_hold_a_share() -> None:
    links = strongest_links(trace_of(BY_EYE), range(2))

    assert listed(links.holding(0.5)) == listed(links)[:4]
    assert links.holding(0.5).share_of_mass() == pytest.approx(3.2 / 6)
    assert listed(links.holding(1.0)) == listed(links)
    assert listed(strongest_links(trace_of(BY_EYE), range(2), 2).holding(0.9)) == listed(links)[:2]


def test_a_long_trace_has_the_links_of_its_whole_map() -> None:
    short = sentence_trace([f"w{place}" for place in range(40)], MASKS["sliding_window"].spec())
    streamed = AttentionTrace(**{**vars_of(short), "kept": None})

    with in_small_blocks(200):
        links = strongest_links(streamed, range(4), 50)

    whole = strongest_links(short, range(4), 50)
    np.testing.assert_allclose(links.weight, whole.weight, rtol=1e-6)
    assert {link[:3] for link in listed(links)[:20]} == {link[:3] for link in listed(whole)[:20]}
    assert links.n_links == whole.n_links
    assert links.share_of_mass() == pytest.approx(whole.share_of_mass(), rel=1e-6)


def vars_of(trace: AttentionTrace) -> dict[str, object]:
    return {name: getattr(trace, name) for name in AttentionTrace.__dataclass_fields__}


def test_progress_is_told_up_to_the_end() -> None:
    told: list[float] = []

    with in_small_blocks(20):
        strongest_links(random_trace(2, 10), range(2), on_progress=told.append)

    assert told == sorted(told)
    assert told[-1] == 1.0


@settings(max_examples=60)
@given(seeds, st.sets(st.integers(0, 5), max_size=6), st.booleans(), st.integers(4, 60))
def test_links_without_hidden_keys_are_those_of_the_maps_without_them(
    seed: int, hidden: set[int], per_head: bool, cells: int
) -> None:
    weights, mask = masked(seed, (3, 7, 6), 0.7, per_head=per_head)
    view = View(tuple(sorted(hidden)), row_scale=True, log_scale=True)
    every = np.broadcast_to(mask, weights.shape)

    with in_small_blocks(cells):
        links = strongest_links(trace_of(weights, mask), range(1, 3), view=view)

    left = weights.copy()
    left[..., list(hidden)] = 0
    total = left.sum(axis=-1, keepdims=True)
    left = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
    assert {link[:3] for link in listed(links)} == {tuple(place) for place in np.argwhere(left > 0) if place[0] > 0}
    np.testing.assert_allclose(links.weight, left[links.head, links.query, links.key], rtol=1e-12)
    still = every & ~np.isin(np.arange(6), list(hidden)) & (total > 0)
    np.testing.assert_array_equal(links.n_allowed, still.sum(axis=-1)[links.head, links.query])
    assert links.n_links == still[1:].sum()
    assert links.mass == pytest.approx((total[1:] > 0).sum())
    if not hidden:
        assert links.hidden == Hidden()
        return
    rows = every[1:].any(axis=-1)
    uniform = uniform_weights(every)[1:][..., list(hidden)].sum()
    assert links.hidden.share == pytest.approx(weights[1:][..., list(hidden)].sum() / max(weights[1:].sum(), 1e-9))
    assert links.hidden.uniform == pytest.approx(uniform / max(rows.sum(), 1))
    assert links.hidden.n_emptied == (rows & (total[1:, :, 0] == 0)).sum()


def test_a_uniform_head_gives_each_link_its_row_of_allowed_keys() -> None:
    mask = np.tril(np.ones((3, 3), dtype=bool))

    links = strongest_links(trace_of(uniform_weights(mask[None]), mask), range(1))

    np.testing.assert_allclose(links.weight, links.uniform, rtol=1e-12)
    assert links.n_allowed.tolist() == [1, 2, 2, 3, 3, 3]


def test_links_without_those_of_one_query() -> None:
    links = strongest_links(trace_of(BY_EYE), range(2))

    assert listed(links.without(0)) == [link for link in listed(links) if link[1] != 0]
    assert links.without(0).n_links == 18
