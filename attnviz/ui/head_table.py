"""Every measure of every head as one table."""

from __future__ import annotations

from attnviz.scenario import Scenario
from attnviz.ui import panels
from attnviz.ui.layer import Shown


def table(_: Scenario, shown: Shown, head: int) -> None:
    """Every measure of every head as one table."""
    panels.heads_table(shown.layer, head)
