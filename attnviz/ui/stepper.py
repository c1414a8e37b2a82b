"""From stage to stage of the arithmetic: by name, one on, one back, or by themselves once started."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.errors import broken_rule, offered
from attnviz.link import Changed
from attnviz.scenario import STAGES, Scenario
from attnviz.steps import Focus, labels_of
from attnviz.ui import session

SECONDS = 4
PLAYING = "playing"


def chosen_stage(scenario: Scenario, focus: Focus) -> str:
    """The stage on screen, with the controls that lead to the others.

    Notes
    -----
    A stage that the setting does not have (a soft cap where there is none) is shown as the one after it.
    """
    labels = labels_of(focus)
    names = list(labels)
    place = names.index(nearest(scenario.stage, names))
    rule = f"must be one of {offered(names)} in this setting"
    way_out = f"Shown with stage={names[place]}."
    told = Changed(broken_rule("stage", rule, f"stage={scenario.stage}", way_out))
    session.use_instead("stage", names[place], told)
    numbered = {name: f"{number} {labels[name]}" for number, name in enumerate(names, start=1)}
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="stages"):
        _step("Previous", place - 1, names)
        _step("Next", place + 1, names)
        st.toggle("Play", key=PLAYING, help=f"Goes to the next stage every {SECONDS} seconds, up to the last one.")
        st.pills(
            "Stage",
            names,
            key="stage",
            format_func=numbered.__getitem__,
            required=True,
            label_visibility="collapsed",
        )
    if session.view(PLAYING, False):
        _play(names, place)
    return names[place]


def nearest(wanted: str, names: Sequence[str]) -> str:
    """The wanted stage, or the first one after it that there is.

    >>> nearest("cap", ["scale", "mask", "output"])
    'mask'
    """
    return next(name for name in STAGES[STAGES.index(wanted) :] if name in names)


def _step(label: str, place: int, names: Sequence[str]) -> None:
    inside = 0 <= place < len(names)
    st.button(label, on_click=session.setter(stage=names[place]) if inside else None, disabled=not inside)


def _play(names: Sequence[str], place: int) -> None:
    is_started = [False]

    @st.fragment(run_every=SECONDS)
    def tick() -> None:
        if not is_started[0]:
            is_started[0] = True
            return
        is_last = place + 1 >= len(names) - 1
        session.change(stage=names[min(place + 1, len(names) - 1)], **({PLAYING: False} if is_last else {}))
        st.rerun()

    tick()
