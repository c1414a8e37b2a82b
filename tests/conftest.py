"""What every test run needs: types and array shapes checked at run time, and generated cases that never change."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

install_import_hook("attnviz", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Let the type checker look at random items of a container, also while Hypothesis draws a case."""
    config.addinivalue_line(
        "filterwarnings",
        "ignore:Do not use the `random` module inside strategies:hypothesis.errors.HypothesisDeprecationWarning",
    )
