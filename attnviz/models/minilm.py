"""all-MiniLM-L6-v2, a small sentence encoder that runs here: its tokens, and one trace a layer of a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from tokenizers import Tokenizer

from attnviz.core import AttentionTrace
from attnviz.core.gating import Gates, gates_without
from attnviz.errors import TYPE_A_SENTENCE, ModelUnavailableError, NothingYetError, broken_rule
from attnviz.masks import build_mask
from attnviz.models.description import MINILM, TrainedModel
from attnviz.models.encoder import (
    PUBLISHED_TOGETHER,
    EncoderConfig,
    EncoderRun,
    Gater,
    Network,
    TokenIds,
    read_config,
    read_network,
    run_network,
)
from attnviz.models.files import ModelFiles, check_weights, find_files
from attnviz.picks import HeadAt
from attnviz.registry import Spec
from attnviz.shapes import Tokens

_loading = Lock()


@dataclass(frozen=True, eq=False)
class Encoder:
    """A trained encoder ready to run: what it is, its weights, and how it cuts a text into tokens."""

    model: TrainedModel
    network: Network
    tokenizer: Tokenizer


def load_minilm() -> Encoder:
    """all-MiniLM-L6-v2, read and checked once per process.

    Raises
    ------
    ModelUnavailableError
        If its files are not on this machine, or are not the published ones.

    Notes
    -----
    A sentence encoder of 6 layers and 12 heads, d_model 384: BERT distilled to MiniLM, then trained so that
    sentences of like meaning get near vectors. It was trained on texts of up to 128 tokens; 512 have a position.

    References
    ----------
    Devlin et al. 2019 (BERT), section 3; Wang et al. 2020 (MiniLM), section 3; Reimers & Gurevych 2019
    (Sentence-BERT), section 3.
    """
    with _loading:
        return _load(find_files(MINILM))


@lru_cache(maxsize=1)
def _load(files: ModelFiles) -> Encoder:
    check_weights(MINILM, files)
    return Encoder(MINILM, read_network(files.weights, _read_sizes(files)), _read_tokenizer(files))


def _read_sizes(files: ModelFiles) -> EncoderConfig:
    config = read_config(files.config)
    found = (config.n_layers, config.n_heads, config.d_model, config.max_tokens)
    published = (MINILM.n_layers, MINILM.n_heads, MINILM.d_model, MINILM.max_tokens)
    if found != published:
        raise ModelUnavailableError(
            broken_rule(
                files.config.name,
                f"must give the layers, heads, d_model and positions of {MINILM.label}: {published}",
                str(found),
                PUBLISHED_TOGETHER,
            )
        )
    return config


def _read_tokenizer(files: ModelFiles) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as problem:  # the library raises the bare class
        raise ModelUnavailableError(
            broken_rule(files.tokenizer.name, "must be a tokenizer", str(problem), PUBLISHED_TOGETHER)
        ) from problem
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@lru_cache(maxsize=2)
def word_size(encoder: Encoder) -> float:
    """Root mean square of all numbers in the model's table of word vectors."""
    return float(np.sqrt(np.square(encoder.network.words).mean(dtype=np.float64)))


def tokenize(encoder: Encoder, text: str) -> tuple[Tokens, int]:
    """The tokens that the model sees, `[CLS]` and `[SEP]` included, and how many there were before cutting.

    Raises
    ------
    NothingYetError
        If the text holds nothing that the model has a token for.

    Notes
    -----
    A text that is too long keeps its start and the final `[SEP]`. Case, control characters and lone surrogates
    are dropped, as in training; what the vocabulary lacks becomes `[UNK]`.
    """
    _, tokens, n_before = _cut(encoder, text)
    return tokens, n_before


def _cut(encoder: Encoder, text: str) -> tuple[TokenIds, Tokens, int]:
    # The tokenizer refuses lone surrogates; as U+FFFD its own cleaning drops them.
    encoding = encoder.tokenizer.encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    if all(encoding.special_tokens_mask):
        raise NothingYetError(TYPE_A_SENTENCE)
    ids: list[int] = encoding.ids
    tokens: list[str] = encoding.tokens
    start = encoder.model.max_tokens - 1
    n_before = len(ids)
    if n_before > encoder.model.max_tokens:
        ids, tokens = ids[:start] + ids[-1:], tokens[:start] + tokens[-1:]
    return np.array(ids), tuple(tokens), n_before


def run_encoder(
    encoder: Encoder, text: str, *, masks: tuple[Spec, ...] = (), sharpness: float = 1.0, gates: Gater | None = None
) -> tuple[AttentionTrace, ...]:
    """One trace a layer of the model reading this text.

    Parameters
    ----------
    encoder
        From `load_minilm`.
    text
        What it reads; cut to `max_tokens` as `tokenize` says.
    masks
        Every mask must allow a pair for it to be attended, in every layer; with none all pairs may, as in training.
    sharpness
        Multiplies the scores; 1 is the trained model, 0 makes every row uniform.
    gates
        Which heads are kept in each layer, as `run_network` takes them; all where it is left out.

    Raises
    ------
    NothingYetError, SettingError, UnknownNameError
        If the text has no token, or a mask breaks its rule.

    References
    ----------
    Devlin et al. 2019, section 3; Vaswani et al. 2017, section 3.2.
    """
    return encode(encoder, text, masks=masks, sharpness=sharpness, gates=gates).traces


def encode(
    encoder: Encoder,
    text: str,
    *,
    masks: tuple[Spec, ...] = (),
    sharpness: float = 1.0,
    order: Sequence[int] | None = None,
    has_positions: bool = True,
    gates: Gater | None = None,
) -> EncoderRun:
    """What `run_encoder` gives, and with it the vectors that leave the last layer.

    Parameters
    ----------
    encoder, text, masks, sharpness, gates
        As for `run_encoder`.
    order
        Which token stands at each place; as in the text where it is left out.
    has_positions
        Whether the places have their own vectors; without, each has that of the first.

    Raises
    ------
    NothingYetError, SettingError, UnknownNameError
        If the text has no token, or a mask breaks its rule.
    """
    ids, tokens, _ = _cut(encoder, text)
    mask = build_mask(masks, len(ids), len(ids), n_heads=encoder.model.n_heads)
    if order is not None:
        ids, tokens = ids[list(order)], tuple(tokens[place] for place in order)
    positions = None if has_positions else np.zeros_like(ids)
    return run_network(encoder.network, ids, tokens, mask, positions=positions, sharpness=sharpness, gates=gates)


def heads_off(removed: Sequence[HeadAt], stand_in: str = "zero") -> Gater | None:
    """Gates that switch these heads of the model off; None where there are none.

    Raises
    ------
    SettingError
        When the model runs, if a layer has no such head, or there is no such stand-in.
    """
    if not removed:
        return None

    def gates(layer: int, trace: AttentionTrace) -> Gates | None:
        return gates_without([at.head for at in removed if at.layer == layer], trace.n_heads, stand_in)

    return gates
