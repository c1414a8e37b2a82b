"""One stage of the arithmetic: its words, its sum term by term, its arrays."""

from __future__ import annotations

import streamlit as st

from attnviz.figures import array_pictures, group_picture, step_words, term_bars
from attnviz.figures.groups import MOST_HEADS
from attnviz.scenario import Scenario
from attnviz.steps import Focus, Stage, stage_of
from attnviz.ui import session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words

SORTED = "terms_sorted"
FEW_EQUATIONS = 3


def focus(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> Focus:
    """The weight that is looked at."""
    is_scaled = scenario.is_scaled or scenario.input == "trained"
    return Focus(layer.trace, head, query, key, scenario.masks, is_scaled)


def stage(chosen: Focus, name: str) -> Stage:
    """One stage of the arithmetic of a weight."""
    return stage_of(chosen, name)


def words(stage: Stage) -> None:
    """Question, answer, formulas with numbers, and sizes."""
    formulas = "\n\n".join(f"$$\n{equation.latex}\n$$" for equation in stage.equations)
    notes = f" {show.plain(stage.notes)}" if stage.notes else ""
    st.markdown(
        f"### {show.plain(stage.question)}\n{show.plain(stage.answer)}\n\n{formulas}\n\n"
        f":small[{show.plain(stage.shapes)}.{notes}]"
    )


def groups(chosen: Focus, stage: Stage) -> None:
    """Which key/value head serves the head, where fewer of them serve all."""
    trace = chosen.trace
    n_kv_heads = trace.key.shape[0]
    if stage.name != "projection" or n_kv_heads == trace.n_heads or trace.n_heads > MOST_HEADS:
        return
    show.figure(
        group_picture(trace.n_heads, n_kv_heads, head=chosen.head),
        key="groups",
        words=Words(
            "Which key/value head serves this head?",
            step_words.group_answer(trace.n_heads, n_kv_heads, chosen.head),
            "Neighbouring query heads share one: grouped-query attention (Ainslie et al. 2023, section 2.2).",
            step_words.group_answer(trace.n_heads, n_kv_heads, chosen.head),
        ),
    )


def terms(stage: Stage, *, below: str) -> None:
    """The sum of the stage, a bar a term: below the words where these are short, else below the pictures."""
    if stage.terms is None or below != ("words" if len(stage.equations) < FEW_EQUATIONS else "pictures"):
        return
    is_sorted = bool(session.keep_view(SORTED, False))
    show.figure(
        term_bars(stage.terms, is_sorted=is_sorted),
        key="terms",
        words=Words(
            step_words.terms_question(stage.terms),
            step_words.terms_answer(stage.terms),
            step_words.terms_caption(stage.terms, is_sorted=is_sorted),
            step_words.terms_alt(stage.terms),
        ),
    )
    st.toggle("Sorted by size", key=SORTED)


def pictures(scenario: Scenario, stage: Stage) -> None:
    """The arrays of the stage, small, with what is looked at marked."""
    show.figure(
        array_pictures(
            stage.shots,
            kind=stage.kind,
            scale=scenario.scale,
            across=2 if len(stage.shots) == 4 else 3,
            has_own_scales=stage.has_own_scales,
        ),
        key="arrays",
        words=Words(
            "Where in the arrays is that?",
            step_words.arrays_answer(stage.shots),
            step_words.arrays_caption(stage.shots, has_own_scales=stage.has_own_scales),
            step_words.arrays_alt(stage.shots),
        ),
        on_click=session.click_setter("arrays"),
    )
