"""The type checker of the test run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

CONF = BeartypeConf(is_pep484_tower=True, claw_is_pep526=False)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its types checked at each call.

    Functions that are made inside another one stay as they are: every call of that one would compile theirs anew.
    """
    return function if "<locals>" in function.__qualname__ else beartype(conf=CONF)(function)
