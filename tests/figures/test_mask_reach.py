"""Pictures of what is reached through several layers."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures import mask_words
from attnviz.figures.reach import LayersScale, reach_line, reach_map
from attnviz.metrics.pooling import Window
from attnviz.metrics.reach import reach
from tests.figures.traces import random_trace

BACK_ONE = np.tri(5, dtype=bool) & ~np.tri(5, k=-2, dtype=bool)


def drawn(mask: np.ndarray, depth: int) -> np.ndarray:
    n = len(mask)
    trace = random_trace(1, n, mask)
    picture = reach_map(
        trace, reach(mask), Window(0, n, 0, n), depth=depth, query=0, key=0, has_keys=np.ones(n, dtype=bool)
    )
    return np.asarray(picture.data[0].z)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_map_shows_the_layers_needed_up_to_the_chosen_number(depth: int) -> None:
    behind = np.subtract.outer(np.arange(5), np.arange(5))
    is_reached = (behind >= 0) & (behind <= depth)

    z = drawn(BACK_ONE, depth)

    unreached = np.float32(LayersScale(top=float(depth)).forbidden_value)
    np.testing.assert_array_equal(z, np.where(is_reached, behind, unreached).astype(np.float32))


def test_of_a_block_of_pairs_the_nearest_is_shown() -> None:
    n = 300
    mask = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < 2

    z = drawn(mask, 3)

    assert z.shape == (150, 150)
    assert z[10, 10:14].round(3).tolist() == [0, 1, 3, pytest.approx(LayersScale(top=3.0).forbidden_value, abs=1e-3)]


def test_the_fewer_layers_the_stronger_the_colour_and_what_is_not_reached_has_a_tint_of_its_own() -> None:
    scale = LayersScale(top=4.0)
    places = [place for place, _ in scale.colorscale()]

    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, pytest.approx(1.0))
    assert len({colour for _, colour in scale.colorscale()[1:]}) == len(scale.colorscale()) - 1
    assert scale.colorbar()["ticktext"] == ["not reached", "0", "4"]


def test_pairs_that_the_mask_forbids_and_the_residual_stream_keeps_are_told() -> None:
    padded = np.tri(5, dtype=bool) & (np.arange(5) < 3)

    found = reach(padded)

    assert found.n_only_kept == 2
    assert mask_words.reachable_answer(found) == (
        "Through 1 layer or more, 14 of 25 pairs are reachable (56.0\u202f%): each token keeps itself, also the 2 "
        "whose own pair is forbidden."
    )
    assert reach(BACK_ONE).n_only_kept == 0


def test_the_line_shows_the_share_of_all_pairs_and_of_the_chosen_token() -> None:
    picture = reach_line(reach(BACK_ONE), random_trace(1, 5, BACK_ONE), depth=2, query=4)

    everything, token, chosen = picture.data
    assert list(everything.x) == list(range(1, 17))
    np.testing.assert_allclose(np.asarray(everything.y)[:5], [36, 48, 56, 60, 60])
    np.testing.assert_allclose(np.asarray(token.y)[:5], [40, 60, 80, 100, 100])
    assert (list(chosen.x), list(chosen.y)) == ([2, 2], [48, 60])
    assert [trace.name for trace in picture.data] == ["all pairs", "query 4 t4", "2 layers"]


def test_the_line_goes_on_until_nothing_is_added() -> None:
    n = 40
    mask = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) < 2

    picture = reach_line(reach(mask), random_trace(1, n, mask), depth=2, query=0)

    assert picture.data[0].x[-1] == 39
    assert picture.data[0].y[-1] == 100


@pytest.mark.parametrize(
    ("mask", "depth", "said", "growth", "reachable"),
    [
        (
            BACK_ONE,
            2,
            "After 2 layers token 4 “t4” can be reached by 3 of 5 tokens, itself among them; of all pairs 48.0\u202f% "
            "are reached.",
            "Every pair that can ever be reached is reached after 4 layers: 60.0\u202f% of all pairs.",
            "Through 4 layers or more, 15 of 25 pairs are reachable (60.0\u202f%).",
        ),
        (
            np.ones((5, 5), dtype=bool),
            1,
            "After 1 layer token 4 “t4” can be reached by 5 of 5 tokens, itself among them; of all pairs 100\u202f% "
            "are reached.",
            "Every pair that can ever be reached is reached after 1 layer: that is every pair.",
            "Through 1 layer every token can reach every other.",
        ),
        (
            np.eye(5, dtype=bool),
            9,
            "After 9 layers token 4 “t4” can be reached by 1 of 5 tokens, itself among them; of all pairs 20.0\u202f% "
            "are reached.",
            "No layer adds a pair: each token only ever holds itself.",
            "No token can reach another, however many layers there are.",
        ),
    ],
)
def test_the_answers_count_what_is_reached(
    mask: np.ndarray, depth: int, said: str, growth: str, reachable: str
) -> None:
    found, trace = reach(mask), random_trace(1, 5, mask)

    assert mask_words.depth_answer(found, trace, 4, depth) == said
    assert mask_words.growth_answer(found) == growth
    assert mask_words.reachable_answer(found) == reachable
    assert mask_words.reach_alt(found, depth).startswith("Map of what is reached after")
