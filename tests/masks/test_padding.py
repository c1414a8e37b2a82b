"""Places that only fill up a batch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.masks import build_mask
from attnviz.registries import MASKS
from tests.strategies import lengths


@pytest.mark.parametrize(
    ("name", "row"),
    [("padding_left", [0, 0, 1, 1, 1]), ("padding_right", [1, 1, 1, 0, 0]), ("no_padding", [1, 1, 1, 1, 1])],
)
def test_padded_keys_are_forbidden_to_every_query(name: str, row: list[int]) -> None:
    assert build_mask([MASKS[name].spec()], 3, 5).astype(int).tolist() == [row] * 3


@given(lengths, lengths, st.integers(1, 64))
def test_padding_on_the_left_is_padding_on_the_right_of_the_mirrored_text(n_q: int, n_k: int, padded: int) -> None:
    left, right = (build_mask([MASKS[f"padding_{side}"].spec(padded=padded)], n_q, n_k) for side in ("left", "right"))

    np.testing.assert_array_equal(left, right[:, ::-1])
    assert left.sum() == n_q * max(0, n_k - padded)


def test_padding_as_long_as_the_text_leaves_no_key_at_all() -> None:
    assert not build_mask([MASKS["padding_right"].spec(padded=5)], 3, 5).any()
