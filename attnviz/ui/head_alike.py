"""How alike heads are, which are near each other, and how two of them differ."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.figures import alike_matrix, alike_words, head_map
from attnviz.figures.head_map import MOST_LABELS
from attnviz.figures.redundancy import MOST_HEADS
from attnviz.metrics.alike import Alike
from attnviz.metrics.clustering import Tree, nearest
from attnviz.registries import SIMILARITIES
from attnviz.registry import Entry
from attnviz.scenario import Scenario
from attnviz.ui import controls, head_difference, head_pairs, head_parts, session, show
from attnviz.ui.head_scope import Scope, scope_of
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words
from attnviz.ui.sentences import inside_a_sentence

N_NEAREST, IN_TABLE = 3, 2
TEXT_FREE = "Weights"


def alike(scenario: Scenario, shown: Shown, head: int) -> None:
    """How alike the heads are, as a matrix, a map and a table, and what differs between two of them."""
    picking, scoping, _ = st.columns(3, vertical_alignment="bottom")
    with picking:
        controls.spec_menu("similarity", "Similarity", scenario.similarity)
        controls.parameters("similarity", scenario.similarity)
    with scoping:
        head_parts.scope_picker(shown)
    scope = scope_of(scenario, shown, head)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _matrix(scenario, scope)
    with right:
        _map(scenario, scope)
    left, right = st.columns(2, gap="medium")
    with left:
        near = nearest(scope.alike(scenario.similarity).distances, scope.selected, 1)
        head_difference.difference(scenario, shown, head, scope.at[near[0].head] if near else None)
    with right:
        head_pairs.pairs(scenario, scope)
    _nearest(scenario, scope)


def _entry(scenario: Scenario) -> tuple[Entry[..., Alike], str]:
    """The chosen similarity, and its name inside a sentence."""
    entry = SIMILARITIES[scenario.similarity.name]
    return entry, inside_a_sentence(entry.label)


def _matrix(scenario: Scenario, scope: Scope) -> None:
    spec = scenario.similarity
    entry, what = _entry(scenario)
    found, tree, groups = scope.alike(spec), scope.tree(spec), scope.groups(spec)
    answer = alike_words.alike_answer(found, groups, scope.names, what, entry.unit)
    if _is_too_short(scenario, scope):
        answer = alike_words.TOO_SHORT
    unit = f", in {entry.unit}" if entry.unit else ""
    joined = (
        " Heads are in the order of the tree on the right: two groups join at their mean distance, from 0 at its left "
        "(average linkage; the dotted line is at half of the mean over all pairs; letters are those of the map)."
        if tree is not None
        else f" Of more than {MOST_HEADS} heads the block of the chosen one is shown, without a tree."
    )
    show.figure(
        alike_matrix(
            found,
            tree,
            scope.names,
            selected=scope.selected,
            scale=scenario.scale,
            value=what,
            unit=entry.unit,
            cut=scope.cut(spec),
            groups=groups,
        ),
        key="alike_matrix",
        words=Words(
            "Which heads do the same?",
            answer,
            f"{entry.summary} {entry.label} = {entry.formula}{unit}. Source: {entry.source}.{joined}"
            f"{_undefined(found)} Click a row to choose its head.",
            alike_words.alike_alt(found, tree, what),
        ),
        on_click=session.row_setter("alike_matrix", _choices(scope, tree)),
    )


def _undefined(found: Alike) -> str:
    """How heads without a value are drawn."""
    if found.is_defined.all():
        return ""
    return " Heads without a value count as the same as each other and as unlike every other."


def _is_too_short(scenario: Scenario, scope: Scope) -> bool:
    is_of_text = SIMILARITIES[scenario.similarity.name].group != TEXT_FREE
    return is_of_text and scope.layers[0].trace.n_k < 2


def _choices(scope: Scope, tree: Tree | None) -> list[dict[str, int]]:
    """What each row of the matrix stands for; without a tree its rows are numbered as the heads are."""
    heads = range(len(scope.at)) if tree is None else tree.order.tolist()
    several = len(scope.layers) > 1
    return [{"head": at.head, **({"layer": at.layer} if several else {})} for at in (scope.at[head] for head in heads)]


def _map(scenario: Scenario, scope: Scope) -> None:
    spec = scenario.similarity
    entry, what = _entry(scenario)
    groups = scope.groups(spec)
    if groups is None:
        return
    found, plane = scope.alike(spec), scope.plane(spec)
    near = found.like(scope.selected, N_NEAREST)
    labelled = range(len(scope.at)) if len(scope.at) <= MOST_LABELS else [scope.selected, *near]
    answer = alike_words.map_answer(plane, groups, scope.names, near, scope.selected)
    if _is_too_short(scenario, scope):
        answer = alike_words.TOO_SHORT
    distance = what if entry.unit else f"1 − {what}"
    show.figure(
        head_map(
            plane,
            groups,
            [name.split(" ")[0] for name in scope.names],
            selected=scope.selected,
            labelled=labelled,
            unit=entry.unit,
        ),
        key="head_map",
        words=Words(
            "Which heads are near each other?",
            answer,
            f"Distance = {distance}, as near as a plane can show it (classical scaling; Torgerson 1952). Colours: "
            f"groups below the dotted line of the tree.{_undefined(found)} Where there is no room for a name, point at "
            "the dot. Click a dot to choose its head.",
            alike_words.map_alt(plane, scope.names, scope.selected),
        ),
        on_click=session.row_setter("head_map", _choices(scope, None)),
    )


def _nearest(scenario: Scenario, scope: Scope) -> None:
    """The heads that are most like the chosen one, in every similarity."""
    if len(scope.at) < 2:
        return
    chosen = SIMILARITIES[scenario.similarity.name]
    entries = list(SIMILARITIES) if scope.is_cheap else [chosen]
    rows: list[dict[str, object]] = []
    for entry in entries:
        found = scope.alike(scenario.similarity if entry is chosen else entry.spec())
        near = found.like(scope.selected, IN_TABLE)
        rows.append(
            {
                "similarity": f"{entry.label} ({entry.unit})" if entry.unit else entry.label,
                "nearest": ", ".join(scope.names[head].split(" ")[0] for head in near) or "none",
                "value": found.value_of_nearest(scope.selected),
                "baseline": float(found.uniform[scope.selected]),
            }
        )
    frame = pd.DataFrame(rows)
    left = "" if scope.is_cheap else " With as many weights as here only the chosen similarity is computed."
    has_none = any(row["nearest"] == "none" for row in rows)
    none = " None: no head has anything in common with it, or it has no value." if has_none else ""
    show.table(
        frame,
        slice(0, len(frame)),
        title=f"What is most like head {scope.names[scope.selected].split(' ')[0]}?",
        caption="Value: of the nearest one. Baseline: with a head that is uniform over the allowed keys; of outputs, "
        f"with its own in random order; of weights, with random subspaces.{none}{left}",
        labels={"similarity": "Similarity", "nearest": "Nearest", "value": "Value", "baseline": "Baseline"},
        file_name="attnviz-nearest-heads.csv",
        strong=entries.index(chosen),
    )
