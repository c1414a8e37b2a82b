"""How much each head of a trained model matters: every head removed alone, and the rest of the model run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from attnviz.core import AttentionTrace, merge_heads, split_heads
from attnviz.core.attention import whole
from attnviz.core.gating import check_stand_in, gates_without
from attnviz.core.pairs import pairs_of
from attnviz.core.tiles import N_THREADS, scorer
from attnviz.models.encoder import EncoderLayer, Network, after_attention
from attnviz.shapes import Embedded, HeadMask

ROWS_TOGETHER = 512
PerLayer = Float[np.ndarray, "layer head"]
Embedding = Float[np.ndarray, " d_model"]


@dataclass(frozen=True, eq=False)
class Importance:
    """What changes at the end of the model with each head removed alone.

    Attributes
    ----------
    embedding
        1 - cosine between the embedding of the text with and without the head: 0 for no change, 1 for a right angle.
    hidden
        Length of the change of all last hidden vectors over their length.
    """

    embedding: PerLayer
    hidden: PerLayer


def text_embedding(last_hidden: Embedded) -> Embedding:
    """The vector of a text: the mean of the vectors that leave the last layer, brought to length 1; in float64.

    References
    ----------
    Reimers & Gurevych 2019, section 3 (mean pooling).

    Examples
    --------
    >>> text_embedding(np.array([[3.0, 4.0], [3.0, 4.0]]))
    array([0.6, 0.8])
    """
    mean = last_hidden.mean(axis=0, dtype=np.float64)
    return mean / np.linalg.norm(mean)


def embedding_change(before: Embedded, after: Embedded) -> float:
    """1 - cosine between the embeddings of two sets of last hidden vectors.

    Notes
    -----
    As half of the squared distance of the two unit vectors, which loses no digits where they are nearly the same.
    """
    return float(np.square(text_embedding(before) - text_embedding(after)).sum() / 2)


def hidden_change(before: Embedded, after: Embedded) -> float:
    """Length of the difference of two sets of last hidden vectors over the length of the first."""
    wide = before.astype(np.float64)
    return float(np.linalg.norm(after - wide) / np.linalg.norm(wide))


def last_hidden(network: Network, traces: Sequence[AttentionTrace]) -> Embedded:
    """The vectors that leave the last layer, from its attention."""
    return after_attention(network.layers[-1], traces[-1].x, traces[-1].output)


def importance(
    network: Network,
    traces: Sequence[AttentionTrace],
    *,
    stand_in: str = "zero",
    on_progress: Callable[[float], None] | None = None,
) -> Importance:
    """Each head removed alone, and everything after its layer computed again; the layers before it stay as they are.

    Parameters
    ----------
    network
        The model that the traces are of.
    traces
        Its layers on one text, all heads on.
    stand_in
        What takes the removed head's place: `zero`, or its `mean` over the queries.
    on_progress
        Told the share of the work that is done, from 0 to 1.

    Raises
    ------
    SettingError
        If there is no such stand-in.

    Notes
    -----
    The heads of a layer are removed side by side: their variants go through the later layers as one long batch, of
    about 512 rows, in as many threads as there are processors.

    References
    ----------
    Michel et al. 2019, section 3.2 (one head removed at a time); Voita et al. 2019, section 5.
    """
    layers, n_heads = network.layers, traces[0].n_heads
    check_stand_in(stand_in)
    last = last_hidden(network, traces)
    embedding, hidden = np.zeros((2, len(layers), n_heads))
    step = max(1, ROWS_TOGETHER // traces[0].n_q)
    parts = [
        (index, range(start, min(start + step, n_heads)))
        for index in range(len(layers))
        for start in range(0, n_heads, step)
    ]

    def without(part: tuple[int, range]) -> list[tuple[float, float]]:
        index, heads = part
        outputs = np.stack([_output_without(traces[index], head, stand_in) for head in heads])
        found = _rest(network, traces, index, outputs)
        return [(embedding_change(last, after), hidden_change(last, after)) for after in found]

    n_done, n_all = 0, n_heads * len(layers) * (len(layers) + 1) // 2
    with ThreadPoolExecutor(N_THREADS, thread_name_prefix="importance") as pool:
        for (index, heads), found in zip(parts, pool.map(without, parts), strict=True):
            for head, changes in zip(heads, found, strict=True):
                embedding[index, head], hidden[index, head] = changes
            n_done += len(heads) * (len(layers) - index)
            if on_progress is not None:
                on_progress(n_done / n_all)
    return Importance(embedding, hidden)


def _output_without(trace: AttentionTrace, head: int, stand_in: str) -> Embedded:
    gates = gates_without([head], trace.n_heads, stand_in)
    assert gates is not None
    return trace.origin.to_output(merge_heads(gates.of(trace.context)))


def _rest(
    network: Network, traces: Sequence[AttentionTrace], index: int, outputs: Float[np.ndarray, "variant q d_model"]
) -> Float[np.ndarray, "variant q d_model"]:
    """What leaves the last layer where the attention of one has these outputs, for each of them."""
    n_variants, n, _ = outputs.shape
    x = np.broadcast_to(traces[index].x, outputs.shape)
    hidden = after_attention(network.layers[index], _flat(x), _flat(outputs))
    for layer, trace in zip(network.layers[index + 1 :], traces[index + 1 :], strict=True):
        hidden = after_attention(layer, hidden, _attended(layer, trace, hidden, n_variants))
    return hidden.reshape(n_variants, n, -1)


def _attended(layer: EncoderLayer, trace: AttentionTrace, hidden: Embedded, n_variants: int) -> Embedded:
    """The output of a layer's attention for several texts of the same length, one after the other."""
    n_heads, n = trace.n_heads, trace.n_q

    def of_variants(flat: Embedded) -> Float[np.ndarray, "head q d_head"]:
        return split_heads(flat, n_heads).reshape(n_heads * n_variants, n, -1)

    query, key, value = (of_variants(to(hidden)) for to in (layer.query, layer.key, layer.value))
    pairs = pairs_of(n, n, _mask_of(trace, n_variants), None)
    context = whole(scorer(query, key, scale=trace.scale, pairs=pairs, softcap=None, sinks=None), value).context
    return layer.output(merge_heads(context.reshape(n_heads, n_variants * n, -1)))


def _mask_of(trace: AttentionTrace, n_variants: int) -> HeadMask | None:
    """The mask of each head for each variant; None where every pair may attend."""
    mask = trace.mask
    if mask.all():
        return None
    return mask if len(mask) == 1 else np.repeat(mask, n_variants, axis=0)


def _flat(rows: Float[np.ndarray, "variant q d_model"]) -> Embedded:
    return rows.reshape(-1, rows.shape[2])
