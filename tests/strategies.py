"""Generated cases: any registry entry with parameters from its ranges, any attention setting."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from attnviz import masked_softmax, registries
from attnviz.core import AttentionConfig, rows
from attnviz.core.config import CONTENTS, PROJECTIONS, divisors
from attnviz.core.gating import STAND_INS
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Choice, Entry, Param, Range, Registry, Spec, Text

REGISTRIES: dict[str, Registry[..., Any]] = {
    registry.kind: registry for registry in vars(registries).values() if isinstance(registry, Registry)
}


@contextmanager
def in_small_blocks(cells: int, least_rows: int = 1) -> Generator[None]:
    """Rows come in blocks of about so many weights, so that a small map needs several, as a long one does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "USUAL_CELLS", cells)
        patch.setattr(rows, "MOST_CELLS", 4 * cells)
        patch.setattr(rows, "LEAST_ROWS", least_rows)
        yield


def masked(
    seed: int, shape: tuple[int, int, int], share: float, *, per_head: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Peaked weights in float64 and a mask, each head's own or common, that allows this share of the pairs."""
    rng = np.random.default_rng(seed)
    mask = rng.random((shape[0] if per_head else 1, *shape[1:])) < share
    return masked_softmax(rng.normal(0, 3, shape), mask), mask


lengths = st.integers(1, 70)
seeds = st.integers(0, 2**32 - 1)
words = st.text(st.characters(blacklist_categories=["Z", "Cc"]), min_size=1, max_size=8)


def values(param: Param) -> st.SearchStrategy[Any]:
    """Values that a parameter allows, its limits among them."""
    if isinstance(param.domain, Choice):
        return st.sampled_from(param.domain.options)
    if isinstance(param.domain, Range):
        low, high = param.domain.low, param.domain.high
        limits = st.sampled_from([param.kind(low), param.kind(high)])
        if param.kind is int:
            return st.integers(int(low), int(high)) | limits
        return st.floats(low, high, allow_nan=False) | limits
    if isinstance(param.domain, Text):
        return st.sampled_from((str(param.default), *param.domain.examples))
    return st.booleans()


BUCKETS_THAT_FIT = st.integers(1, 1024).flatmap(
    lambda most: st.fixed_dictionaries({"max_distance": st.just(most), "n_buckets": st.integers(1, min(most, 64))})
)
SHARES_OF_WHOLE_PAIRS = st.fixed_dictionaries({"share": st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])})
VALUES_THAT_GO_TOGETHER = {"t5_bias": BUCKETS_THAT_FIT, "rotary_partial": SHARES_OF_WHOLE_PAIRS}


def specs(entry: Entry[..., Any]) -> st.SearchStrategy[Spec]:
    """Choices of one entry with parameters from its ranges; parameters that share a rule are drawn together."""
    chosen = st.fixed_dictionaries({param.name: values(param) for param in entry.params})
    together = VALUES_THAT_GO_TOGETHER.get(entry.name, st.just({}))
    return st.builds(lambda params, fitting: entry.spec(**(params | fitting)), chosen, together)


def mask_specs(*groups: str) -> st.SearchStrategy[tuple[Spec, ...]]:
    """One mask of each group, as a scenario has them; of every group where none is named."""
    kinds = groups or MASKS.groups
    return st.tuples(*(st.sampled_from(MASKS.names(group)).flatmap(lambda name: specs(MASKS[name])) for group in kinds))


@st.composite
def head_shapes(draw: st.DrawFn, position: str = "none", most: int = 48) -> tuple[int, int]:
    """`d_model` and a number of heads that divides it; whole pairs of columns where the position method needs them."""
    if position in POSITIONS.names("Rotary"):
        step = 8 if position == "rotary_partial" else 2
        n_heads = draw(st.integers(1, max(1, min(8, most // step))))
        return n_heads * step * draw(st.integers(1, max(1, most // (step * n_heads)))), n_heads
    d_model = draw(st.integers(1, most))
    return d_model, draw(st.sampled_from(divisors(d_model)))


@st.composite
def configs(draw: st.DrawFn) -> AttentionConfig:
    """Any attention setting that is allowed and quick to run."""
    position = draw(st.sampled_from(POSITIONS.names()))
    d_model, n_heads = draw(head_shapes(position))
    tokens = st.lists(words, min_size=1, max_size=16).map(tuple)
    return AttentionConfig(
        tokens=draw(tokens),
        key_tokens=draw(st.none() | tokens),
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=draw(st.none() | st.sampled_from(divisors(n_heads))),
        d_value=draw(st.none() | st.integers(1, 5)),
        masks=draw(mask_specs()),
        position=draw(specs(POSITIONS[position])),
        content=draw(st.sampled_from(CONTENTS)),
        projections=draw(st.sampled_from(PROJECTIONS)),
        sharpness=draw(st.floats(0, 8)),
        is_scaled=draw(st.booleans()),
        softcap=draw(st.just(0.0) | st.floats(1, 50)),
        sinks=draw(st.booleans()),
        dropout=draw(st.just(0.0) | st.floats(0, 0.9)),
        seed=draw(seeds),
        removed=draw(st.just(()) | st.lists(st.integers(0, n_heads - 1), max_size=4, unique=True).map(tuple)),
        stand_in=draw(st.sampled_from(STAND_INS)),
    )


class Inputs(NamedTuple):
    """Everything that `scaled_dot_product_attention` takes."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    mask: np.ndarray | None
    bias: np.ndarray | None
    scale: float | None

    def but(self, **changed: Any) -> dict[str, Any]:
        """The same as keywords, some of them changed."""
        return self._asdict() | changed


@st.composite
def attention_inputs(draw: st.DrawFn, *, dtype: type = np.float64, most: int = 8) -> Inputs:
    """Queries, keys and values of any shapes, grouped heads, mask and bias of any allowed form, any scale."""
    n_kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    n_heads = n_kv_heads * group
    n_q, n_k, d_head, d_value = (draw(st.integers(1, most)) for _ in range(4))
    rng = np.random.default_rng(draw(seeds))

    mask = bias = None
    mask_heads = draw(st.sampled_from([None, 0, 1, n_heads]))
    if mask_heads is not None:
        shape = (n_q, n_k) if mask_heads == 0 else (mask_heads, n_q, n_k)
        mask = rng.random(shape) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    bias_shape = draw(st.sampled_from([None, (1, 1, 1), (n_heads, 1, n_k), (1, n_q, n_k), (n_heads, n_q, n_k)]))
    if bias_shape is not None:
        bias = rng.normal(0, 2, bias_shape).astype(dtype)
    return Inputs(
        rng.standard_normal((n_heads, n_q, d_head)).astype(dtype),
        rng.standard_normal((n_kv_heads, n_k, d_head)).astype(dtype),
        rng.standard_normal((n_kv_heads, n_k, d_value)).astype(dtype),
        mask,
        bias,
        draw(st.none() | st.floats(-2, 2)),
    )
