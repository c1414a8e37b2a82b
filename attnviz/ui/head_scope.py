"""The heads that are compared: those of a layer or of all layers, and what is derived of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from attnviz.figures.head_names import head_name, heads_of
from attnviz.figures.redundancy import MOST_HEADS
from attnviz.metrics.alike import Alike
from attnviz.metrics.clustering import Plane, Tree, cut_of, groups_below, plane_of, tree_of
from attnviz.metrics.contrast import HeadsByPair, by_pair
from attnviz.picks import HeadAt
from attnviz.registries import SIMILARITIES
from attnviz.registry import Spec
from attnviz.scenario import Scenario
from attnviz.ui import progress
from attnviz.ui.layer import Layer, Run, Shown

MOST_WORK = 1 << 27
"""Heads squared times weights of a head."""
Groups = Int[np.ndarray, " head"]


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
    def most_weights(self) -> int:
        """With how many weights a head every similarity is computed, for a table and for pairs."""
        return MOST_WORK // len(self.at) ** 2

    @property
    def is_cheap(self) -> bool:
        """Whether every similarity is computed."""
        trace = self.layers[0].trace
        return trace.n_q * trace.n_k <= self.most_weights

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
        """Below which distance these heads are a group: half of the mean over the pairs that have a value."""
        return cut_of(self.alike(spec).defined_distances)

    def groups(self, spec: Spec) -> Groups | None:
        """Number of each head's group; None where they are too many for a tree."""
        tree = self.tree(spec)
        return None if tree is None else groups_below(tree, self.cut(spec))

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
