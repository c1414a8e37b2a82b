"""A menu: the entries of a registry among which a field of the scenario chooses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attnviz.errors import MOST_OFFERED, AttnvizError, UnknownNameError, listed, meant
from attnviz.registry import Registry, Spec, Value


@dataclass(frozen=True)
class Menu:
    """Entries of one group of a registry, or of all of it."""

    registry: Registry[Any, Any]
    group: str | None = None

    def names(self) -> list[str]:
        """Names to choose from, in menu order."""
        return self.registry.names(self.group)

    def check(self, spec: Spec) -> Spec:
        """The same choice, validated again.

        Raises
        ------
        UnknownNameError, SettingError
            If the name is not in this menu or a parameter breaks its rule.
        """
        self._check_name(spec.name)
        return self.registry.check(spec)

    def parse(self, name: str, chosen: Mapping[str, str]) -> tuple[Spec, list[AttnvizError]]:
        """The spec that a link's name and parameters stand for, and what is wrong with those left at their default.

        Raises
        ------
        UnknownNameError
            If the name is not in this menu.
        """
        self._check_name(name)
        entry = self.registry[name]
        params = {param.name: param for param in entry.params}
        good: dict[str, Value] = {}
        problems: list[AttnvizError] = []
        for key, text in chosen.items():
            try:
                if key not in params:
                    entry.spec(**{shortened(key): shortened(text)})
                good[key] = params[key].parse(text)
            except AttnvizError as error:
                problems.append(error)
        return entry.spec(**good), problems

    def _check_name(self, name: str) -> None:
        if name not in self.names():
            close = meant(shortened(name), self.names())
            way_out = f"did you mean {close}?" if close else f"try {listed(self.names()[:MOST_OFFERED])}."
            raise UnknownNameError(f"there is no entry {shortened(name)!r} here; {way_out}")


def shortened(text: str, longest: int = 40) -> str:
    """The start of a text that may be long.

    >>> shortened("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[:longest]}…"
