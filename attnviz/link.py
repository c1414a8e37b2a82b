"""From a link back to the scenario that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from attnviz.core.config import check_groups, check_heads
from attnviz.errors import AttnvizError, SettingError, broken_rule
from attnviz.menu import Menu, shortened
from attnviz.registry import Range, Spec, Text
from attnviz.scenario import DOMAINS, PARAMS, Scenario, fitting_heads, past_the_last


class Changed(str):
    """A sentence about a part of a link that another value took the place of; a plain one is of an ignored part."""

    __slots__ = ()


def too_far(field: str, asked: int, last: int) -> Changed:
    """Sentence for a link that asks for a layer, head, query or key past the last one.

    >>> too_far("head", 99, 7)
    '`head` must be a whole number from 0 to 7; got head=99. Shown with head=7.'
    """
    domain = DOMAINS.get(field)
    first = int(domain.low) if isinstance(domain, Range) else 0
    rule = f"must be a whole number from {first} to {last}"
    return Changed(broken_rule(field, rule, f"{field}={asked}", f"Shown with {field}={last}."))


def from_query(query: Mapping[str, str]) -> tuple[Scenario, list[str]]:
    """The scenario of a link, and a sentence for each part of it that was ignored or changed.

    Never raises: a bad part leaves its field at the default, or at the nearest value that fits the other parts.

    >>> from_query({"n_heads": "3", "d_model": "32"})[1]
    ['`n_heads` must divide `d_model`; got n_heads=3, d_model=32. Try 1, 2, 4, 8, 16 or 32. Shown with n_heads=2.']
    """
    problems: list[str] = []
    chosen: dict[str, Any] = {}
    left = dict(query)
    for name, domain in DOMAINS.items():
        text = left.pop(name, None)
        params = {key.split(".", 1)[1]: left.pop(key) for key in list(left) if key.startswith(f"{name}.")}
        if not isinstance(domain, Menu):
            problems += [f"`{name}` has no parameter {shortened(param)!r}." for param in params]
        try:
            if isinstance(domain, Menu) and (text is not None or params):
                usual: Spec = getattr(Scenario(), name)
                chosen[name], wrong = domain.parse(usual.name if text is None else text, params)
                problems += [_named(name, error) for error in wrong]
            elif text is not None:
                if isinstance(domain, Text) and len(text) > domain.longest:
                    used = f"only the first {domain.longest:,} are shown"
                    problems.append(Changed(f"`{name}` has {len(text):,} characters; {used}."))
                chosen[name] = domain.checked(text) if isinstance(domain, Text) else PARAMS[name].parse(text)
        except AttnvizError as error:
            problems.append(_named(name, error))
    problems += [f"`{shortened(name)}` is not a setting." for name in left]
    problems += _fit_heads(chosen)
    problems += [type(problem)(f"`beside`: {problem}") for problem in _problems_beside(chosen.get("beside", ""))]
    asked = Scenario(**chosen)
    lowered = past_the_last(asked)
    problems += [too_far(name, chosen[name], used) for name, used in lowered.items() if name in chosen]
    return replace(asked, **lowered), problems


def _problems_beside(link: str) -> list[str]:
    """A sentence for each part of the setting to compare with that is ignored; none of a setting beside that one."""
    asked = {name: text for name, text in parse_qsl(link, keep_blank_values=True) if name != "beside"}
    return from_query(asked)[1] if asked else []


def _named(name: str, error: AttnvizError) -> str:
    sentence = str(error)
    return sentence if f"`{name}`" in sentence else f"`{name}`: {sentence}"


def _fit_heads(chosen: dict[str, Any]) -> Iterator[str]:
    """Lower the heads, and the key/value heads, to counts that divide; gives a sentence for each that was asked for."""
    wanted = {name: chosen.get(name, getattr(Scenario, name)) for name in ("d_model", "n_heads", "n_kv_heads")}
    fitting = fitting_heads(wanted)
    for name, number in fitting.items():
        if number == wanted[name]:
            continue
        try:
            if name == "n_heads":
                check_heads(wanted[name], wanted["d_model"])
            else:
                check_groups(fitting["n_heads"], wanted[name])
        except SettingError as error:
            if name in chosen:
                yield Changed(f"{error} Shown with {name}={number}.")
        chosen[name] = number
