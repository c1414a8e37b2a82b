"""Overlap of the spaces that heads read from and write to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from attnviz import AttentionConfig, attend
from attnviz.core.affine import Affine
from attnviz.metrics.subspaces import overlaps
from attnviz.registries import SIMILARITIES

COLUMNS = np.random.default_rng(0).normal(size=(3, 10, 4))


def test_the_overlap_is_the_mean_squared_cosine_of_the_principal_angles() -> None:
    overlap, uniform = overlaps(COLUMNS)

    for one, other in np.ndindex(3, 3):
        right = float(np.mean(np.cos(subspace_angles(COLUMNS[one], COLUMNS[other])) ** 2))
        assert overlap[one, other] == pytest.approx(right, abs=1e-12)
    assert uniform.tolist() == [0.4, 0.4, 0.4]


def test_another_basis_of_the_same_space_changes_nothing() -> None:
    mixed = COLUMNS @ np.random.default_rng(1).normal(size=(4, 4))

    np.testing.assert_allclose(overlaps(np.concatenate([COLUMNS, mixed]))[0][:3, 3:], overlaps(COLUMNS)[0], atol=1e-10)


def test_spaces_of_fewer_dimensions_count_those_they_have() -> None:
    plane = np.zeros((10, 4))
    plane[0, 0] = plane[1, 1] = plane[1, 2] = 1
    line = np.zeros((10, 4))
    line[:2, 0] = 1
    nothing = np.zeros((10, 4))

    overlap, uniform = overlaps(np.stack([plane, line, nothing, nothing]))

    np.testing.assert_allclose(overlap, [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], atol=1e-12)
    np.testing.assert_allclose(uniform, [0.2, 0.1, 0, 0])


def test_random_spaces_have_in_common_what_the_baseline_says() -> None:
    overlap, uniform = overlaps(np.random.default_rng(2).normal(size=(40, 30, 5)))

    others = overlap[np.triu_indices(40, k=1)]
    assert others.mean() == pytest.approx(uniform[0], rel=0.02)
    assert uniform[0] == 5 / 30


def test_heads_that_share_keys_read_the_same_directions_for_them() -> None:
    trace = attend(AttentionConfig(("a", "b"), d_model=16, n_heads=4, n_kv_heads=2, projections="random"))
    queries = trace.origin.to_query.W.reshape(16, 4, 4).transpose(1, 0, 2)

    reading = SIMILARITIES["query_key_subspaces"].function((trace,)).pairs
    carrying = SIMILARITIES["value_output_subspaces"].function((trace,)).pairs

    by_query, _ = overlaps(queries)
    assert reading[0, 1] == pytest.approx((by_query[0, 1] + 1) / 2, abs=1e-6)
    assert reading[0, 2] < reading[0, 1]
    assert carrying[0, 1] > 0.5, "one W_V"


def test_what_a_head_writes_is_the_space_of_its_own_rows() -> None:
    trace = attend(AttentionConfig(("a", "b"), d_model=8, n_heads=2, projections="random"))
    rows = np.concatenate([np.eye(8)[:4], np.eye(8)[:4]])
    columns = np.concatenate([np.eye(8)[:, :4], np.eye(8)[:, 4:]], axis=1)
    origin = replace(trace.origin, to_value=Affine(columns), to_output=Affine(rows))

    pairs = SIMILARITIES["value_output_subspaces"].function((replace(trace, origin=origin),)).pairs

    assert pairs[0, 1] == pytest.approx(0.5), "nothing in common in what they read, all in what they write"
