"""The whole row of a query: its numbers, what if a setting were different, and why products are scaled."""

from __future__ import annotations

import streamlit as st

from attnviz.figures import changed_bars, gradient_lines, score_bars, step_words, variance_lines
from attnviz.figures.row import keys_to_show
from attnviz.numbers import counted
from attnviz.scenario import Scenario
from attnviz.steps import Focus
from attnviz.steps.row import QueryRow, row_of
from attnviz.steps.what_if import Change, changed_row, measured_spread
from attnviz.tables import row_table
from attnviz.ui import compute, controls, session, show
from attnviz.ui.live import Words

MOST_DRAWN = 64
SCALED, MASKED, TEMPERATURE = "what_if.scaled", "what_if.masked", "what_if.temperature"
VIEWS = {"row": "The whole row", "what_if": "What if?", "scaling": "Why divide by √d_head?"}


def chosen_view(scenario: Scenario, focus: Focus) -> None:
    """One of the views of the row, the only one that is computed."""
    controls.view_picker("step_view", VIEWS)
    if scenario.step_view == "row":
        whole_row(focus)
    elif scenario.step_view == "what_if":
        what_if(focus)
    else:
        scaling(scenario, focus)


def _query(focus: Focus) -> str:
    return f"query {focus.query} “{focus.trace.query_tokens[focus.query]}”"


def _few(keys: list[int], row: QueryRow) -> str:
    if len(keys) == len(row.weights):
        return ""
    n_allowed = sum(bool(row.allowed[key]) for key in keys)
    return f"Of {len(row.weights)} keys {counted(n_allowed, 'allowed one')} with the largest weights are shown. "


def whole_row(focus: Focus) -> None:
    """Scores, bias and what the softmax gets as bars, and all numbers as a table."""
    row = row_of(focus)
    keys = keys_to_show(row.weights, row.allowed, focus.key, MOST_DRAWN)
    show.figure(
        score_bars(row, keys, key=focus.key),
        key="row_scores",
        words=Words(
            f"What does {_query(focus)} give to the softmax?",
            step_words.row_answer(row),
            f"{_few(keys, row)}Bars: score, and from its end the bias. Orange: what the softmax gets. ⊘ marks a "
            "forbidden key; its bar is grey and counts as −∞.",
            step_words.row_alt(row, keys),
        ),
    )
    frame, labels = row_table(row)
    rows = keys_to_show(row.weights, row.allowed, focus.key)
    show.table(
        frame,
        rows,
        title="The row in numbers",
        caption=f"{_few(rows, row)}weight = exponential / sum; exponential = e to the score less the largest. The file "
        "has all keys.",
        labels=labels,
        file_name=f"attnviz-head-{focus.head}-query-{focus.query}.csv",
        strong=focus.key,
        bars="weight",
    )


@st.fragment
def what_if(focus: Focus) -> None:
    """The row under another setting, beside the row as it is; nothing else on the page changes."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="what_if"):
        session.keep_view(SCALED, focus.is_scaled)
        session.keep_view(MASKED, True)
        session.keep_view(TEMPERATURE, 1.0)
        is_scaled = st.toggle("Divide by √d_head", key=SCALED)
        is_masked = st.toggle(
            "Apply the mask",
            key=MASKED,
            disabled=bool(focus.allowed.all()),
            help="The mask forbids this query no key." if focus.allowed.all() else None,
        )
        temperature = st.slider(
            "Temperature",
            0.1,
            10.0,
            step=0.1,
            key=TEMPERATURE,
            help="Scores are divided by it: below 1 the best key gets more, above 1 the keys become alike.",
        )
    row = row_of(focus)
    changed = changed_row(focus, Change(is_scaled, temperature, is_masked))
    keys = keys_to_show(row.weights, row.allowed, focus.key)
    show.figure(
        changed_bars(row, changed, keys, key=focus.key),
        key="row_changed",
        words=Words(
            f"What would {_query(focus)} look at then?",
            step_words.change_answer(row, changed, focus.key),
            f"{_few(keys, row)}Switch the scale, the mask or the temperature. Light: as set in the "
            "sidebar. Dark: under the change. ⊘ marks a forbidden key.",
            step_words.row_alt(row, keys),
        ),
    )


def scaling(scenario: Scenario, focus: Focus) -> None:
    """Variance of products and gradient of the softmax against d_head, measured."""
    spread = compute.spread(scenario.seed)
    measured = measured_spread(focus)
    built = {"designed": "; it is designed, not random", "random": ""}
    made = "; it is trained, not random" if scenario.input == "trained" else built[scenario.weights]
    left, right = st.columns(2, gap="medium")
    drawn = "256 queries and 32 keys of standard normal numbers, drawn from the seed."
    with left:
        show.figure(
            variance_lines(spread, measured),
            key="variance",
            words=Words(
                "How far do products spread?",
                step_words.variance_answer(spread, measured, made),
                f"{drawn} Both axes are logarithmic.",
                step_words.variance_answer(spread, measured, made),
            ),
        )
    with right:
        show.figure(
            gradient_lines(spread, measured),
            key="gradient",
            words=Words(
                "What is left to learn from?",
                step_words.gradient_answer(spread),
                f"The slope of a weight p against its own score is p (1 − p). {drawn}",
                step_words.gradient_answer(spread),
            ),
        )
