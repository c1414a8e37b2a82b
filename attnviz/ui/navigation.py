"""The menu, and running the page that was chosen from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

from attnviz.ui import session

ROOT = Path(__file__).resolve().parents[2]
ASSETS = Path(__file__).parent / "assets"


@dataclass(frozen=True)
class MenuItem:
    """A page in the menu: the name of its file, which is in links, and its title."""

    name: str
    title: str
    icon: str


MENU = (
    MenuItem("playground", "Playground", ":material/grid_view:"),
    MenuItem("step_by_step", "Step by step", ":material/footprint:"),
    MenuItem("masks", "Masks", ":material/grid_on:"),
    MenuItem("positions", "Positions", ":material/straighten:"),
    MenuItem("heads", "Heads", ":material/compare:"),
)


def menu_pages() -> list[Page]:
    """The pages of the menu, the first of them the default one; made anew in every run."""
    return [
        st.Page(ROOT / "pages" / f"{item.name}.py", title=item.title, icon=item.icon, url_path=item.name, default=first)
        for item, first in zip(MENU, (True, *(False for _ in MENU[1:])), strict=True)
    ]


def prepare() -> Page:
    """Page settings and the list of pages; gives the page that was chosen."""
    st.set_page_config(
        page_title="attnviz", page_icon=str(ASSETS / "icon.png"), layout="wide", initial_sidebar_state=320
    )
    st.html(ASSETS / "page.css")
    return st.navigation(menu_pages(), position="hidden")


def menu(link: Mapping[str, str], current: str) -> None:
    """Links to all pages that carry the scenario along, so that a page switch keeps it and is one step back.

    Notes
    -----
    Streamlit's own menu drops the query of the address.
    """
    for item, target in zip(MENU, menu_pages(), strict=True):
        st.page_link(
            target,
            label=f"**{item.title}**" if item.title == current else item.title,
            icon=item.icon,
            query_params=link,
        )


def link_to(name: str, label: str, link: Mapping[str, str]) -> None:
    """A link to another page, with the scenario."""
    (target,) = (target for item, target in zip(MENU, menu_pages(), strict=True) if item.name == name)
    (icon,) = (item.icon for item in MENU if item.name == name)
    st.page_link(target, label=label, icon=icon, query_params=link)


def run() -> None:
    """Prepare the pages and run the chosen one."""
    chosen = prepare()
    session.say_prepared()
    chosen.run()
