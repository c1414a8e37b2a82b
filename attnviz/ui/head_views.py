"""The views of the Heads page; only the chosen one is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from attnviz.scenario import Scenario
from attnviz.ui import (
    controls,
    head_alike,
    head_counts,
    head_gates,
    head_layers,
    head_measure,
    head_rank,
    head_removal,
    head_roles,
    head_table,
    reproduce,
    viewing,
)
from attnviz.ui.layer import Shown


@dataclass(frozen=True)
class View:
    """Name of a view, and what draws it."""

    label: str
    draw: Callable[[Scenario, Shown, int], None]


VIEWS: Mapping[str, View] = {
    "alike": View("Alike", head_alike.alike),
    "measure": View("Measures", head_measure.measure),
    "roles": View("Roles", head_roles.roles),
    "rank": View("Rank", head_rank.rank),
    "removal": View("Remove", head_removal.removal),
    "adaptive": View("Adaptive", head_gates.adaptive),
    "number": View("How many", head_counts.number),
    "layers": View("Across layers", head_layers.layers),
    "table": View("Table", head_table.table),
}


def chosen(scenario: Scenario, shown: Shown, head: int) -> None:
    """The view that the scenario names."""
    controls.view_picker("heads_view", {name: view.label for name, view in VIEWS.items()})
    viewing.tell_what_has_no_effect(scenario)
    VIEWS[scenario.heads_view].draw(scenario, shown, head)
    reproduce.in_python(scenario)
