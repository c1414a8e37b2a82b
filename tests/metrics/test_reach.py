"""Which token gets to which through several layers, against powers of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.masks import build_mask
from attnviz.metrics.reach import allowed_in_any_head, reach
from attnviz.registries import MASKS
from attnviz.registry import Spec

WINDOW = (MASKS["causal"].spec(), MASKS["sliding_window"].spec(window=3))


def powers(mask: np.ndarray, most: int) -> list[np.ndarray]:
    """(I or M) to the power of 0, 1, 2..., by plain products of matrices."""
    n = len(mask)
    step = (mask | np.eye(n, dtype=bool)).astype(np.int64)
    found = [np.eye(n, dtype=np.int64)]
    for _ in range(most):
        found.append((step @ found[-1] > 0).astype(np.int64))
    return [one.astype(bool) for one in found]


@given(seed=st.integers(0, 9999), n=st.integers(1, 19), share=st.sampled_from([0.0, 0.05, 0.15, 0.5, 1.0]))
def test_what_is_reached_is_the_power_of_the_matrix_up_to_its_fixed_point(seed: int, n: int, share: float) -> None:
    mask = np.random.default_rng(seed).random((n, n)) < share

    found = reach(mask)

    expected = powers(mask, n + 1)
    for n_layers, one in enumerate(expected):
        np.testing.assert_array_equal(found.after(n_layers), one)
        assert found.count_after(n_layers) == one.sum()
    last = found.complete_after
    np.testing.assert_array_equal(expected[last], expected[-1])
    assert last == 0 or (expected[last - 1] != expected[-1]).any()


@pytest.mark.parametrize("name", MASKS.names())
def test_every_registered_mask_reaches_what_its_matrix_does(name: str) -> None:
    mask = build_mask([MASKS[name].spec()], 12, 12)

    found = reach(mask)

    for n_layers, one in enumerate(powers(mask, 5)):
        np.testing.assert_array_equal(found.after(n_layers), one)


def test_a_causal_window_of_three_sees_two_tokens_further_back_with_each_layer() -> None:
    found = reach(build_mask(WINDOW, 9, 9))

    for n_layers in range(1, 5):
        assert found.after(n_layers).sum(axis=1).tolist() == [min(token, 2 * n_layers) + 1 for token in range(9)]
    assert found.complete_after == 4
    assert found.n_reached.tolist() == [9, 24, 35, 42, 45]
    assert found.fields_of(8).tolist() == [1, 3, 5, 7, 9]


def test_a_causal_mask_is_complete_after_one_layer_and_no_key_at_all_after_none() -> None:
    causal, nothing = (reach(build_mask([MASKS[name].spec()], 5, 5)) for name in ("causal", "nothing"))

    assert (causal.complete_after, causal.n_reached[-1]) == (1, 15)
    assert (nothing.complete_after, nothing.n_reached.tolist()) == (0, [5])
    np.testing.assert_array_equal(nothing.after(64), np.eye(5, dtype=bool))


def test_a_token_keeps_itself_though_its_mask_forbids_it() -> None:
    mask = np.array([[False, True], [False, False]])

    np.testing.assert_array_equal(reach(mask).layers_needed, [[0, 1], [-1, 0]])


@pytest.mark.parametrize("n_heads", [1, 3])
@pytest.mark.parametrize(
    "spec", [MASKS["strided"].spec(heads="alternating"), MASKS["random_keys"].spec(keep=1), MASKS["causal"].spec()]
)
def test_heads_are_taken_together_whether_in_one_block_of_rows_or_in_many(
    spec: Spec, n_heads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build_mask([spec], 9, 9, n_heads=n_heads).any(axis=0)

    np.testing.assert_array_equal(allowed_in_any_head([spec], 9, n_heads), expected)
    monkeypatch.setattr("attnviz.metrics.reach.MOST_CELLS", 20)
    np.testing.assert_array_equal(allowed_in_any_head([spec], 9, n_heads), expected)
