"""What holds for every registered mask, with every parameter of its range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import scaled_dot_product_attention
from attnviz.masks import build_mask
from attnviz.registries import MASKS
from tests.strategies import lengths, seeds, specs


@pytest.mark.parametrize("name", MASKS.names())
@given(data=st.data(), n_q=lengths, n_k=lengths)
def test_a_mask_is_a_boolean_array_of_queries_by_keys(name: str, data: st.DataObject, n_q: int, n_k: int) -> None:
    spec = data.draw(specs(MASKS[name]))
    q, k = np.arange(n_q)[:, None], np.arange(n_k)[None, :]

    allowed = MASKS[name].function(q, k, **dict(spec.params))

    assert (allowed.dtype, allowed.shape) == (np.bool_, (n_q, n_k))
    np.testing.assert_array_equal(build_mask([spec], n_q, n_k), allowed)
    np.testing.assert_array_equal(q[:, 0], np.arange(n_q), err_msg="the index grids are left as they were")


@pytest.mark.parametrize("name", MASKS.names())
@given(data=st.data(), n_q=lengths, n_k=lengths, seed=seeds)
def test_weights_under_a_mask_sum_to_1_or_0_and_are_exactly_0_where_it_forbids(
    name: str, data: st.DataObject, n_q: int, n_k: int, seed: int
) -> None:
    mask = build_mask([data.draw(specs(MASKS[name]))], n_q, n_k)
    rng = np.random.default_rng(seed)
    query, key = (rng.normal(0, 3, (2, n, 4)).astype(np.float32) for n in (n_q, n_k))

    attention = scaled_dot_product_attention(query, key, key, mask=mask)

    sums = np.broadcast_to(mask.any(axis=1).astype(float), (2, n_q))
    np.testing.assert_allclose(attention.weights.sum(axis=-1), sums, atol=1e-6)
    assert not attention.weights[:, ~mask].any()
    assert not attention.context[:, ~mask.any(axis=1)].any()
    assert all(np.isfinite(array).all() for array in attention)
