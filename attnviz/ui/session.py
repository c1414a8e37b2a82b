"""Widgets, scenario and link kept the same: the only module that touches the session's state and the address bar.

A page is drawn as a whole, or its lens alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import streamlit as st
from streamlit.errors import StreamlitAPIException

from attnviz.link import Changed, from_query, too_far
from attnviz.registry import Value
from attnviz.scenario import Scenario
from attnviz.ui.widgets import KEPT, REFUSED, shown_by, widget_values

PUBLISHED = "attnviz.published"
VIEWS = "attnviz.views"
PAGE = "attnviz.page"
PREPARED = "attnviz.prepared"
ARRIVED = "attnviz.arrived"
IGNORED = "attnviz.ignored"
WHOLE = "attnviz.whole"
FRAME = ("input", "d_model", "n_heads", "mask", "sparsity", "padding", "position", "weights")
"""Fields whose controls are in the frame: a change of one draws the whole page, of any other its lens alone."""


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
    state[WHOLE] = True
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
    _carry_over(is_anew=switched)


def _carry_over(*, is_anew: bool = False) -> None:
    state = st.session_state
    for key, value in (state.get(KEPT, {}) | state.get(VIEWS, {})).items():
        if is_anew:
            # Else Streamlit keeps it as the value of the other page's widget, which one drawn later here has not.
            state[key] = state.pop(key, value)
        elif key not in state:
            state[key] = value


def is_whole() -> bool:
    """Whether the whole page is drawn in this run, not its lens alone; asked once a run."""
    return bool(st.session_state.pop(WHOLE, False))


def ignored() -> list[str]:
    """A sentence for each part of the link just arrived at that is not on screen; told once."""
    st.session_state.pop(ARRIVED, None)
    return st.session_state.pop(IGNORED, [])


def show(scenario: Scenario) -> None:
    """Set every widget to this scenario."""
    st.session_state[KEPT] = dict(widget_values(scenario))
    st.session_state.update(st.session_state[KEPT])


def settle() -> Scenario:
    """The scenario that the widgets show, and the widgets brought in line with it before they are drawn."""
    made = scenario()
    for key, value in widget_values(made):
        if key not in st.session_state or (st.session_state[key] != value and refused(key) is None):
            st.session_state[key] = value
    return made


def settle_lens() -> Scenario:
    """What `settle` gives, for the controls of the lens; where one of the frame has to follow, all is drawn anew."""
    _carry_over()
    kept = dict(widget_values(scenario()))
    if any(st.session_state.get(field, kept[field]) != kept[field] for field in FRAME):
        st.rerun()
    return settle()


def scenario() -> Scenario:
    """The scenario that the widgets show."""
    return shown_by(st.session_state)


def refused(key: str) -> str | None:
    """Why what is typed into this control is not used; None where it is used."""
    return st.session_state.get(REFUSED, {}).get(key)


def publish(shown: Scenario, *, is_whole: bool) -> None:
    """Write the scenario into the address bar, if it is not there already, and keep what has no widget on the page."""
    link = shown.to_query()
    if link != st.query_params.to_dict():
        st.query_params.from_dict(link)
    st.session_state[PUBLISHED] = link
    before, now = st.session_state.get(KEPT, {}), dict(widget_values(shown))
    for key in set(before) - set(now):  # parameters of an entry that was left
        st.session_state.pop(key, None)
    st.session_state[KEPT] = now
    if not is_whole:
        return
    for key, value in now.items():
        with suppress(StreamlitAPIException):  # a widget that was drawn in this run keeps its own value
            st.session_state[key] = value


def keep_within(field: str, count: int) -> int:
    """The value of an index field, lowered where there are only `count` of what it counts."""
    asked = int(st.session_state.get(field, 0))
    value = min(asked, count - 1)
    use_instead(field, value, too_far(field, asked, value))
    return value


def use_instead(field: str, value: Value, sentence: Changed) -> None:
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


def change(**changes: Value) -> None:
    """Set widgets to values; what shows them is not drawn anew by that."""
    st.session_state.update(changes)


def setter(**changes: Value) -> Callable[[], None]:
    """A callback that sets widgets to values."""

    def take() -> None:
        change(**changes)
        if set(changes) & set(FRAME):
            st.rerun()

    return take


def reset() -> None:
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


def clicked_column(key: str) -> str | None:
    """Name of the column whose heading was clicked in the table with this key."""
    columns = (st.session_state.get(key) or {}).get("selection", {}).get("columns", [])
    return columns[0] if columns else None


def follow_choices(key: str, chosen: Sequence[int]) -> None:
    """Set a control of several choices to these, where it shows others or is another page's; called before it."""
    state, known = st.session_state, f"attnviz.choices.{key}"
    if sorted(choices(key)) != sorted(chosen) or state.get(known) != state[PAGE]:
        state[key] = list(chosen)
    state[known] = state[PAGE]


def choices(key: str) -> list[int]:
    """What is chosen in a control of several choices."""
    return list(st.session_state.get(key) or [])


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
        change(**_clicked(key))

    return take


def head_setter(key: str, n_heads: int) -> Callable[[], None]:
    """A callback that takes layer (row) and head (column) of the cell clicked in the live figure with this key."""

    def take() -> None:
        cell = clicked_cell(key)
        if cell is not None and cell[1] < n_heads:
            change(layer=cell[0], head=cell[1])

    return take


def row_setter(key: str, choices: Sequence[Mapping[str, Value]]) -> Callable[[], None]:
    """A callback that sets widgets to what stands for the row, or point, clicked in the live figure with this key."""

    def take() -> None:
        row = clicked_map(key)
        if row is not None and row < len(choices):
            change(**choices[row])

    return take
