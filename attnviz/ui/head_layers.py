"""How attention adds up across layers."""

from __future__ import annotations

from attnviz.errors import NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui.layer import Shown


def layers(scenario: Scenario, shown: Shown, head: int) -> None:
    """How attention adds up across layers."""
    raise NothingYetError(f"{scenario.heads_view} {shown.index} {head}")
