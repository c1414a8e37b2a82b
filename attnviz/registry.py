"""Registries: one decorated function is a menu entry, its controls, its caption and its link form.

A parameter's name, type, default, range and unit are written once, in the function's signature; what it does, for the
help of its control, in the docstring's `Parameters` section:

>>> MENU = Registry("toy", groups=("Plain",))
>>> @MENU.register(label="Window", group="Plain", source="nobody 2020")
... def window(q: int, *, width: Annotated[int, Range(1, 16, unit="tokens")] = 3) -> int:
...     '''A query sees a few keys.'''
...     return q * width
>>> MENU["window"].summary
'A query sees a few keys.'
>>> MENU["window"].spec(width=4)
Spec(name='window', params=(('width', 4),))
>>> MENU["window"].spec(width=99)
Traceback (most recent call last):
...
attnviz.errors.SettingError: `width` must be a whole number from 1 to 16 tokens; got width=99. Try 16.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, ParamSpec, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from attnviz.domains import Choice, Range, Text
from attnviz.errors import SettingError, UnknownNameError, broken_rule, listed, meant, offered

__all__ = ["Annotated", "Choice", "Entry", "Param", "Range", "Registry", "Spec", "Text"]

LONGEST_VALUE = 40
SWITCHES = {"1": True, "0": False, "on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}

P = ParamSpec("P")
R = TypeVar("R")
Value: TypeAlias = int | float | str | bool


@dataclass(frozen=True)
class Spec:
    """What a person chose: an entry's name and its parameters; made only by `Entry.spec`."""

    name: str
    params: tuple[tuple[str, Value], ...] = ()

    def __getitem__(self, param: str) -> Value:
        return dict(self.params)[param]


@dataclass(frozen=True)
class Param:
    """A parameter of a registered function, read from its signature, with what its docstring says of it."""

    name: str
    kind: type
    default: Value
    domain: Range | Choice | Text | None
    summary: str = ""

    @property
    def label(self) -> str:
        """Name for a control, with the unit: `window (tokens)`."""
        words = self.name.replace("_", " ")
        unit = self.domain.unit if isinstance(self.domain, Range) else ""
        return f"{words} ({unit})" if unit else words

    def check(self, value: object) -> Value:
        """The value in its own type.

        Raises
        ------
        SettingError
            If it is of another kind or outside the range.
        """
        if isinstance(self.domain, Choice):
            if value in self.domain.options:
                return str(value)
            close = meant(str(value), self.domain.options)
            way_out = f"Did you mean {close}?" if close else f"Try {self.default}."
            rule = f"must be one of {offered(self.domain.options)}"
            raise SettingError(broken_rule(self.name, rule, f"{self.name}={value}", way_out))
        if isinstance(self.domain, Text):
            return self._check_text(value, self.domain)
        if self.kind is bool:
            if isinstance(value, bool):
                return value
            raise SettingError(
                broken_rule(self.name, "must be on or off", f"{self.name}={value}", f"Try {self.default}.")
            )
        return self._check_number(value)

    def _check_text(self, value: object, domain: Text) -> str:
        if not isinstance(value, str) or len(value) > domain.longest:
            found = f"{len(value):,} characters" if isinstance(value, str) else f"{self.name}={value}"
            rule = f"must be a text of at most {domain.longest:,} characters"
            raise SettingError(broken_rule(self.name, rule, found, "Shorten it."))
        if domain.check is not None:
            domain.check(value)
        return value

    def _check_number(self, value: object) -> Value:
        assert isinstance(self.domain, Range)
        whole = self.kind is int
        unit = f" {self.domain.unit}" if self.domain.unit else ""
        rule = f"must be a {'whole ' if whole else ''}number from {self.domain.low:g} to {self.domain.high:g}{unit}"
        way_out = self.default
        if isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value):
            fits = not whole or (math.isfinite(value) and float(value).is_integer())
            if fits and self.domain.low <= value <= self.domain.high:
                return self.kind(value)
            way_out = self.kind(min(max(value, self.domain.low), self.domain.high))
        raise SettingError(broken_rule(self.name, rule, f"{self.name}={value}", f"Try {way_out}."))

    def parse(self, text: str) -> Value:
        """The value that a link's text stands for.

        Raises
        ------
        SettingError
            If the text is not such a value.
        """
        if isinstance(self.domain, Text):
            return self.check(text)
        short = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
        if self.kind is bool:
            return self._parse_switch(short)
        if short != text:
            return self.check(short)
        if self.kind is str:
            return self.check(text)
        try:
            number = int(text) if self.kind is int else float(text)
        except ValueError:
            return self.check(text)
        return self.check(number)

    def _parse_switch(self, text: str) -> bool:
        if text.lower() in SWITCHES:
            return SWITCHES[text.lower()]
        rule = "must be 1 or 0, on or off, true or false, yes or no"
        raise SettingError(broken_rule(self.name, rule, f"{self.name}={text}", f"Try {format_value(self.default)}."))


