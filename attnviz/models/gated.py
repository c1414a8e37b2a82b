"""A trained model run with heads gated by what they contribute, in every layer at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attnviz.core.gating import Gates, Keeps
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.adaptive import GatedModel, adaptive_gates
from attnviz.models.importance import embedding_change, last_hidden
from attnviz.models.minilm import Encoder, Gater, encode
from attnviz.registry import Spec

SEED = 0


def gated_model(
    encoder: Encoder,
    text: str,
    intact: Sequence[AttentionTrace],
    gates: Sequence[Keeps],
    *,
    kept_share: float,
    gate_by: str,
    masks: tuple[Spec, ...] = (),
    sharpness: float = 1.0,
    on_progress: Callable[[float], None] | None = None,
) -> GatedModel:
    """The model run with its heads gated in every layer, beside as many heads at random and gates set on the way.

    Parameters
    ----------
    encoder, text, masks, sharpness
        As `encode` takes them.
    intact
        The layers of the model on this text, all heads on.
    gates
        Of each layer, measured on these: the fewest heads that hold the share.
    kept_share, gate_by
        As `gated_by_share` takes them, for the gates that are set on the way.
    on_progress
        Told the share of the runs that is done, from 0 to 1.

    References
    ----------
    Voita et al. 2019, section 5 (gates of heads, there trained and the same for every text).
    """
    before = last_hidden(encoder.network, intact)
    random = _at_random(gates)
    runs: list[Gater] = [
        lambda layer, _: Gates(gates[layer].copy()),
        lambda layer, _: Gates(random[layer]),
        lambda _, trace: adaptive_gates(trace, kept_share, gate_by),
    ]
    changes: list[float] = []
    n_kept = 0.0
    for gater in runs:
        run = encode(encoder, text, masks=masks, sharpness=sharpness, gates=gater)
        changes.append(embedding_change(before, run.last_hidden))
        n_kept = sum(float(trace.gates.keeps.sum(axis=0).mean()) for trace in run.traces if trace.gates is not None)
        if on_progress is not None:
            on_progress(len(changes) / len(runs))
    embedding, at_random, anew = changes
    return GatedModel(embedding, at_random, anew, n_kept)


def _at_random(gates: Sequence[Keeps]) -> list[Keeps]:
    """As many heads on for each query of each layer, but any of them."""
    random = np.random.default_rng(SEED)
    return [random.permuted(keeps, axis=0) for keeps in gates]
