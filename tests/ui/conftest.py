"""The app as a person meets it: on a warm server, by a cold deep link, and each page alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html import unescape
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, app_test
from streamlit.util import calc_hash

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))
Opener = Callable[..., AppTest]


class _PagesManager(PagesManager):
    """Takes the reset of the page discovery that AppTest does before each run, and no real server does."""


@pytest.fixture(scope="session", autouse=True)
def installed_components() -> Iterator[None]:
    """All installed packages are looked through for components once, not before every run, which takes half of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch) -> Opener:
    """Opens the app with a link on a server that has run before, or on one that has just been started."""
    monkeypatch.setattr(app_test, "PagesManager", _PagesManager)

    def go(link: Mapping[str, str] | None = None, *, page: str = "", cold: bool = False) -> AppTest:
        monkeypatch.setattr(PagesManager, "uses_pages_directory", None if cold else False)
        app = AppTest.from_file(ROOT / "app.py", default_timeout=30)
        app.query_params.update(link or {})
        if page:
            app._page_hash = calc_hash(page)
        return ran(app.run())

    return go


@pytest.fixture
def open_page() -> Opener:
    """Opens one page's file by itself."""

    def go(page: str, link: Mapping[str, str] | None = None) -> AppTest:
        app = AppTest.from_file(ROOT / "pages" / f"{page}.py", default_timeout=30)
        app.query_params.update(link or {})
        return ran(app.run())

    return go


def ran(app: AppTest) -> AppTest:
    """The app, after its run ended without an exception."""
    assert [exception.message for exception in app.exception] == []
    return app


def unfolded(app: AppTest, group: str = "view") -> AppTest:
    """The app, with a folded group of controls opened."""
    app.session_state[group] = True
    return ran(app.run())


def link_of(app: AppTest) -> dict[str, str]:
    """What is in the address bar."""
    return {key: "".join(value) for key, value in app.query_params.items()}


def errors(app: AppTest) -> list[str]:
    """The sentences of broken rules on the page."""
    return [unescape(error.value) for error in app.error]


def hints(app: AppTest) -> list[str]:
    """What a page that has nothing to show yet says instead."""
    return [unescape(info.value) for info in app.info]


def toasts(app: AppTest) -> list[str]:
    """The toasts of the page."""
    return [unescape(toast.value) for toast in app.toast]
