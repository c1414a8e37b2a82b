"""What every test run needs: types and array shapes checked at run time, and generated cases that never change."""

from __future__ import annotations

from pathlib import Path

import pytest
from beartype.claw import beartype_packages
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

from tests.checking import CONF, checked

ROOT = Path(__file__).parents[1]
SHAPES = ("jaxtyping", "attnviz.shapes")


def modules(*, with_shapes: bool) -> list[str]:
    """Names of the modules that have array shapes among their types, or of those that have none."""
    found = [path for path in (ROOT / "attnviz").rglob("*.py") if path.name != "__init__.py"]
    texts = {path: path.read_text(encoding="utf-8") for path in found}
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path, text in texts.items()
        if any(word in text for word in SHAPES) == with_shapes
    ]


# The names of axes are bound anew with every call, which takes far longer than looking at the other types.
install_import_hook(modules(with_shapes=True), f"{checked.__module__}.{checked.__qualname__}")
beartype_packages(modules(with_shapes=False), conf=CONF)


@pytest.fixture(scope="session", autouse=True)
def one_thread_for_products() -> None:
    """Matrix products as in the app, on one thread: those of two test processes would spin in each other's way."""
    from attnviz.core.tiles import leave_threads_to_tiles

    leave_threads_to_tiles()


settings.register_profile(
    "quick",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=12,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Let the type checker look at random items of a container, also while Hypothesis draws a case."""
    config.addinivalue_line(
        "filterwarnings",
        "ignore:Do not use the `random` module inside strategies:hypothesis.errors.HypothesisDeprecationWarning",
    )
