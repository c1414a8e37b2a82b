"""What holds for every registered mask, with every parameter of its range."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import scaled_dot_product_attention
from attnviz.masks import build_mask
from attnviz.registries import MASKS
from attnviz.registry import Spec
from tests.strategies import lengths, seeds, specs

every_mask = pytest.mark.parametrize("name", MASKS.names())
head_counts = st.integers(1, 4)


def called(spec: Spec, n_q: int, n_k: int, n_heads: int) -> np.ndarray:
    """The registered function's own answer, always with an axis for the heads."""
    indices = [np.arange(n_k - n_q, n_k)[:, None], np.arange(n_k)[None, :], np.arange(n_heads)[:, None, None]]
    kept = [index.copy() for index in indices]
    function = MASKS[spec.name].function
    more: dict[str, object] = {"h": indices[2], "n_q": n_q}
    asked = [more[name] for name in inspect.signature(function).parameters if name in more]
    allowed = function(*indices[:2], *asked, **dict(spec.params))
    for index, before in zip(indices, kept, strict=True):
        np.testing.assert_array_equal(index, before, err_msg="the index grids are left as they were")
    assert allowed.ndim == (3 if any(one is indices[2] for one in asked) else 2)
    return allowed.reshape(-1, *allowed.shape[-2:])


@every_mask
@given(data=st.data(), n_q=lengths, n_k=lengths, n_heads=head_counts)
def test_some_rows_of_a_mask_are_those_of_the_whole(
    name: str, data: st.DataObject, n_q: int, n_k: int, n_heads: int
) -> None:
    spec = data.draw(specs(MASKS[name]))
    start = data.draw(st.integers(0, n_q - 1))
    rows = slice(start, data.draw(st.integers(start + 1, n_q)))

    part = build_mask([spec], n_q, n_k, n_heads=n_heads, rows=rows)

    np.testing.assert_array_equal(part, build_mask([spec], n_q, n_k, n_heads=n_heads)[:, rows])


@every_mask
@given(data=st.data(), n_q=lengths, n_k=lengths, n_heads=head_counts)
def test_a_mask_is_a_boolean_array_of_queries_by_keys_the_same_every_time(
    name: str, data: st.DataObject, n_q: int, n_k: int, n_heads: int
) -> None:
    spec = data.draw(specs(MASKS[name]))

    allowed = called(spec, n_q, n_k, n_heads)

    assert allowed.dtype == np.bool_
    assert allowed.shape in ((1, n_q, n_k), (n_heads, n_q, n_k))
    np.testing.assert_array_equal(called(spec, n_q, n_k, n_heads), allowed)
    np.testing.assert_array_equal(build_mask([spec], n_q, n_k, n_heads=n_heads), allowed)
    np.testing.assert_array_equal(build_mask([spec], n_q, n_k), allowed[0])


@every_mask
@given(data=st.data(), n_q=lengths, n_k=lengths, few=head_counts, more=head_counts)
def test_what_a_head_may_see_does_not_depend_on_how_many_heads_there_are(
    name: str, data: st.DataObject, n_q: int, n_k: int, few: int, more: int
) -> None:
    spec = data.draw(specs(MASKS[name]))
    small, large = (build_mask([spec], n_q, n_k, n_heads=n) for n in (few, few + more))

    np.testing.assert_array_equal(small, large[: len(small)])


@every_mask
@given(data=st.data(), n_q=lengths, n_k=lengths, seed=seeds)
def test_weights_under_a_mask_sum_to_1_or_0_and_are_exactly_0_where_it_forbids(
    name: str, data: st.DataObject, n_q: int, n_k: int, seed: int
) -> None:
    mask = build_mask([data.draw(specs(MASKS[name]))], n_q, n_k, n_heads=2)
    rng = np.random.default_rng(seed)
    query, key = (rng.normal(0, 3, (2, n, 4)).astype(np.float32) for n in (n_q, n_k))

    attention = scaled_dot_product_attention(query, key, key, mask=mask)

    allowed = np.broadcast_to(mask, (2, n_q, n_k))
    np.testing.assert_allclose(attention.weights.sum(axis=-1), allowed.any(axis=-1).astype(float), atol=1e-6)
    assert not attention.weights[~allowed].any()
    assert not attention.context[~allowed.any(axis=-1)].any()
    assert all(np.isfinite(array).all() for array in attention)


@every_mask
@given(data=st.data(), n_q=lengths, n_k=lengths)
def test_fewer_queries_than_keys_are_the_last_rows_of_as_many_queries(
    name: str, data: st.DataObject, n_q: int, n_k: int
) -> None:
    spec = data.draw(specs(MASKS[name]))
    if n_q > n_k or spec == MASKS["causal"].spec(align="top-left"):
        return

    last = build_mask([spec], n_q, n_k, n_heads=2)

    np.testing.assert_array_equal(last, build_mask([spec], n_k, n_k, n_heads=2)[:, n_k - n_q :])


@every_mask
def test_a_mask_with_its_usual_parameters_is_to_be_seen_on_a_short_sentence(name: str) -> None:
    share = build_mask([MASKS[name].spec()], 11, 11).mean()

    assert (share == 1) == (name in ("full", "dense", "no_padding"))
    assert (share == 0) == (name == "nothing")


@every_mask
def test_a_mask_is_made_for_a_text_of_2048_tokens(name: str) -> None:
    mask = build_mask([MASKS[name].spec()], 2048, 2048)

    assert mask.shape == (2048, 2048)
    corner = build_mask([MASKS[name].spec()], 11, 11)
    if name in ("full", "causal", "prefix_lm", "rule", "drawn", "sliding_window", "strided", "fixed", "streaming"):
        np.testing.assert_array_equal(mask[:11, :11], corner)
