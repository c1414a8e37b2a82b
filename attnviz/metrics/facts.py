"""What measures may know of a whole layer besides the rows that they get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.rows import Facts, Rows
from attnviz.core.text import Numbered
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.baseline import uniform_weights
from attnviz.registry import Spec
from attnviz.shapes import Tokens

READ_SINKS = ("sink_mass",)
READ_OUTPUT = ("output_share",)
SinkKeys = Int[np.ndarray, " head"]
OutputProducts = Float[np.ndarray, "head d_value d_value"]


def facts_of(trace: AttentionTrace, specs: Sequence[Spec], sink_keys: SinkKeys | None = None) -> Facts:
    """What these measures read of a layer.

    Parameters
    ----------
    trace
        A layer.
    specs
        The measures that are to be computed.
    sink_keys
        The sink of each head, where it is known already; otherwise it costs a pass of its own.
    """
    names = {spec.name for spec in specs}
    if sink_keys is None and names.intersection(READ_SINKS):
        sink_keys = sinks_of(trace)
    known = Facts(
        *word_numbers(trace.query_tokens, trace.key_tokens), sink_keys=sink_keys, grid_width=trace.origin.grid_width
    )
    if not names.intersection(READ_OUTPUT):
        return known
    value = np.where(np.isfinite(trace.value), trace.value, trace.value.dtype.type(0))
    return replace(known, value=value, output_products=output_products(trace))


def word_numbers(
    query_tokens: Tokens, key_tokens: Tokens
) -> tuple[Int[np.ndarray, " all_q"], Int[np.ndarray, " all_k"]]:
    """A number for each query's and each key's word, upper and lower case alike.

    >>> word_numbers(("The", "cat"), ("the", "the", "hat"))
    (array([2, 0]), array([2, 2, 1]))
    """
    if isinstance(query_tokens, Numbered) and query_tokens is key_tokens:
        return np.arange(len(query_tokens)), np.arange(len(key_tokens))
    folded = [token.casefold() for token in (*query_tokens, *key_tokens)]
    _, numbers = np.unique(folded, return_inverse=True)
    return numbers[: len(query_tokens)], numbers[len(query_tokens) :]


def sinks_of(trace: AttentionTrace) -> SinkKeys:
    """For each head the key that gets most beyond what the uniform head gives it."""
    beyond = np.zeros((trace.n_heads, trace.n_k))

    def work(rows: Rows, which: range) -> tuple[slice, Float[np.ndarray, "head k"]]:
        del which
        columns = slice(int(rows.keys[0]), int(rows.keys[-1]) + 1)
        return columns, rows.weights.sum(axis=1, dtype=np.float64) - uniform_weights(rows.mask).sum(axis=1)

    for columns, part in trace.each_block(work):
        beyond[:, columns] += part
    return beyond.argmax(axis=1)


def output_products(trace: AttentionTrace) -> OutputProducts:
    """For each head its rows of W_O times themselves; 0 for one that is switched off.

    Notes
    -----
    With P = W_O W_O^T the norm of c W_O is the root of c P c^T.
    """
    W_O = trace.origin.to_output.W.astype(np.float64)
    by_head = W_O.reshape(trace.n_heads, -1, W_O.shape[1])
    products = np.matmul(by_head, by_head.transpose(0, 2, 1))
    products[list(trace.removed)] = 0
    return products
