"""How many directions a head uses."""

from __future__ import annotations

from attnviz.errors import NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui.layer import Shown


def rank(scenario: Scenario, shown: Shown, head: int) -> None:
    """How many directions a head uses."""
    raise NothingYetError(f"{scenario.heads_view} {shown.index} {head}")
