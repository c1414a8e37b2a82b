"""How alike heads are, and how far they look."""

from __future__ import annotations

from attnviz.scenario import Scenario
from attnviz.ui import head_parts, panels
from attnviz.ui.layer import Shown


def alike(scenario: Scenario, shown: Shown, head: int) -> None:
    """How alike the heads are."""
    layer = shown.layer
    panels.redundancy(scenario, layer, head, height=560)
    panels.distance(layer, head, height=head_parts.height(layer))
