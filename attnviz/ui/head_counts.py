"""What the number of heads changes at a fixed width."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.figures import sweep_words
from attnviz.figures.sweep import Series, sweep_lines
from attnviz.figures.theme import LIGHT
from attnviz.metrics.sweep import Sweep, sweep
from attnviz.registries import METRICS
from attnviz.scenario import Scenario
from attnviz.tables import sweep_table
from attnviz.ui import progress, session, show
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words


def number(scenario: Scenario, shown: Shown, head: int) -> None:
    """What each head gains and loses with another number of heads at the same width."""
    del head
    if scenario.input == "trained":
        _fixed()
        return
    config = scenario.config()
    with progress.steps(st.empty(), "of the numbers of heads tried") as tell:
        found = shown.run.kept.once("sweep", lambda: sweep(config, tell))
    cut = sweep_words.cut(found, config.n_q, config.n_k)
    with st.container(key="sweep"):
        directions, sharpness, likeness = st.columns(3, gap="medium")
    with directions:
        _directions(found, config.n_heads, cut)
    with sharpness:
        _sharpness(found, config.n_heads, cut)
    with likeness:
        _likeness(found, config.n_heads, cut)
    frame, labels = sweep_table(found)
    counts = [point.n_heads for point in found.points]
    show.table(
        frame,
        slice(None),
        title="Every number of heads in numbers",
        caption=f"{sweep_words.caption(found, config.projections, config.n_q, config.n_k)} Means over all heads"
        f"{sweep_words.without_entropy(found)}; a head whose scores are all 0 has rank 0. “uniform”: a head uniform "
        "over the allowed keys. Parameters (W_Q, W_K, W_V, W_O) and operations stay, the memory of the weights grows.",
        labels=labels,
        file_name="attnviz-number-of-heads.csv",
        strong=counts.index(config.n_heads) if config.n_heads in counts else -1,
    )


def _fixed() -> None:
    from attnviz.models import MINILM

    show.sentence(
        f"{MINILM.label} has {MINILM.n_heads} heads in each layer: training fixed their number, and the same matrices "
        "cut into more or fewer heads would be another model. Heads made for your sentence can be cut at will."
    )
    st.button("Use the sentence without the model", on_click=session.setter(input="sentence"))


def _values(found: Sweep, name: str) -> np.ndarray:
    return np.array([getattr(point, name) for point in found.points], dtype=np.float64)


def _directions(found: Sweep, present: int, cut: str) -> None:
    bound, scores, weights, uniform = (
        _values(found, name)
        for name in ("rank_bound", "score_effective_rank", "weight_effective_rank", "uniform_effective_rank")
    )
    series = {
        "limit": Series(bound, LIGHT.mark, is_dotted=True),
        "scores": Series(scores, LIGHT.mark),
        "weights": Series(weights, LIGHT.accent),
        "uniform head": Series(uniform, LIGHT.baseline, is_dotted=True),
    }
    show.figure(
        sweep_lines(
            [point.n_heads for point in found.points],
            series,
            present=present,
            name="effective rank (directions)",
            is_doubling=True,
        ),
        key="sweep_directions",
        words=Words(
            "How many directions does each head have?",
            sweep_words.rank_answer(found),
            "Effective rank exp(−Σ p ln p), p = σ / Σ σ, 0 for a head of zeros, mean over all heads (Roy & Vetterli "
            f"2007, section 2).{sweep_words.below_the_axis(found)} Limit "
            f"of the scores: d_head, or the number of tokens (Bhojanapalli et al. 2020, section 3).{cut}",
            sweep_words.alt(found, "Effective rank of the scores", scores.tolist()),
        ),
    )


def _sharpness(found: Sweep, present: int, cut: str) -> None:
    entry = METRICS["normalised_entropy"]
    values, uniform = (_values(found, name) for name in ("entropy_share", "uniform_entropy_share"))
    if np.isnan(values).all():
        show.sentence(sweep_words.entropy_answer(found))
        return
    show.figure(
        sweep_lines(
            [point.n_heads for point in found.points],
            {"heads": Series(values, LIGHT.mark), "uniform head": Series(uniform, LIGHT.baseline, is_dotted=True)},
            present=present,
            name="entropy (share of the largest)",
        ),
        key="sweep_entropy",
        words=Words(
            "How broadly does each head look?",
            sweep_words.entropy_answer(found),
            f"{entry.label}: {entry.formula}, mean over the queries with two keys or more and over the "
            f"heads{sweep_words.without_entropy(found)}. Source: {entry.source}.{cut}",
            sweep_words.alt(found, "Entropy as a share of the largest", values.tolist()),
        ),
    )


def _likeness(found: Sweep, present: int, cut: str) -> None:
    cosine, pairs, alike = (_values(found, name) for name in ("mean_cosine", "n_pairs", "n_alike_pairs"))
    share = np.where(pairs > 0, alike / np.maximum(pairs, 1), np.nan)
    series = {"mean cosine": Series(cosine, LIGHT.mark), "pairs above 0.9": Series(share, LIGHT.accent)}
    show.figure(
        sweep_lines([point.n_heads for point in found.points], series, present=present, name="cosine, share of pairs"),
        key="sweep_alike",
        words=Words(
            "How alike are the heads?",
            sweep_words.alike_answer(found),
            "Cosine of two heads' maps, ⟨A, B⟩ / (‖A‖ ‖B‖), mean over all pairs, and the share of pairs above 0.9; "
            f"with one head there is no pair (redundancy: Bian et al. 2021, section 3).{cut}",
            sweep_words.alt(found, "Mean cosine", cosine.tolist()),
        ),
    )
