"""The cases of the `onnx` package, and its two attention operators as calls of our functions.

The operators have a batch axis, a cache, float masks and several outputs; our functions have none of these. Here the
one is turned into the other, and nothing is computed that our functions compute.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from onnx.backend.test.case import node as node_cases
from onnx.helper import get_attribute_value, tensor_dtype_to_np_dtype

from attnviz import build_mask, merge_heads, scaled_dot_product_attention, split_heads
from attnviz.core.attention import Attention
from attnviz.positions import turn_pairs
from attnviz.positions.layouts import HALF_SPLIT, INTERLEAVED
from attnviz.registries import MASKS

BFLOAT16 = "bfloat16"
Arrays = dict[str, np.ndarray]


class Case(NamedTuple):
    """One node with its inputs, and the outputs that it must give."""

    name: str
    attributes: dict[str, Any]
    inputs: Arrays
    outputs: Arrays
    rtol: float
    atol: float

    @property
    def is_bfloat16(self) -> bool:
        return any(array.dtype.name == BFLOAT16 for array in self.outputs.values())


def cases(operator: str) -> list[Case]:
    """Every case of an operator, without those that write it out in simpler operators."""
    import_module(f"onnx.backend.test.case.node.{operator.lower()}")
    return [
        _case(test)
        for test in node_cases._NodeTestCases
        if [each.op_type for each in test.model.graph.node] == [operator]
    ]


def _case(test: Any) -> Case:
    node = test.model.graph.node[0]
    ((inputs, outputs),) = test.data_sets
    return Case(
        test.name,
        {attribute.name: get_attribute_value(attribute) for attribute in node.attribute},
        dict(zip(filter(None, node.input), inputs, strict=True)),
        dict(zip(filter(None, node.output), outputs, strict=True)),
        test.rtol,
        test.atol,
    )


def widened(array: np.ndarray) -> np.ndarray:
    """The same numbers in float32 where their type has 16 bits: the core computes in float32 and float64."""
    return array.astype(np.float32) if array.dtype.name in (BFLOAT16, "float16") else array


def attention(given: Arrays, attributes: dict[str, Any]) -> Arrays:
    """Outputs of the operator Attention, by name."""
    inputs = {name: widened(array) for name, array in given.items()}
    runs = [_attention_of_one(inputs, attributes, row) for row in range(len(inputs["Q"]))]
    return {name: np.stack([run[name] for run in runs]).astype(given["Q"].dtype) for name in runs[0]}


def _attention_of_one(inputs: Arrays, attributes: dict[str, Any], row: int) -> Arrays:
    query = _heads(inputs["Q"][row], attributes.get("q_num_heads"))
    key, value = (_heads(inputs[name][row], attributes.get("kv_num_heads")) for name in ("K", "V"))
    if "past_key" in inputs:
        key = np.concatenate([inputs["past_key"][row], key], axis=1)
        value = np.concatenate([inputs["past_value"][row], value], axis=1)
    bias, mask = _bias_and_mask(inputs, attributes, row, (len(query), query.shape[1], key.shape[1]))
    softcap = attributes.get("softcap") or None
    precision = _softmax_precision(attributes, query.dtype)
    ours = scaled_dot_product_attention(
        query.astype(precision),
        key.astype(precision),
        value.astype(precision),
        mask=mask,
        bias=None if bias is None else bias.astype(precision),
        scale=attributes.get("scale"),
        softcap=softcap,
    )
    is_flat = inputs["Q"].ndim == 3
    return {
        "Y": merge_heads(ours.context) if is_flat else ours.context,
        "present_key": key,
        "present_value": value,
        "qk_matmul_output": _exposed(attributes.get("qk_matmul_output_mode", 0), ours, softcap, bias, mask),
    }


def _heads(x: np.ndarray, n_heads: int | None) -> np.ndarray:
    return x if n_heads is None else split_heads(x, n_heads)


def _softmax_precision(attributes: dict[str, Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    wanted = attributes.get("softmax_precision")
    return dtype if wanted is None else np.promote_types(dtype, tensor_dtype_to_np_dtype(wanted))


def _bias_and_mask(
    inputs: Arrays, attributes: dict[str, Any], row: int, shape: tuple[int, int, int]
) -> tuple[np.ndarray | None, np.ndarray]:
    """What is added to the scores of this row of the batch, and which keys are allowed, `(head, q, k)`."""
    _, n_q, n_k = shape
    n_valid = int(inputs["nonpad_kv_seqlen"][row]) if "nonpad_kv_seqlen" in inputs else None
    n_past = inputs["past_key"].shape[2] if "past_key" in inputs else 0
    mask = np.broadcast_to(_structure(attributes, n_q, n_k, n_past + n_q if n_valid is None else n_valid), shape)
    if n_valid is not None and n_valid < n_k:
        mask = mask & build_mask([MASKS["padding_right"].spec(padded=n_k - n_valid)], n_q, n_k)
    if "attn_mask" not in inputs:
        return None, mask
    is_bool = inputs["attn_mask"].dtype == np.bool_
    given = _row_of_mask(inputs["attn_mask"], row, len(inputs["Q"]), shape, False if is_bool else -np.inf)
    return (None, mask & given) if is_bool else (given, mask)


def _row_of_mask(given: np.ndarray, row: int, n_batch: int, shape: tuple[int, int, int], beyond: float) -> np.ndarray:
    """Axes that are missing are taken from the right; keys past its end are forbidden."""
    n_heads, n_q, n_k = shape
    missing = [(0, 0)] * (given.ndim - 1) + [(0, n_k - given.shape[-1])]
    whole = np.pad(given, missing, constant_values=beyond)
    return np.broadcast_to(whole, (n_batch, n_heads, n_q, n_k))[row]


def _structure(attributes: dict[str, Any], n_q: int, n_k: int, n_seen: int) -> np.ndarray:
    """Causal mask and window, where the last query stands at the last of the first `n_seen` keys."""
    more = max(n_k - n_seen, 0)

    def built(*names: tuple[str, dict[str, Any]]) -> np.ndarray:
        specs = [MASKS[name].spec(**params) for name, params in names]
        return build_mask(specs, n_q + more, n_seen + more)[:n_q, :n_k]

    def side(reach: int) -> np.ndarray:
        return built() if reach < 0 else built(("sliding_window", {"window": reach + 1}))

    behind = built(("causal", {}))
    allowed = behind & side(attributes.get("left_window_size", -1))
    if attributes.get("is_causal", 0):
        return allowed
    return allowed | (~behind & side(attributes.get("right_window_size", -1)))


def _exposed(
    mode: int, ours: Attention, softcap: float | None, bias: np.ndarray | None, mask: np.ndarray
) -> np.ndarray:
    """The stage that `qk_matmul_output_mode` names: 0 scores, 1 capped, 2 with bias and mask, 3 weights."""
    if mode == 3:
        return ours.weights
    capped = ours.scores if softcap is None or mode == 0 else softcap * np.tanh(ours.scores / softcap)
    if mode < 2:
        return capped
    return np.where(mask, capped if bias is None else capped + bias, -np.inf)


def rotary_embedding(inputs: Arrays, attributes: dict[str, Any]) -> Arrays:
    """Output of the operator RotaryEmbedding; sines and cosines are given, one row a position or one a token."""
    cos, sin = inputs["cos_cache"], inputs["sin_cache"]
    if "position_ids" in inputs:
        cos, sin = cos[inputs["position_ids"]], sin[inputs["position_ids"]]
    n_heads = attributes.get("num_heads")
    layout = INTERLEAVED if attributes.get("interleaved", 0) else HALF_SPLIT
    turned = [
        turn_pairs(_heads(x, n_heads), cos[row], sin[row], layout=layout) for row, x in enumerate(inputs["input"])
    ]
    return {"output": np.stack(turned if n_heads is None else [merge_heads(x) for x in turned])}
