"""A server started afresh and a real Chromium."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 30_000
# On a page below the root Streamlit's own client first asks there for the server, and is told that it is not there.
PROBE = re.compile(r"/[^/]+/_stcore/(health|host-config)$")


def start_server(port: int) -> subprocess.Popen[bytes]:
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", "--server.headless=true"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=2):
                return server
        except OSError:
            if time.monotonic() > deadline:
                server.kill()
                raise
            time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def fresh_server() -> Iterator[str]:
    """Address of a server that nobody has visited yet."""
    port = free_port()
    server = start_server(port)
    yield f"http://localhost:{port}"
    server.terminate()
    server.wait(timeout=20)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Address of a server that all other tests share."""
    port = free_port()
    running = start_server(port)
    yield f"http://localhost:{port}"
    running.terminate()
    running.wait(timeout=20)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = os.environ.get("ATTNVIZ_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens an address and waits for the first picture; at the end no page may have had an error in its console."""
    errors: list[str] = []
    contexts = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not PROBE.search(message.location["url"]):
            errors.append(f"{message.text} {message.location['url']}")

    def go(
        url: str, *, width: int = 1440, height: int = 900, dark: bool = False, waits: bool = True, calm: bool = True
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if calm:
            page.on("console", note)
            page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        if waits:
            settled(page)
        return page

    yield go
    for context in contexts:
        context.close()
    assert errors == []


def settled(page: Page) -> None:
    """Wait until a picture is drawn, the script has stopped running and Plotly has taken over what was painted."""
    page.locator("[data-drawn]").first.wait_for()
    page.wait_for_function(
        """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === 'notRunning'
        && !document.querySelector('[data-stale="true"], .av-ahead')"""
    )


def drawn_again(page: Page, name: str, before: int) -> None:
    """Wait until Plotly has drawn the figure with this name more often than before."""
    page.wait_for_function(
        """([name, before]) => Number(
            document.querySelector(`[data-figure='${name}'] .av-plot`).dataset.drawn) > before""",
        arg=[name, before],
    )


def drawn(page: Page, name: str) -> int:
    """How often the figure with this name has been drawn."""
    return int(page.locator(f"[data-figure='{name}'] .av-plot").get_attribute("data-drawn") or 0)
