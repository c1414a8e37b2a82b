"""Widgets, scenario and link kept the same: the only module that touches the session's state and the address bar.

A widget's key is the field name of the scenario it sets (`mask`), or field and parameter (`sparsity.window`). Only
plain strings, numbers and booleans live in the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from attnviz.errors import AttnvizError
from attnviz.link import from_query, too_far
from attnviz.menu import Menu
from attnviz.registry import Param, Spec, Text, Value
from attnviz.scenario import DOMAINS, PARAMS, Scenario, adapted

PUBLISHED = "attnviz.published"
KEPT = "attnviz.kept"
VIEWS = "attnviz.views"
PAGE = "attnviz.page"
PREPARED = "attnviz.prepared"
ARRIVED = "attnviz.arrived"
IGNORED = "attnviz.ignored"
REFUSED = "attnviz.refused"


def say_prepared() -> None:
    """Leave word for the page's frame that `app.py` has run before it."""
    st.session_state[PREPARED] = True


def is_prepared() -> bool:
    """Whether `app.py` has run before the page in this run; asked once a run."""
    return bool(st.session_state.pop(PREPARED, False))


def arrive(page: str, *, alone: bool = False) -> None:
    """Bring the state of this run in line with the link.

    Notes
    -----
    A link other than the one last published is an arrival (or back, or forward) and sets every widget. On a page
    switch, and between a run of the page `alone` and one through `app.py`, Streamlit makes new widgets, so the values
    of the old ones are carried over. No other value is set here: a widget that is set by the script costs the browser
    several times as much.
    """
    state = st.session_state
    link = st.query_params.to_dict()
    published = state.get(PUBLISHED)
    here = f"{page} alone" if alone else page
    switched = state.get(PAGE) not in (None, here)
    state[PAGE] = here
    if published is None or (link != published and not (switched and not link)):
        scenario, state[IGNORED] = from_query(link)
        show(scenario)
        state[PUBLISHED] = link
        state[ARRIVED] = list(link)
        return
    for key, value in (state.get(KEPT, {}) | state.get(VIEWS, {})).items():
        if switched or key not in state:
            state[key] = state.get(key, value)


def ignored() -> list[str]:
    """A sentence for each part of the link just arrived at that is not on screen; told once."""
    st.session_state.pop(ARRIVED, None)
    return st.session_state.pop(IGNORED, [])


def show(scenario: Scenario) -> None:
    """Set every widget to this scenario."""
    st.session_state[KEPT] = dict(_widget_values(scenario))
    st.session_state.update(st.session_state[KEPT])


def _widget_values(scenario: Scenario) -> Iterator[tuple[str, Value]]:
    for item in fields(scenario):
        value = getattr(scenario, item.name)
        if isinstance(value, Spec):
            yield item.name, value.name
            yield from ((f"{item.name}.{param}", chosen) for param, chosen in value.params)
        else:
            yield item.name, value


def settle() -> Scenario:
    """The scenario that the widgets show, and the widgets brought in line with it before they are drawn."""
    made = scenario()
    for key, value in _widget_values(made):
        if key not in st.session_state or (st.session_state[key] != value and refused(key) is None):
            st.session_state[key] = value
    return made


def scenario() -> Scenario:
    """The scenario that the widgets show.

    Notes
    -----
    A value that its field refuses (a width typed too large, say) leaves that field at its default, and a text at the
    last one that meant something. The number of heads is lowered where a new width needs it, head, query and key
    where a new setting has fewer.
    """
    chosen: dict[str, Any] = {}
    for name, domain in DOMAINS.items():
        chosen[name] = _spec(name, domain) if isinstance(domain, Menu) else _value(name)
    return adapted(Scenario(), **chosen)


def _value(name: str) -> Value:
    value = st.session_state.get(name, getattr(Scenario, name))
    if name not in PARAMS:
        return value
    if PARAMS[name].domain is None and PARAMS[name].kind is str:
        domain = DOMAINS[name]
        return str(value or "")[: getattr(domain, "longest", None)]
    try:
        return PARAMS[name].check(value)
    except AttnvizError:
        return PARAMS[name].default


def _spec(name: str, menu: Menu) -> Spec:
    usual: Spec = getattr(Scenario(), name)
    entry_name = st.session_state.get(name, usual.name)
    entry = menu.registry[entry_name if entry_name in menu.names() else usual.name]
    chosen: dict[str, Value] = {}
    for param in entry.params:
        if isinstance(param.domain, Text):
            chosen[param.name] = _text(f"{name}.{param.name}", param)
            continue
        try:
            chosen[param.name] = param.check(_carried(name, menu, entry.name, param))
        except AttnvizError:
            chosen[param.name] = param.default
    return entry.spec(**chosen)


def _carried(name: str, menu: Menu, entry: str, param: Param) -> Value:
    """The value of a parameter's widget; from one entry to another only what was changed there is carried."""
    value = st.session_state.get(f"{name}.{param.name}", param.default)
    left = st.session_state.get(KEPT, {}).get(name, entry)
    if left == entry or left not in menu.names():
        return value
    was_usual = any(other.name == param.name and other.default == value for other in menu.registry[left].params)
    return param.default if was_usual else value


