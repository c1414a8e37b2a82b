"""The scenario that widgets show, read from their values; a widget's key is a field's name, or field and parameter.

Only plain strings, numbers and booleans are such values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import fields
from typing import Any

from attnviz.errors import AttnvizError
from attnviz.menu import Menu
from attnviz.registry import Param, Spec, Text, Value
from attnviz.scenario import DOMAINS, PARAMS, Scenario, adapted

KEPT = "attnviz.kept"
REFUSED = "attnviz.refused"
State = MutableMapping[Any, Any]


def widget_values(scenario: Scenario) -> Iterator[tuple[str, Value]]:
    """Each widget's key, with the value that shows this scenario."""
    for item in fields(scenario):
        value = getattr(scenario, item.name)
        if isinstance(value, Spec):
            yield item.name, value.name
            yield from ((f"{item.name}.{param}", chosen) for param, chosen in value.params)
        else:
            yield item.name, value


def shown_by(state: State) -> Scenario:
    """The scenario that the widgets show.

    Notes
    -----
    A value that its field refuses (a width typed too large, say) leaves that field at its default, and a text at the
    last one that meant something. The number of heads is lowered where a new width needs it, head, query and key
    where a new setting has fewer.
    """
    chosen: dict[str, Any] = {}
    for name, domain in DOMAINS.items():
        chosen[name] = _spec(state, name, domain) if isinstance(domain, Menu) else _value(state, name)
    return adapted(Scenario(), **chosen)


def _value(state: State, name: str) -> Value:
    value = state.get(name, getattr(Scenario, name))
    if name not in PARAMS:
        return value
    domain = DOMAINS[name]
    if isinstance(domain, Text):
        return _text(state, name, lambda text: domain.checked(str(text or "")), PARAMS[name].default)
    try:
        return PARAMS[name].check(value)
    except AttnvizError:
        return PARAMS[name].default


def _spec(state: State, name: str, menu: Menu) -> Spec:
    usual: Spec = getattr(Scenario(), name)
    entry_name = state.get(name, usual.name)
    entry = menu.registry[entry_name if entry_name in menu.names() else usual.name]
    chosen: dict[str, Value] = {}
    for param in entry.params:
        if isinstance(param.domain, Text):
            chosen[param.name] = _text(state, f"{name}.{param.name}", param.check, param.default)
            continue
        try:
            chosen[param.name] = param.check(_carried(state, name, menu, entry.name, param))
        except AttnvizError:
            chosen[param.name] = param.default
    return entry.spec(**chosen)


def _carried(state: State, name: str, menu: Menu, entry: str, param: Param) -> Value:
    """The value of a parameter's widget; from one entry to another only what was changed there is carried."""
    value = state.get(f"{name}.{param.name}", param.default)
    left = state.get(KEPT, {}).get(name, entry)
    if left == entry or left not in menu.names():
        return value
    was_usual = any(other.name == param.name and other.default == value for other in menu.registry[left].params)
    return param.default if was_usual else value


def _text(state: State, key: str, check: Callable[[object], Value], default: Value) -> Value:
    """What is typed, or the last text that meant something; what is wrong with it is kept for its control."""
    problems: dict[str, str] = state.setdefault(REFUSED, {})
    problems.pop(key, None)
    for text in (state.get(key, default), state.get(KEPT, {}).get(key)):
        try:
            return check(text)
        except AttnvizError as error:
            problems.setdefault(key, str(error))
    return default
