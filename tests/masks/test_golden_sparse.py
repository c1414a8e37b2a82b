"""Sparse masks and the attention under them against stored values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from attnviz import scaled_dot_product_attention
from attnviz.masks import build_mask
from attnviz.masks.chance import window_and_ends
from attnviz.registries import MASKS
from attnviz.registry import Spec
from tests.reference import golden


def chosen(name: str, **params: Any) -> Spec:
    return MASKS[name].spec(**params)


MEANT = {
    "longformer": chosen("global_tokens", window=5, places="0, 9"),
    "dilated": chosen("dilated_window", window=4, dilation=3),
    "strided": chosen("strided", stride=6),
    "streaming_sinks": chosen("streaming", sinks=4, window=5),
}


@pytest.mark.parametrize("name", MEANT)
def test_a_sparse_mask_and_its_weights_and_outputs_equal_the_stored_ones(name: str) -> None:
    stored = golden("block_sparse")
    mask = build_mask([MEANT[name]], 48, 48)

    np.testing.assert_array_equal(mask, stored[f"mask_{name}"])
    assert_attention_equals(mask, name)


@pytest.mark.parametrize("name", MEANT)
def test_new_queries_see_the_last_rows_of_the_stored_mask(name: str) -> None:
    np.testing.assert_array_equal(build_mask([MEANT[name]], 5, 48), golden("block_sparse")[f"mask_{name}"][-5:])


def test_bigbird_with_the_stored_random_blocks_equals_the_stored_mask_weights_and_outputs() -> None:
    stored = golden("block_sparse")
    row, column = np.arange(12)[:, None], np.arange(12)[None, :]
    blocks = window_and_ends(row, column, window=2, ends=1)
    blocks[np.arange(1, 11)[:, None], stored["random_blocks"]] = True
    mask = np.repeat(np.repeat(blocks, 4, axis=0), 4, axis=1)

    np.testing.assert_array_equal(mask, stored["mask_bigbird"])
    assert_attention_equals(mask, "bigbird")


def test_bigbird_leaves_out_no_more_than_the_stored_mask_does_but_for_the_random_blocks() -> None:
    stored = golden("block_sparse")["mask_bigbird"]
    without = build_mask([chosen("bigbird", block=4, window=2, ends=1, random=0)], 48, 48)
    drawn = build_mask([chosen("bigbird", block=4, window=2, ends=1, random=2)], 48, 48)

    assert not (without & ~stored).any()
    np.testing.assert_array_equal(drawn[8:40].sum(axis=1), stored[8:40].sum(axis=1))


def test_window_and_global_tokens_equal_the_dense_definition_of_a_longformer() -> None:
    mask = build_mask([MEANT["longformer"]], 32, 32)

    np.testing.assert_array_equal(mask, golden("longformer")["allowed"])


def assert_attention_equals(mask: np.ndarray, name: str) -> None:
    stored = golden("block_sparse")
    attention = scaled_dot_product_attention(stored["q"][0], stored["k"][0], stored["v"][0], mask=mask)
    np.testing.assert_allclose(attention.weights, stored[f"w_{name}"][0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(attention.context, stored[f"y_{name}"][0], rtol=0, atol=1e-12)
