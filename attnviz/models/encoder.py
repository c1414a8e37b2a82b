"""A BERT encoder run through the attention core: token ids in, one trace a layer out.

h = LayerNorm(word + position + segment), then in every layer h = LayerNorm(h + attention(h)) and
h = LayerNorm(h + gelu(h W_in + b_in) W_out + b_out).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from safetensors.numpy import load_file
from scipy.special import erf

from attnviz.core import AttentionTrace, split_heads
from attnviz.core.affine import Affine, LayerNorm
from attnviz.core.attention import whole
from attnviz.core.gating import Gates
from attnviz.core.origin import Origin, Part
from attnviz.core.pairs import pairs_of
from attnviz.core.tiles import scorer
from attnviz.errors import ModelUnavailableError, broken_rule
from attnviz.shapes import Embedded, HeadMask, Mask, PositionIds, Tokens

TokenIds = Int[np.ndarray, " token"]
Gater = Callable[[int, AttentionTrace], Gates | None]
PUBLISHED_TOGETHER = "Take the one that was published with the weights."


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of an encoder, as its `config.json` gives them.

    Attributes
    ----------
    n_layers, n_heads, d_model, max_tokens
        `num_hidden_layers`, `num_attention_heads`, `hidden_size` and `max_position_embeddings` there.
    norm_epsilon
        Added to the variance in a LayerNorm.
    """

    n_layers: int
    n_heads: int
    d_model: int
    max_tokens: int
    norm_epsilon: float


@dataclass(frozen=True, eq=False)
class EncoderLayer:
    """Weights of one layer: W_Q, W_K, W_V, W_O with their biases, and the two maps after them."""

    query: Affine
    key: Affine
    value: Affine
    output: Affine
    attention_norm: LayerNorm
    widen: Affine
    narrow: Affine
    layer_norm: LayerNorm


@dataclass(frozen=True, eq=False)
class Network:
    """A trained encoder: its sizes and its weights, read-only and in the precision of their file."""

    config: EncoderConfig
    words: Float[np.ndarray, "word d_model"]
    positions: Float[np.ndarray, "position d_model"]
    segments: Float[np.ndarray, "segment d_model"]
    norm: LayerNorm
    layers: tuple[EncoderLayer, ...]


class EncoderRun(NamedTuple):
    """One trace a layer, and the vectors `(token, d_model)` that leave the last one."""

    traces: tuple[AttentionTrace, ...]
    last_hidden: Embedded


def read_config(path: Path) -> EncoderConfig:
    """Sizes of an encoder from its `config.json`.

    Raises
    ------
    ModelUnavailableError
        If the file is not the configuration of a BERT encoder with the exact gelu.
    """
    try:
        values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        config = EncoderConfig(
            n_layers=int(values["num_hidden_layers"]),
            n_heads=int(values["num_attention_heads"]),
            d_model=int(values["hidden_size"]),
            max_tokens=int(values["max_position_embeddings"]),
            norm_epsilon=float(values["layer_norm_eps"]),
        )
        kind = (values["model_type"], values["hidden_act"], values.get("position_embedding_type", "absolute"))
    except (ValueError, KeyError, TypeError) as problem:
        found = f"{type(problem).__name__} ({problem})"
        raise ModelUnavailableError(
            broken_rule(path.name, "must describe a BERT encoder", found, PUBLISHED_TOGETHER)
        ) from problem
    if kind != ("bert", "gelu", "absolute"):
        raise ModelUnavailableError(
            broken_rule(
                path.name,
                "must describe a BERT encoder with gelu and absolute positions",
                ", ".join(map(str, kind)),
                PUBLISHED_TOGETHER,
            )
        )
    return config


def read_network(weights: Path, config: EncoderConfig) -> Network:
    """The weights of an encoder from its `.safetensors` file, under the names that Hugging Face gives them."""
    tensors = load_file(weights)
    for tensor in tensors.values():
        tensor.flags.writeable = False

    def affine(name: str) -> Affine:
        return Affine(tensors[f"{name}.weight"].T, tensors[f"{name}.bias"])

    def norm(name: str) -> LayerNorm:
        return LayerNorm(tensors[f"{name}.weight"], tensors[f"{name}.bias"], config.norm_epsilon)

    def layer(name: str) -> EncoderLayer:
        return EncoderLayer(
            query=affine(f"{name}.attention.self.query"),
            key=affine(f"{name}.attention.self.key"),
            value=affine(f"{name}.attention.self.value"),
            output=affine(f"{name}.attention.output.dense"),
            attention_norm=norm(f"{name}.attention.output.LayerNorm"),
            widen=affine(f"{name}.intermediate.dense"),
            narrow=affine(f"{name}.output.dense"),
            layer_norm=norm(f"{name}.output.LayerNorm"),
        )

    return Network(
        config,
        words=tensors["embeddings.word_embeddings.weight"],
        positions=tensors["embeddings.position_embeddings.weight"],
        segments=tensors["embeddings.token_type_embeddings.weight"],
        norm=norm("embeddings.LayerNorm"),
        layers=tuple(layer(f"encoder.layer.{i}") for i in range(config.n_layers)),
    )