def format_value(value: Value) -> str:
    """A value as its link form; `Param.parse` reads it back.

    >>> format_value(True), format_value(0.5), format_value(3)
    ('1', '0.5', '3')
    """
    return str(int(value)) if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Entry(Generic[P, R]):
    """A registered function with everything the app shows of it."""

    name: str
    label: str
    group: str
    source: str
    summary: str
    function: Callable[P, R]
    params: tuple[Param, ...]
    unit: str = ""
    formula: str = ""

    def spec(self, **chosen: object) -> Spec:
        """The choice of this entry with these parameters; the others take their defaults.

        Raises
        ------
        SettingError
            If a parameter is unknown, of the wrong kind or outside its range.
        """
        known = {param.name for param in self.params}
        for name in chosen:
            if name not in known:
                raise SettingError(
                    broken_rule(
                        name,
                        f"is not a parameter of {self.label}",
                        f"{name}={chosen[name]}",
                        f"It has {listed(sorted(known)) or 'none'}.",
                    )
                )
        return Spec(
            self.name,
            tuple((param.name, param.check(chosen.get(param.name, param.default))) for param in self.params),
        )


class Registry(Generic[P, R]):
    """Named functions of one kind, in the order of their declared groups."""

    def __init__(self, kind: str, groups: tuple[str, ...]) -> None:
        self.kind = kind
        self.groups = groups
        self._entries: dict[str, Entry[P, R]] = {}

    def register(
        self, *, label: str, group: str, source: str, unit: str = "", formula: str = ""
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorator that adds a function under its own name.

        Parameters
        ----------
        label, group, source
            Words for the menu, one of the registry's groups, and the paper with its section.
        unit, formula
            For measures: the unit of the values and the formula as text.
        """
        if group not in self.groups:
            raise UnknownNameError(f"group {group!r} is not one of the groups of {self.kind}: {listed(self.groups)}.")

        def add(function: Callable[P, R]) -> Callable[P, R]:
            name = function.__name__
            if name in self._entries:
                raise UnknownNameError(f"{self.kind} {name!r} is registered already.")
            summary = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").strip()
            if not summary.endswith("."):
                raise UnknownNameError(f"{self.kind} {name!r} needs a docstring whose first sentence users can read.")
            params = tuple(_read_params(function))
            self._entries[name] = Entry(name, label, group, source, summary, function, params, unit, formula)
            return function

        return add

    def unregister(self, name: str) -> None:
        """Take an entry out again."""
        del self._entries[name]

    def __getitem__(self, name: str) -> Entry[P, R]:
        if name in self._entries:
            return self._entries[name]
        close = meant(str(name), self._entries)
        hint = f"Did you mean {close}?" if close else f"Try {listed(self.names())}."
        raise UnknownNameError(broken_rule(self.kind, "must be a known name", f"{self.kind}={name}", hint))

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[Entry[P, R]]:
        order = {group: i for i, group in enumerate(self.groups)}
        return iter(sorted(self._entries.values(), key=lambda entry: order[entry.group]))

    def __len__(self) -> int:
        return len(self._entries)

    def names(self, group: str | None = None) -> list[str]:
        """Names in menu order, of one group or of all."""
        return [entry.name for entry in self if group in (None, entry.group)]

    def check(self, spec: Spec) -> Spec:
        """The same choice, validated again.

        Raises
        ------
        UnknownNameError
            If no entry has the name.
        SettingError
            If a parameter breaks its rule.
        """
        return self[spec.name].spec(**dict(spec.params))


def _read_params(function: Callable[..., object]) -> Iterator[Param]:
    hints: Mapping[str, Any] = get_type_hints(function, include_extras=True)
    summaries = _read_summaries(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        hint = hints[name]
        kind, domain = (get_args(hint)[0], get_args(hint)[1]) if get_origin(hint) is Annotated else (hint, None)
        yield Param(name, kind, parameter.default, domain, summaries.get(name, ""))


def _read_summaries(function: Callable[..., object]) -> dict[str, str]:
    """What the `Parameters` section of a docstring says of each parameter."""
    _, _, after = (inspect.getdoc(function) or "").partition("\nParameters\n----------\n")
    section = re.split(r"\n\n\w.*\n-{3,}", after)[0]
    found: list[tuple[str, str]] = re.findall(r"^(\w+)\b.*\n((?: +.*\n?)+)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}
