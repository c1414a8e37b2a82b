"""Real layers with their heads in another order, or one of them twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attnviz import AttentionConfig, AttentionTrace, attend
from attnviz.core.projections import Projections, make_projections
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec

MASKED = {
    "full": MASKS["full"].spec(),
    "causal": MASKS["causal"].spec(),
    "window": MASKS["sliding_window"].spec(window=3),
    "padded": MASKS["padding_left"].spec(padded=3),
}
N_HEADS, D_HEAD = 4, 3


def layer(seed: int, n: int, mask: Spec, order: Sequence[int] = range(N_HEADS)) -> AttentionTrace:
    """A layer of random heads in this order; a head that is named twice takes the place of another."""
    config = AttentionConfig(
        tuple(f"t{place}" for place in range(n)),
        d_model=N_HEADS * D_HEAD,
        n_heads=N_HEADS,
        masks=(mask,),
        content="vectors",
        projections="random",
        position=POSITIONS["sinusoidal"].spec(),
        sharpness=3.0,
        seed=seed,
    )
    made = make_projections("random", N_HEADS * D_HEAD, N_HEADS, seed)
    columns = (np.array(order)[:, None] * D_HEAD + np.arange(D_HEAD)).ravel()
    return attend(
        config, Projections(made.W_Q[:, columns], made.W_K[:, columns], made.W_V[:, columns], made.W_O[columns])
    )


def on_the_way(trace: AttentionTrace) -> AttentionTrace:
    """The same layer without its maps: their rows are computed when they are asked for."""
    return replace(trace, kept=None)


__all__ = ["MASKED", "N_HEADS", "layer", "on_the_way"]