def run_network(
    network: Network,
    ids: TokenIds,
    tokens: Tokens,
    mask: Mask | HeadMask,
    *,
    segments: TokenIds | None = None,
    positions: PositionIds | None = None,
    sharpness: float = 1.0,
    gates: Gater | None = None,
) -> EncoderRun:
    """Run every layer and keep every intermediate array of its attention.

    Parameters
    ----------
    network
        A trained encoder.
    ids, tokens
        Rows of its word table, and what to call them; at most `max_tokens`.
    mask
        True = may attend, the same in every layer; `(q, k)` or `(head, q, k)`.
    segments
        Which of the sentences each token belongs to; all in the first where it is left out.
    positions
        Rows of its position table; 0, 1, 2... where they are left out.
    sharpness
        Multiplies the scores; 1 is the trained model, 0 makes every row uniform.
    gates
        From the number of a layer and its attention to the heads that are kept there; every layer after it gets what
        these leave. All are kept where it is left out.

    Notes
    -----
    Positions count from 0 whatever the mask, as BERT was trained; so padding belongs on the right.

    References
    ----------
    Devlin et al. 2019, section 3; the layer: Vaswani et al. 2017, section 3.1.
    """
    belongs = np.zeros_like(ids) if segments is None else segments
    places = np.arange(len(ids)) if positions is None else positions
    parts = (
        Part("word", network.words[ids]),
        Part("position", network.positions[places]),
        Part("segment", network.segments[belongs]),
    )
    hidden = network.norm(parts[0].rows + parts[1].rows + parts[2].rows)
    traces: list[AttentionTrace] = []
    allowed = mask if mask.ndim == 3 else mask[None]
    for index, layer in enumerate(network.layers):
        origin = Origin(
            query_parts=parts,
            key_parts=parts,
            norm=None if index else network.norm,
            q_positions=places,
            k_positions=places,
            to_query=layer.query,
            to_key=layer.key,
            to_value=layer.value,
            to_output=layer.output,
        )
        trace = _attend(origin, hidden, tokens, allowed, n_heads=network.config.n_heads, sharpness=sharpness)
        if gates is not None:
            trace = replace(trace, gates=gates(index, trace))
        hidden = after_attention(layer, hidden, trace.output)
        parts = (Part(f"output of layer {index}", hidden),)
        traces.append(trace)
    hidden.flags.writeable = False
    return EncoderRun(tuple(traces), hidden)


def after_attention(layer: EncoderLayer, hidden: Embedded, output: Embedded) -> Embedded:
    """What a layer makes of what came in and of the output of its attention."""
    attended = layer.attention_norm(hidden + output)
    return layer.layer_norm(attended + layer.narrow(gelu(layer.widen(attended))))


def _attend(
    origin: Origin, x: Embedded, tokens: Tokens, mask: HeadMask, *, n_heads: int, sharpness: float
) -> AttentionTrace:
    query, key, value = (split_heads(to(x), n_heads) for to in (origin.to_query, origin.to_key, origin.to_value))
    pairs = pairs_of(len(x), len(x), mask, None)
    made = scorer(query, key, scale=sharpness / float(np.sqrt(query.shape[2])), pairs=pairs, softcap=None, sinks=None)
    return AttentionTrace(
        query_tokens=tokens,
        key_tokens=tokens,
        x=x,
        key_x=x,
        query=query,
        key=key,
        value=value,
        scorer=made,
        origin=origin,
        kept=whole(made, value),
    )


def gelu(x: Float[np.ndarray, "token wide"]) -> Float[np.ndarray, "token wide"]:
    """Each number times the chance that a standard normal one lies below it.

    Notes
    -----
    x (1 + erf(x / sqrt 2)) / 2, the exact form; the tanh form differs by up to 5e-4.

    References
    ----------
    Hendrycks & Gimpel 2016, section 2.

    Examples
    --------
    >>> gelu(np.array([[-1.0, 0, 1]])).round(4)
    array([[-0.1587,  0.    ,  0.8413]])
    """
    return x * (0.5 * (1 + erf(x * x.dtype.type(np.sqrt(0.5)))))
