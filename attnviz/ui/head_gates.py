"""How many heads each token needs."""

from __future__ import annotations

from attnviz.errors import NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui.layer import Shown


def adaptive(scenario: Scenario, shown: Shown, head: int) -> None:
    """How many heads each token needs."""
    raise NothingYetError(f"{scenario.heads_view} {shown.index} {head}")
