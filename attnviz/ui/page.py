"""The frame of a page: settings, menu, title, and the lens; and the one place where a broken rule is shown."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from attnviz.errors import AttnvizError, NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui import compute, controls, navigation, sentences, session
from attnviz.ui.controls import Slots
from attnviz.ui.show import marked

Lens = Callable[[Scenario], None]


def page(title: str, *, question: str) -> Callable[[Lens], None]:
    """Show a page: the decorated function is its lens, which draws what the scenario looks like on this page.

    Notes
    -----
    A page may be run without `app.py` (the first deep link after a server's start is); the frame then prepares the
    pages itself. After a change of what the lens holds it is drawn anew by itself, unless that takes so long that a
    further change should end it: Streamlit lets a fragment run to its end.
    """

    def show(lens: Lens) -> None:
        alone = not session.is_prepared()
        if alone:
            navigation.prepare()
        session.arrive(title, alone=alone)
        scenario = session.settle()
        slots = controls.frame(scenario)
        draw = _lens if compute.is_long(scenario) else st.fragment(_lens)
        draw(title, question, lens, slots)

    return show


def _lens(title: str, question: str, lens: Lens, slots: Slots) -> None:
    """The controls that leave the frame as it is, the menu, whose links hold the scenario, and what the lens draws.

    Notes
    -----
    A broken rule is shown as its sentence, with the settings and the menu kept. What of a link is ignored is known, and
    told, at the end of the run: how many tokens a model makes of a text, only the model tells.
    """
    is_whole = session.is_whole()
    scenario = session.settle_lens()
    if compute.is_long(scenario) and not is_whole:
        st.rerun()
    controls.values(scenario, slots)
    menu = st.container(horizontal=True, gap="small", key="menu")
    st.markdown(f"# {title}\n{question}")
    try:
        lens(scenario)
    except NothingYetError as nothing:
        st.info(marked(str(nothing)))
    except AttnvizError as error:
        st.error(marked(str(error)))
    finally:
        shown = session.scenario()
        with menu:
            navigation.menu(shown.to_query(), title)
    ignored = session.ignored()
    if ignored:
        st.toast(sentences.ignored(ignored), duration="infinite")
    session.publish(shown, is_whole=is_whole)
