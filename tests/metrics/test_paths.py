"""The strongest paths through layers: by hand, in order, and in sum the rollout."""

from __future__ import annotations

from itertools import islice, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.metrics.paths import Path, paths_by_strength, strongest_routes
from attnviz.metrics.rollout import rollout, with_residual
from tests.strategies import masked, seeds

TO_FIRST = np.array([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]])
TO_NEXT = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 1]])


def every_path(maps: list[np.ndarray], query: int) -> dict[tuple[int, ...], float]:
    """Each way through all layers with the product of its links, one by one."""
    mixed = [with_residual(one) for one in maps]
    found = {}
    for below in product(range(len(maps[0])), repeat=len(maps)):
        tokens = (*below, query)
        links = [mixed[layer][end, start] for layer, (start, end) in enumerate(pairwise(tokens))]
        share = float(np.prod(links))
        if share > 0:
            found[tokens] = share
    return found


def test_the_paths_of_two_layers_by_hand() -> None:
    assert list(paths_by_strength([TO_NEXT, TO_FIRST], 2)) == [
        Path((2, 2, 2), 0.5),
        Path((0, 0, 2), 0.25),
        Path((1, 0, 2), 0.25),
    ]


def test_without_a_residual_connection_there_is_one_path() -> None:
    assert list(paths_by_strength([TO_NEXT, TO_NEXT], 0, residual=0.0)) == [Path((2, 1, 0), 1.0)]


@given(seeds, st.integers(1, 3))
def test_paths_are_all_there_are_in_order_and_sum_to_the_rollout(seed: int, n_layers: int) -> None:
    weights, _ = masked(seed, (n_layers, 4, 4), 0.7)
    maps, query = list(weights), 2

    found = list(paths_by_strength(maps, query))

    expected = every_path(maps, query)
    assert {path.tokens for path in found} == set(expected)
    for path in found:
        assert path.share == pytest.approx(expected[path.tokens], rel=1e-12)
    shares = [path.share for path in found]
    assert all(one >= other * (1 - 1e-12) for one, other in pairwise(shares))
    from_input = np.zeros(4)
    for path in found:
        from_input[path.tokens[0]] += path.share
    np.testing.assert_allclose(from_input, rollout(maps)[-1][query], rtol=1e-12)


@settings(max_examples=60)
@given(seeds, st.integers(1, 12), st.floats(0.1, 1.0))
def test_routes_hold_what_all_paths_over_their_links_carry(seed: int, most_links: int, enough: float) -> None:
    weights, _ = masked(seed, (3, 4, 4), 0.8)
    maps, query = list(weights), 1

    routes = strongest_routes(maps, query, enough=enough, most_links=most_links)

    links = set(zip(routes.layer.tolist(), routes.start.tolist(), routes.end.tolist(), strict=True))
    over = {
        tokens: share
        for tokens, share in every_path(maps, query).items()
        if all((layer, *step) in links for layer, step in enumerate(pairwise(tokens)))
    }
    assert len(links) == len(routes.layer) <= most_links
    assert {path.tokens for path in routes.paths} <= set(over)
    assert routes.share == pytest.approx(sum(over.values()), abs=1e-12)
    for layer, start, end, passing in zip(routes.layer, routes.start, routes.end, routes.passing, strict=True):
        on_it = [share for tokens, share in over.items() if tokens[layer : layer + 2] == (start, end)]
        assert passing == pytest.approx(sum(on_it), rel=1e-9)
    if routes.paths:
        per_layer = [routes.passing[routes.layer == layer].sum() for layer in range(3)]
        assert per_layer == pytest.approx([routes.share] * 3)


def test_enough_links_hold_the_whole_rollout() -> None:
    weights, _ = masked(4, (4, 5, 5), 0.9)

    routes = strongest_routes(list(weights), 3, enough=1.0 + 1e-9, most_links=10**6, most_paths=10**6)

    np.testing.assert_allclose(routes.from_input, rollout(list(weights))[-1][3], rtol=1e-12)
    assert len(routes.paths) == len(every_path(list(weights), 3))


def test_paths_are_taken_until_they_hold_enough_and_no_longer() -> None:
    maps = [TO_NEXT, TO_FIRST]

    assert [path.share for path in strongest_routes(maps, 2, enough=0.5).paths] == [0.5]
    assert strongest_routes(maps, 2, enough=0.6).share == 0.75
    assert strongest_routes(maps, 2, enough=0.6, most_links=3).share == 0.5, "another path would need two more links"
    assert [path.tokens for path in strongest_routes(maps, 2, enough=0.9).paths] == [(2, 2, 2), (0, 0, 2), (1, 0, 2)]


def test_the_first_paths_of_forty_tokens_through_twelve_layers_come_without_all_others() -> None:
    maps = [np.full((40, 40), 1 / 40)] * 12

    first = list(islice(paths_by_strength(maps, 7), 50))

    assert first[0] == Path((7,) * 13, pytest.approx((0.5 + 0.5 / 40) ** 12))
    one_step = (0.5 + 0.5 / 40) ** 11 * 0.5 / 40
    assert [path.share for path in first[1:]] == pytest.approx([one_step] * 49)
