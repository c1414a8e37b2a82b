"""The frame of a page: menu, title, settings, scenario; and the one place where a broken rule is shown."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import streamlit as st

from attnviz.errors import AttnvizError, NothingYetError
from attnviz.scenario import Scenario
from attnviz.ui import controls, navigation, sentences, session
from attnviz.ui.show import marked


@contextmanager
def page(title: str, *, question: str) -> Generator[Scenario]:
    """Everything around a page's own content; gives the scenario that it is a lens on.

    Notes
    -----
    A page may be run without `app.py` (the first deep link after a server's start is); the frame then prepares the
    pages itself.
    A broken rule is shown as its sentence, with the settings and the menu kept. What of a link is ignored is known, and
    told, at the end of the run: how many tokens a model makes of a text, only the model tells.
    """
    alone = not session.is_prepared()
    if alone:
        navigation.prepare()
    session.arrive(title, alone=alone)
    scenario = session.settle()
    menu = st.container(horizontal=True, gap="small", key="menu")
    controls.sidebar(scenario)
    st.markdown(f"# {title}\n{question}")
    try:
        yield scenario
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
    session.publish(shown)
