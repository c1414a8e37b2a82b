"""How alike heads are, which are near each other, and how two of them differ."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from attnviz.figures import alike_matrix, alike_words, head_map, pair_map, pair_words
from attnviz.figures.head_map import MOST_LABELS
from attnviz.figures.head_names import head_name, heads_of
from attnviz.figures.redundancy import MOST_HEADS
from attnviz.metrics.alike import Alike
from attnviz.metrics.clustering import (
    Plane,
    Tree,
    cut_of,
    groups_below,
    nearest,
    plane_of,
    tree_of,
)
from attnviz.metrics.contrast import HeadsByPair, by_pair
from attnviz.picks import HeadAt
from attnviz.registries import SIMILARITIES
from attnviz.registry import Entry, Spec
from attnviz.scenario import Scenario
from attnviz.ui import controls, head_difference, head_parts, progress, session, show
from attnviz.ui.layer import Layer, Run, Shown
from attnviz.ui.live import Words
from attnviz.ui.sentences import inside_a_sentence

MOST_WORK = 1 << 27
N_NEAREST, IN_TABLE = 3, 2
TEXT_FREE = "Weights"


@dataclass(frozen=True)
class Scope:
    """The heads that are compared, numbered layer by layer.

    Attributes
    ----------
    run
        What they belong to, and where what is derived of them is kept.
    layers
        Their layers.
    at, names
        Where each is, and what it is called.
    selected
        The chosen one.
    """

    run: Run
    layers: tuple[Layer, ...]
    at: tuple[HeadAt, ...]
    names: tuple[str, ...]
    selected: int

    @property
    def is_cheap(self) -> bool:
        """Whether every similarity may be computed for a table."""
        trace = self.layers[0].trace
        return len(self.at) ** 2 * trace.n_q * trace.n_k <= MOST_WORK

    def alike(self, spec: Spec) -> Alike:
        """A similarity of these heads."""
        return progress.alike(self.run, self.layers, spec)

    def tree(self, spec: Spec) -> Tree | None:
        """The tree of these heads; None where they are too many for one."""
        if len(self.at) > MOST_HEADS:
            return None
        return self.run.kept.once(
            ("tree", spec, len(self.layers), self.at[0]), lambda: tree_of(self.alike(spec).distances)
        )

    def cut(self, spec: Spec) -> float:
        """Below which distance these heads are a group."""
        return cut_of(self.alike(spec).distances)

    def plane(self, spec: Spec) -> Plane:
        """These heads as points."""
        name = ("plane", spec, len(self.layers), self.at[0])
        return self.run.kept.once(name, lambda: plane_of(self.alike(spec).distances))

    def pairs(self) -> tuple[HeadsByPair, list[dict[str, int]]]:
        """Every pair of these heads by its maps and its outputs, and what a click on it sets."""

        def make() -> tuple[HeadsByPair, list[dict[str, int]]]:
            found = by_pair(*(self.alike(SIMILARITIES[name].spec()) for name in ("cosine", "linear_cka")))
            heads = [(self.at[first], self.at[second]) for first, second in zip(found.first, found.second, strict=True)]
            is_one = len(self.run.layers) == 1
            return found, [
                {"head": one.head, "other": other.head}
                | ({} if is_one else {"layer": one.layer, "other_layer": other.layer})
                for one, other in heads
            ]

        return self.run.kept.once(("pairs", len(self.layers), self.at[0]), make)


def scope_of(scenario: Scenario, shown: Shown, head: int) -> Scope:
    """The heads of the layer on screen, or of all layers."""
    if scenario.scope == "layer" or shown.count == 1:
        layer = shown.layer
        names = tuple(f"{place} {role}".rstrip() for place, role in enumerate(layer.roles))
        at = tuple(HeadAt(shown.index, place) for place in range(layer.trace.n_heads))
        return Scope(shown.run, (layer,), at, names, head)
    at = tuple(heads_of([layer.trace.n_heads for layer in shown.run.layers]))
    names = tuple(head_name(one, shown.count) for one in at)
    return Scope(shown.run, shown.run.layers, at, names, at.index(HeadAt(shown.index, head)))


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
        _pairs(scenario, scope)
    _nearest(scenario, scope)


def _entry(scenario: Scenario) -> tuple[Entry[..., Alike], str]:
    """The chosen similarity, and its name inside a sentence."""
    entry = SIMILARITIES[scenario.similarity.name]
    return entry, inside_a_sentence(entry.label)


def _matrix(scenario: Scenario, scope: Scope) -> None:
    spec = scenario.similarity
    entry, what = _entry(scenario)
    found, tree = scope.alike(spec), scope.tree(spec)
    groups = None if tree is None else groups_below(tree, scope.cut(spec))
    answer = alike_words.alike_answer(found, groups, scope.names, what, entry.unit)
    if _is_too_short(scenario, scope):
        answer = alike_words.TOO_SHORT
    unit = f", in {entry.unit}" if entry.unit else ""
    joined = (
        " Heads are in the order of the tree on the right: two groups join at their mean distance, from 0 at its left "
        "(average linkage; the dotted line is at half of the mean over all pairs)."
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
        ),
        key="alike_matrix",
        words=Words(
            "Which heads do the same?",
            answer,
            f"{entry.summary} {entry.label} = {entry.formula}{unit}. Source: {entry.source}.{joined} "
            "Click a row to choose its head.",
            alike_words.alike_alt(found, tree, what),
        ),
        on_click=session.row_setter("alike_matrix", _choices(scope, tree)),
    )


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
    tree = scope.tree(spec)
    if tree is None:
        return
    plane = scope.plane(spec)
    near = [one.head for one in nearest(scope.alike(spec).distances, scope.selected, N_NEAREST)]
    labelled = range(len(scope.at)) if len(scope.at) <= MOST_LABELS else [scope.selected, *near]
    answer = alike_words.map_answer(plane, scope.names, near, scope.selected)
    if _is_too_short(scenario, scope):
        answer = alike_words.TOO_SHORT
    distance = what if entry.unit else f"1 − {what}"
    show.figure(
        head_map(
            plane,
            groups_below(tree, scope.cut(spec)),
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
            "groups below the dotted line of the tree. Where there is no room for a name, point at the dot. Click a "
            "dot to choose its head.",
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
        near = [one.head for one in nearest(found.distances, scope.selected, N_NEAREST)]
        rows.append(
            {
                "similarity": f"{entry.label} ({entry.unit})" if entry.unit else entry.label,
                "nearest": ", ".join(scope.names[head].split(" ")[0] for head in near[:IN_TABLE]),
                "value": float(found.pairs[scope.selected, near[0]]),
                "baseline": float(found.uniform[scope.selected]),
            }
        )
    frame = pd.DataFrame(rows)
    left = "" if scope.is_cheap else " With as many weights as here only the chosen similarity is computed."
    show.table(
        frame,
        slice(0, len(frame)),
        title=f"What is most like head {scope.names[scope.selected].split(' ')[0]}?",
        caption="Value: of the nearest one. Baseline: with a head that is uniform over the allowed keys; of outputs, "
        f"with its own in random order; of weights, with random subspaces.{left}",
        labels={"similarity": "Similarity", "nearest": "Nearest", "value": "Value", "baseline": "Baseline"},
        file_name="attnviz-nearest-heads.csv",
        strong=entries.index(chosen),
    )


def _pairs(scenario: Scenario, scope: Scope) -> None:
    """Every pair of heads by how alike they look and how alike they write."""
    trace = scope.layers[0].trace
    if not scope.is_cheap or len(scope.at) < 2 or min(trace.n_q, trace.n_k) < 2:
        return
    pairs, choices = scope.pairs()
    click = "head" if scenario.beside else "head, and the other one beside it"
    show.figure(
        pair_map(pairs, scope.at, selected=scope.selected, has_layers=len(scope.run.layers) > 1),
        key="pair_map",
        words=Words(
            "Do heads that look alike write the same?",
            pair_words.pair_answer(pairs, scope.names),
            "A dot for each pair: to the right they look at the same keys (cosine of maps; Bian et al. 2021), at the "
            "top what they take from the values tells the same queries apart (linear CKA; Kornblith et al. 2019). "
            "Dotted: the baselines, as means over the heads: the cosine with a head that is uniform over the allowed "
            "keys, and the CKA of a head's output with the same in random order. A and B: the pairs whose two ranks "
            "differ most; rank correlation: Spearman 1904. "
            f"Click a dot to choose its first {click}.",
            pair_words.pair_alt(pairs),
        ),
        on_click=session.row_setter("pair_map", choices),
    )
