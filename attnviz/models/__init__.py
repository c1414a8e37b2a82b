"""Trained models, run in NumPy through the same attention core: one `AttentionTrace` a layer."""

from __future__ import annotations

from attnviz.models.description import MINILM, TrainedModel
from attnviz.models.encoder import EncoderConfig, EncoderRun, Network, read_config, read_network, run_network
from attnviz.models.minilm import Encoder, encode, heads_off, load_minilm, run_encoder, tokenize, word_size

__all__ = [
    "MINILM",
    "Encoder",
    "EncoderConfig",
    "EncoderRun",
    "Network",
    "TrainedModel",
    "encode",
    "heads_off",
    "load_minilm",
    "read_config",
    "read_network",
    "run_encoder",
    "run_network",
    "tokenize",
    "word_size",
]
