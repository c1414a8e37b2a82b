"""What the number of heads changes."""

from __future__ import annotations

from attnviz.errors import NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui.layer import Shown


def number(scenario: Scenario, shown: Shown, head: int) -> None:
    """What the number of heads changes."""
    raise NothingYetError(f"{scenario.heads_view} {shown.index} {head}")
