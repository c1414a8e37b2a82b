"""The same input with other numbers of heads: sizes by hand, measures against the layer itself."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from attnviz import AttentionConfig, attend
from attnviz.metrics import mean_over_queries, measured, survey
from attnviz.metrics import sweep as made
from attnviz.metrics.ranks import effective_rank, numerical_rank
from attnviz.metrics.spectra import layer_spectra
from attnviz.metrics.sweep import LeftOut, Sweep, head_counts, sweep
from attnviz.registries import MASKS, METRICS, POSITIONS

WORDS = ("the", "cat", "sat", "on", "the", "mat", "because", "it", "was", "tired", ".")
CONFIG = AttentionConfig(WORDS, d_model=32, n_heads=4, projections="random")


def rows_of(found: Sweep) -> list[dict[str, float]]:
    return [asdict(point) for point in found.points]


def test_the_numbers_of_heads_are_powers_of_two_that_divide_the_width_with_the_present_one() -> None:
    assert head_counts(32, 4) == [1, 2, 4, 8, 16, 32]
    assert head_counts(12, 6) == [1, 2, 4, 6, 12]
    assert head_counts(7, 1) == [1, 7]


def test_parameters_and_operations_stay_while_the_memory_of_the_weights_doubles() -> None:
    found = sweep(CONFIG)

    assert [point.n_heads for point in found.points] == [1, 2, 4, 8, 16, 32]
    assert [point.d_head for point in found.points] == [32, 16, 8, 4, 2, 1]
    assert {point.n_parameters for point in found.points} == {4 * 32**2}
    assert {point.score_flops for point in found.points} == {2 * 32 * 11**2}
    assert [point.weight_bytes for point in found.points] == [4 * n * 11**2 for n in (1, 2, 4, 8, 16, 32)]


def test_scores_of_random_heads_have_every_direction_that_d_head_and_the_tokens_allow() -> None:
    found = sweep(CONFIG)

    assert [point.rank_bound for point in found.points] == [11, 11, 8, 4, 2, 1]
    assert [point.score_rank for point in found.points] == pytest.approx([10, 10, 8, 4, 2, 1], abs=1)
    for point in found.points:
        assert 1 <= point.score_effective_rank <= point.rank_bound + 1e-9
        assert 1 <= point.weight_effective_rank <= 11
    assert found.points[-1].score_effective_rank == pytest.approx(1)


def test_one_head_has_no_pair_and_no_cosine() -> None:
    one, two, *_ = sweep(CONFIG).points

    assert one.n_pairs == one.n_alike_pairs == 0
    assert math.isnan(one.mean_cosine)
    assert two.n_pairs == 1
    assert 0 < two.mean_cosine < 1


@pytest.mark.parametrize("kind", ["random", "designed"])
@pytest.mark.parametrize("mask", ["full", "causal"])
def test_a_number_of_heads_has_what_its_own_layer_has(kind: str, mask: str) -> None:
    config = replace(CONFIG, projections=kind, masks=(MASKS[mask].spec(),))
    trace = attend(config)
    found, entropy = survey(trace), METRICS["normalised_entropy"].spec()
    pairs = found.cosine[np.triu_indices(4, k=1)]

    point = next(point for point in sweep(config).points if point.n_heads == 4)

    spectra = layer_spectra(trace)
    assert point.mean_cosine == pytest.approx(pairs.mean(), abs=1e-6)
    assert point.n_alike_pairs == (pairs > 0.9).sum()
    assert point.entropy_share == pytest.approx(mean_over_queries(measured(trace, entropy).values).mean(), abs=1e-6)
    assert point.uniform_entropy_share == pytest.approx(1)
    assert point.weight_effective_rank == pytest.approx(effective_rank(spectra.weights).mean(), abs=1e-6)
    assert point.score_effective_rank == pytest.approx(np.nan_to_num(effective_rank(spectra.scores)).mean(), abs=1e-6)
    assert point.uniform_effective_rank == pytest.approx(effective_rank(spectra.uniform)[0])


def test_the_sweep_is_the_same_whatever_the_present_number_key_value_heads_and_dropout_are() -> None:
    usual = sweep(CONFIG)

    other = sweep(replace(CONFIG, n_heads=8, n_kv_heads=2, d_value=3, dropout=0.5))

    np.testing.assert_equal(rows_of(other), rows_of(usual))


def test_heads_that_know_nothing_are_all_alike_and_score_the_baselines() -> None:
    for point in sweep(replace(CONFIG, sharpness=0.0)).points:
        assert point.entropy_share == pytest.approx(1)
        assert point.weight_effective_rank == pytest.approx(point.uniform_effective_rank, rel=1e-5)
        assert point.score_effective_rank == 0
        assert point.score_rank == 0
        assert point.n_alike_pairs == point.n_pairs
        assert point.n_heads == 1 or point.mean_cosine == pytest.approx(1)


def test_a_head_of_zeros_counts_as_rank_0_in_every_mean() -> None:
    config = AttentionConfig(WORDS, d_model=64, n_heads=8, projections="designed")
    scores = layer_spectra(attend(config)).scores

    (point,) = [one for one in sweep(config).points if one.n_heads == 8]

    assert numerical_rank(scores).tolist() == [8, 8, 8, 1, 8, 0, 8, 7]
    assert point.score_rank == 48 / 8
    defined = effective_rank(scores)
    assert np.isnan(defined).tolist() == [False] * 5 + [True] + [False] * 2
    assert point.score_effective_rank == pytest.approx(np.nansum(defined) / 8)


def test_heads_without_a_query_of_two_keys_have_no_part_in_the_entropy_and_are_counted() -> None:
    alone = sweep(replace(CONFIG, tokens=("a",))).points
    assert {point.n_with_entropy for point in alone} == {0}
    assert all(math.isnan(point.entropy_share) for point in alone)
    assert [(point.n_with_entropy, point.n_heads) for point in sweep(CONFIG).points] == [
        (count, count) for count in (1, 2, 4, 8, 16, 32)
    ]


def test_a_mean_effective_rank_is_at_most_the_mean_rank() -> None:
    for point in sweep(replace(CONFIG, projections="designed")).points:
        assert point.score_effective_rank <= point.score_rank + 1e-9
        assert point.weight_effective_rank <= point.weight_rank + 1e-9


def test_a_number_that_the_positions_do_not_allow_is_left_out_with_the_reason() -> None:
    found = sweep(replace(CONFIG, position=POSITIONS["rotary"].spec()))

    assert [point.n_heads for point in found.points] == [1, 2, 4, 8, 16]
    (left,) = found.left_out
    assert left.n_heads == 32
    assert "d_head" in left.reason


def test_maps_that_are_too_large_are_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "MOST_WEIGHTS", 1000)

    found = sweep(CONFIG)

    assert [point.n_heads for point in found.points] == [1, 2, 4, 8]
    assert found.left_out[0] == LeftOut(16, "its maps have 1,936 weights, more than 1,000.")


def test_of_a_long_input_the_first_tokens_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made, "MOST_TOKENS", 6)

    found = sweep(replace(CONFIG, key_tokens=WORDS[:4]))

    assert (found.n_q, found.n_k) == (6, 4)
    np.testing.assert_equal(rows_of(found), rows_of(sweep(replace(CONFIG, tokens=WORDS[:6], key_tokens=WORDS[:4]))))


def test_progress_is_told_up_to_the_end() -> None:
    told: list[float] = []

    sweep(CONFIG, told.append)

    assert told == pytest.approx([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1])


def test_heads_that_are_off_make_no_difference() -> None:
    found, plain = sweep(replace(CONFIG, removed=(3,), stand_in="mean")), sweep(CONFIG)

    assert found.left_out == ()
    np.testing.assert_equal(rows_of(found), rows_of(plain))
