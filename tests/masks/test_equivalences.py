"""Masks that are the same mask under another name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.masks import build_mask
from attnviz.registries import MASKS
from tests.strategies import lengths

at_least_64 = st.integers(70, 32_768)
CAUSAL = {"name": "causal"}


def mask(n_q: int, n_k: int, name: str, **params: Any) -> np.ndarray:
    return build_mask([MASKS[name].spec(**params)], n_q, n_k, n_heads=3)


def assert_same(left: np.ndarray, right: np.ndarray) -> None:
    np.testing.assert_array_equal(*np.broadcast_arrays(left, right))


@given(n_q=lengths, n_k=lengths, window=st.integers(1, 80))
def test_a_dilation_of_1_is_the_sliding_window(n_q: int, n_k: int, window: int) -> None:
    dilated = mask(n_q, n_k, "dilated_window", window=window, dilation=1)

    assert_same(dilated, mask(n_q, n_k, "sliding_window", window=window))


@given(n_q=lengths, n_k=lengths, long=at_least_64)
def test_a_prefix_of_0_is_causal_and_one_as_long_as_the_text_full(n_q: int, n_k: int, long: int) -> None:
    assert_same(mask(n_q, n_k, "prefix_lm", prefix=0), mask(n_q, n_k, "causal"))
    assert mask(n_q, n_k, "prefix_lm", prefix=long).all()


@given(n=lengths, fewer=lengths, long=at_least_64)
def test_one_document_as_long_as_the_text_is_full_or_causal(n: int, fewer: int, long: int) -> None:
    n_q = min(n, fewer)

    assert mask(n_q, n, "document", lengths=str(long)).all()
    assert_same(mask(n_q, n, "document", lengths=f"{long}, 1", within="causal"), mask(n_q, n, "causal"))


@given(n=lengths, fewer=lengths, size=st.integers(1, 80))
def test_documents_of_one_length_are_local_blocks(n: int, fewer: int, size: int) -> None:
    n_q = min(n, fewer)
    blocks = mask(n_q, n, "block_local", block=size)

    assert_same(mask(n_q, n, "document", lengths=str(size)), blocks)
    together = build_mask([MASKS["causal"].spec(), MASKS["document"].spec(lengths=str(size))], n_q, n)
    assert_same(mask(n_q, n, "document", lengths=f"{size}, {size}", within="causal"), together)


@given(n=lengths, fewer=lengths, long=at_least_64)
def test_a_block_as_long_as_the_text_leaves_out_nothing(n: int, fewer: int, long: int) -> None:
    n_q = min(n, fewer)

    assert mask(n_q, n, "block_local", block=long).all()
    assert mask(n_q, n, "bigbird", block=long, ends=0, window=1, random=0).all()
    assert_same(mask(n_q, n, "fixed", stride=long), mask(n_q, n, "causal"))


@given(n_q=lengths, n_k=lengths, long=at_least_64, sinks=st.integers(0, 80))
def test_streaming_with_a_window_as_long_as_the_text_is_causal(n_q: int, n_k: int, long: int, sinks: int) -> None:
    assert_same(mask(n_q, n_k, "streaming", window=long, sinks=sinks), mask(n_q, n_k, "causal"))
    assert_same(mask(n_q, n_k, "streaming", window=1, sinks=long), mask(n_q, n_k, "causal"))


@given(n_q=lengths, n_k=lengths, window=st.integers(1, 80))
def test_streaming_without_sinks_is_a_causal_window(n_q: int, n_k: int, window: int) -> None:
    both = build_mask([MASKS["causal"].spec(), MASKS["sliding_window"].spec(window=window)], n_q, n_k)

    assert_same(mask(n_q, n_k, "streaming", window=window, sinks=0), both)


@pytest.mark.parametrize("among", ["all keys", "earlier keys"])
@given(n_q=lengths, n_k=lengths, keep=at_least_64, seed=st.integers(0, 999_999))
def test_as_many_random_keys_as_there_are_leave_out_nothing(
    among: str, n_q: int, n_k: int, keep: int, seed: int
) -> None:
    kept = mask(n_q, n_k, "random_keys", keep=keep, among=among, seed=seed)

    assert_same(kept, mask(n_q, n_k, "dense" if among == "all keys" else "causal"))


@given(n_q=lengths, n_k=lengths, stride=st.integers(1, 80))
def test_a_stride_of_1_is_causal_and_the_parts_of_two_heads_are_the_merged_one(n_q: int, n_k: int, stride: int) -> None:
    assert_same(mask(n_q, n_k, "strided", stride=1), mask(n_q, n_k, "causal"))
    for name in ("strided", "fixed"):
        near, far, again = mask(n_q, n_k, name, stride=stride, heads="alternating")
        assert_same(near | far, mask(n_q, n_k, name, stride=stride)[0])
        assert_same(near, again)


@given(n_q=lengths, n_k=lengths, window=st.integers(1, 80))
def test_bigbird_of_single_tokens_without_chance_is_a_window_with_a_global_token_at_each_end(
    n_q: int, n_k: int, window: int
) -> None:
    ends = mask(n_q, n_k, "global_tokens", window=window, places=f"0, {n_k - 1}")

    assert_same(mask(n_q, n_k, "bigbird", block=1, window=window, ends=1, random=0), ends)


@given(n_q=lengths, n_k=lengths, window=st.integers(1, 80))
def test_a_rule_says_the_same_as_the_registered_masks(n_q: int, n_k: int, window: int) -> None:
    rules = {
        "causal": ("k <= q", {}),
        "full": ("True", {}),
        "nothing": ("False", {}),
        "prefix_lm": (f"k <= q or k < {window}", {"prefix": window}),
        "sliding_window": (f"-{window} < q - k < {window}", {"window": window}),
        "block_local": (f"q // {window} == k // {window}", {"block": window}),
        "strided": (
            f"((q - k <= {window}) & (h % 2 == 0) | ((q - k) % {window} == 0) & (h % 2 == 1)) & (k <= q)",
            {"stride": window, "heads": "alternating"},
        ),
    }
    for name, (rule, params) in rules.items():
        assert_same(mask(n_q, n_k, "rule", rule=rule), mask(n_q, n_k, name, **params))
