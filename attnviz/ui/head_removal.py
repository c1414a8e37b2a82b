"""What is lost without a head."""

from __future__ import annotations

from attnviz.errors import NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui.layer import Shown


def removal(scenario: Scenario, shown: Shown, head: int) -> None:
    """What is lost without a head."""
    raise NothingYetError(f"{scenario.heads_view} {shown.index} {head}")
