"""What each effect does past the trained length."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.positions import PositionShape, Rotation, sinusoidal_table
from attnviz.positions.beyond import bias_beyond, bias_reach, far_scores, nearest_seen, pairs_at_new_angles
from attnviz.positions.similarity import Method
from tests.positions.test_similarity import method_of

SHAPE = PositionShape(d_model=16, n_heads=4, seed=3, n_positions=129)


def test_far_scores_are_those_of_the_last_query_back_to_the_first_key() -> None:
    found = far_scores(method_of("alibi", SHAPE), 128, head=1)

    assert found.distance_tokens.tolist() == list(range(129))
    np.testing.assert_allclose(found.scores, -np.arange(129) / 16, atol=1e-12)


def test_of_a_long_text_513_distances_are_taken_with_both_ends() -> None:
    found = far_scores(method_of("rotary", SHAPE), 4096, head=0)

    assert found.distance_tokens.size == 513
    assert (found.distance_tokens[0], found.distance_tokens[1], found.distance_tokens[-1]) == (0, 8, 4096)


def test_the_nearest_seen_vector_is_the_one_with_the_largest_cosine() -> None:
    cosines = nearest_seen(method_of("sinusoidal", SHAPE), 8, 12)

    table = sinusoidal_table(np.arange(13), 16)
    expected = [max(float(table[place] @ table[seen]) / 8 for seen in range(8)) for place in range(8, 13)]
    np.testing.assert_allclose(cosines, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("frequencies", "n_new"),
    [([1.0, 0.1, 0.01, 0.001], 3), ([1.0], 0), ([0.1], 1), ([0.0], 0), ([], 0)],
)
def test_pairs_that_never_complete_a_turn_in_training_get_to_new_angles(frequencies: list[float], n_new: int) -> None:
    rotation = Rotation(np.array(frequencies))

    assert pairs_at_new_angles(rotation, rotation, 32, 128) == n_new


def test_a_rotation_slowed_for_the_long_text_meets_no_new_angle() -> None:
    plain, slowed = Rotation(np.array([1.0, 0.01])), Rotation(np.array([1.0, 0.0025]))

    assert pairs_at_new_angles(plain, plain, 32, 128) == 1
    assert pairs_at_new_angles(plain, slowed, 32, 128) == 0


def test_the_bias_of_alibi_goes_on_in_a_straight_line() -> None:
    found = bias_beyond(method_of("alibi", SHAPE), 32, 128, head=0)

    assert (found.at_length, found.at_end, found.step, found.same_from) == (-8, -32, -0.25, None)


def test_the_bias_of_t5_stays_in_its_last_bucket() -> None:
    within = bias_beyond(method_of("t5_bias", SHAPE), 32, 128, head=2)
    after = bias_beyond(method_of("t5_bias", SHAPE), 91, 400, head=2)

    assert (within.step, within.same_from) == (None, 91)
    assert (after.step, after.same_from) == (0, 91)
    assert within.at_end == after.at_length == after.at_end


def test_a_bias_past_its_largest_distance_is_one_number() -> None:
    method: Method = method_of("learned_bias", SHAPE, max_distance=8)

    found = bias_beyond(method, 8, 32, head=0)

    assert found.same_from == 8
    assert found.at_length == found.at_end


def test_the_bias_is_less_that_of_the_own_place_as_the_scores_are() -> None:
    method = method_of("t5_bias", SHAPE)

    found = bias_beyond(method, 32, 128, head=1)

    scores = far_scores(method, 128, head=1).scores
    assert (found.at_length, found.at_end) == pytest.approx((scores[32], scores[128]))


@pytest.mark.parametrize(
    ("name", "params", "reach"),
    [
        ("alibi", {}, 63),
        ("alibi", {"slope": 0}, 63),
        ("t5_bias", {}, 99),
        ("t5_bias", {"direction": "causal"}, 121),
        ("t5_bias", {"n_buckets": 8, "max_distance": 16}, 63),
        ("learned_bias", {"max_distance": 8}, 63),
        ("learned_bias", {"max_distance": 100}, 108),
        ("grid_bias", {}, 63),
    ],
)
def test_a_bias_is_drawn_as_far_as_it_changes(name: str, params: dict[str, object], reach: int) -> None:
    assert bias_reach(method_of(name, SHAPE, **params), 63) == reach
