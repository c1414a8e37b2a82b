"""The chosen head less another one, or less itself under another setting."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from attnviz.errors import AttnvizError
from attnviz.figures import alike_words, difference_map
from attnviz.figures.head_names import head_name
from attnviz.figures.pattern import MOST_SIDE, fitting_window, is_exact
from attnviz.link import from_query
from attnviz.metrics.difference import ONE_SIDED, Side, difference_part, moved
from attnviz.numbers import counted
from attnviz.picks import HeadAt
from attnviz.scenario import MAX_CHARACTERS, Scenario
from attnviz.ui import compute, kept_setting, session, show
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words
from attnviz.ui.show import marked

DEFAULT_LINK = "seed=0"
NEAREST = -1


@dataclass(frozen=True)
class Other:
    """What the chosen head is compared with, what the two are called, and the setting that was kept, in words too."""

    side: Side
    names: tuple[str, str]
    setting: str = ""
    apart: str = ""


def difference(scenario: Scenario, shown: Shown, head: int, near: HeadAt | None) -> None:
    """Where the chosen head gives more, and less, than another head, or than under the setting that was kept.

    Parameters
    ----------
    scenario, shown, head
        What is on screen.
    near
        The head that is most like the chosen one; None where there is no other.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom", key="difference_tools"):
        if not scenario.beside and near is not None:
            _pickers(shown, near)
        _buttons(scenario)
    try:
        other = _setting_beside(scenario, head, shown) if scenario.beside else _head_beside(scenario, shown, head, near)
    except AttnvizError as error:
        st.info(marked(f"The kept setting cannot be shown: {error}"))
        return
    if isinstance(other, str):
        st.info(marked(other))
        return
    _picture(scenario, shown, head, other)


def _pickers(shown: Shown, near: HeadAt) -> None:
    """Layer and head of the other head; of the head the first choice is whichever is most like the chosen one."""
    if shown.count > 1 and session.scenario().other != NEAREST:
        session.keep_within("other_layer", shown.count)
        st.selectbox("Other layer", range(shown.count), key="other_layer")
    n_heads = shown.layer.trace.n_heads
    session.keep_within("other", n_heads)
    names = [f"Most alike ({head_name(near, shown.count)})", *map(str, range(n_heads))]
    session.follow_labels("other", names)
    st.selectbox(
        "Compare with head",
        range(NEAREST, n_heads),
        key="other",
        format_func=dict(zip(range(NEAREST, n_heads), names, strict=True)).__getitem__,
        help="What the picture takes away from the chosen head.",
    )


def _buttons(scenario: Scenario) -> None:
    if scenario.beside:
        st.button("Compare with a head instead", on_click=session.setter(beside=""))
    link = urlencode({name: value for name, value in scenario.to_query().items() if name != "beside"}) or DEFAULT_LINK
    is_too_long = len(link) > MAX_CHARACTERS
    st.button(
        "Keep this setting for comparison",
        on_click=session.setter(beside=link),
        disabled=is_too_long,
        help="This setting is too long to be kept; shorten the text."
        if is_too_long
        else "Then change any control: the picture shows what that changes in the chosen head.",
    )


def _head_beside(scenario: Scenario, shown: Shown, head: int, near: HeadAt | None) -> Other | str:
    if near is None:
        return "There is no other head to compare with: choose more heads, or keep this setting and change another one."
    n_heads = shown.layer.trace.n_heads
    layer = min(scenario.other_layer, shown.count - 1)
    at = near if scenario.other == NEAREST else HeadAt(layer, min(scenario.other, n_heads - 1))
    names = (head_name(HeadAt(shown.index, head), shown.count), head_name(at, shown.count))
    side = Side(shown.run.layers[at.layer].trace, at.head)
    return Other(side, (f"head {names[0]}", f"head {names[1]}"))


def _setting_beside(scenario: Scenario, head: int, shown: Shown) -> Other | str:
    kept, _ = from_query(dict(parse_qsl(scenario.beside, keep_blank_values=True)))
    beside = compute.shown_layer(kept)
    trace, now = beside.run.layers[min(shown.index, beside.count - 1)].trace, shown.layer.trace
    sizes = [f"{counted(one.n_q, 'query', 'queries')} and {counted(one.n_k, 'key')}" for one in (trace, now)]
    if sizes[0] != sizes[1]:
        return f"The kept setting has {sizes[0]}, this one {sizes[1]}: only maps of one size have a difference."
    if head >= trace.n_heads:
        return f"The kept setting has {counted(trace.n_heads, 'head')}, so there is no head {head} to compare with."
    names = (f"head {head} now", f"head {head} in the kept setting")
    return Other(Side(trace, head), names, scenario.beside, kept_setting.apart(kept, scenario))


def _picture(scenario: Scenario, shown: Shown, head: int, other: Other) -> None:
    layer = shown.layer
    trace, first = layer.trace, Side(layer.trace, head)
    window = fitting_window(session.zoomed("difference", trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    name = ("difference", head, other.setting, *other.names)
    found = layer.kept.once(name, lambda: moved(first, other.side))
    part = layer.kept.once((*name, window), lambda: difference_part(first, other.side, window, MOST_SIDE))
    one, two = other.names
    answer = alike_words.difference_answer(found, trace, other.names)
    masks = (
        " Pairs that one of the two may not attend to have a colour of their own, and no difference."
        if (part == ONE_SIDED).any()
        else ""
    )
    pooled = "" if is_exact(window) else " Each cell is the difference of its block that is largest in size; zoom in."
    show.figure(
        difference_map(
            first,
            part,
            window,
            query=min(scenario.query, trace.n_q - 1),
            key=min(scenario.key, trace.n_k - 1),
            largest=abs(found.difference),
            names=other.names,
        ),
        key="difference",
        words=Words(
            f"What does {one} do differently than in the kept setting?"
            if other.setting
            else f"What does {one} do differently from {two}?",
            f"{other.apart} {answer}".strip(),
            f"difference = weight of {one} − weight of {two}; without colour where they give the same.{masks} "
            "On other keys: half of Σ |difference| of a row, the mean over the queries (total variation distance)."
            f"{pooled}",
            alike_words.difference_alt(found, other.names),
        ),
        on_click=session.click_setter("difference"),
    )