def _text(key: str, param: Param) -> Value:
    """What is typed, or the last text that meant something; what is wrong with it is kept for its control."""
    state = st.session_state
    problems: dict[str, str] = state.setdefault(REFUSED, {})
    problems.pop(key, None)
    for text in (state.get(key, param.default), state.get(KEPT, {}).get(key)):
        try:
            return param.check(text)
        except AttnvizError as error:
            problems.setdefault(key, str(error))
    return param.default


def refused(key: str) -> str | None:
    """Why what is typed into this control is not used; None where it is used."""
    return st.session_state.get(REFUSED, {}).get(key)


def publish(shown: Scenario) -> None:
    """Write the scenario into the address bar, if it is not there already."""
    link = shown.to_query()
    if link != st.query_params.to_dict():
        st.query_params.from_dict(link)
    st.session_state[PUBLISHED] = link
    before, now = st.session_state.get(KEPT, {}), dict(_widget_values(shown))
    for key in set(before) - set(now):  # parameters of an entry that was left
        st.session_state.pop(key, None)
    st.session_state[KEPT] = now
    for key, value in now.items():
        with suppress(StreamlitAPIException):  # a widget that was drawn in this run keeps its own value
            st.session_state[key] = value


def keep_within(field: str, count: int) -> int:
    """The value of an index field, lowered where there are only `count` of what it counts."""
    asked = int(st.session_state.get(field, 0))
    value = min(asked, count - 1)
    use_instead(field, value, too_far(field, asked, value))
    return value


def use_instead(field: str, value: Value, sentence: str) -> None:
    """Set a field to the value that is shown for it; where its own came with the link, the sentence is told."""
    state = st.session_state
    if state.get(field) != value:
        state[field] = value
        if field in state.get(ARRIVED, []):
            state[IGNORED].append(sentence)


def zoomed(key: str, n_rows: int, n_columns: int) -> tuple[float, float, float, float] | None:
    """Rows and columns (top, bottom, left, right) that the live figure with this key is zoomed to.

    Notes
    -----
    None where it shows the whole of a map of this size; a window of another size is an earlier picture's.
    """
    window = (st.session_state.get(key) or {}).get("window")
    if not isinstance(window, list) or len(window) != 6 or window[4:] != [n_rows, n_columns]:
        return None
    if not all(isinstance(side, int | float) and -1e6 < side < 1e6 for side in window):
        return None
    top, bottom, left, right = (float(side) for side in window[:4])
    return top, bottom, left, right


def fitting_maps(key: str) -> int:
    """How many maps of the usual size fit side by side into the live figure with this key; 8 until it has told."""
    fit = (st.session_state.get(key) or {}).get("fit")
    return min(max(fit, 2), 16) if isinstance(fit, int) else 8


def follow_labels(key: str, labels: Sequence[str]) -> None:
    """Set an index widget anew where its options have other names than in the last run.

    Notes
    -----
    With the same index and as many options the browser would go on showing the old name.
    """
    known = f"attnviz.labels.{key}"
    digest = hash(tuple(labels))
    if st.session_state.get(known) not in (None, digest):
        st.session_state[key] = st.session_state[key]
    st.session_state[known] = digest


def setter(**changes: Value) -> Callable[[], None]:
    """A callback that sets fields to values."""
    return lambda: st.session_state.update(changes)


def resetter() -> None:
    """Back to the default scenario."""
    show(Scenario())


def clicked_cell(key: str) -> tuple[int, int] | None:
    """Query and key of the cell that was clicked in the live figure with this key."""
    clicked = _clicked(key)
    return (clicked["query"], clicked["key"]) if {"query", "key"} <= set(clicked) else None


def clicked_map(key: str) -> int | None:
    """Place of the map that was clicked in the live figure with this key."""
    return _clicked(key).get("head")


def _clicked(key: str) -> dict[str, int]:
    """Head, query and key of the last click in a live figure, as far as it has them."""
    found = (st.session_state.get(key) or {}).get("click")
    told = found if isinstance(found, Mapping) else {}
    places = {field: told.get(field) for field in ("head", "query", "key")}
    return {field: place for field, place in places.items() if type(place) is int and place >= 0}


def view(key: str, default: Value) -> Value:
    """What a control of the page alone, which is no part of the scenario, shows."""
    return st.session_state.get(key, default)


def keep_view(key: str, default: Value) -> Value:
    """What `view` gives, kept over a page switch; called before the control, which is given no value of its own."""
    kept: dict[str, Value] = st.session_state.setdefault(VIEWS, {})
    kept[key] = st.session_state.setdefault(key, kept.get(key, default))
    return kept[key]


def earlier(name: str) -> list[str]:
    """Texts that were remembered under this name, the latest last."""
    return list(st.session_state.get(f"attnviz.earlier.{name}", []))


def remember(name: str, texts: Sequence[str]) -> None:
    """Keep texts under this name, the latest 100 of them."""
    st.session_state[f"attnviz.earlier.{name}"] = list(texts)[-100:]


def click_setter(key: str) -> Callable[[], None]:
    """A callback that takes the head, query or key clicked in the live figure with this key."""

    def take() -> None:
        st.session_state.update(_clicked(key))

    return take
