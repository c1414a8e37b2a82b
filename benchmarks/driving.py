"""Starting the apps, driving Chromium and measuring one change at a time."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import psutil
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, sync_playwright

BENCHMARKS = Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
QUIET_MS = 250
QUIET_WARMING_MS = 150
NPM = {"d3": ("d3@5.7.0", "dist/d3.min.js"), "jquery": ("jquery@2.1.0", "dist/jquery.min.js")}
NPM["require"] = ("requirejs@2.3.6", "require.js")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """A running Streamlit app."""

    address: str
    process: psutil.Process

    def cpu_ms(self) -> float:
        times = self.process.cpu_times()
        return 1000 * (times.user + times.system)


@contextmanager
def app(script: str, scripts: str = "") -> Iterator[Server]:
    """Run an app, given by its file below the root, with the product's own settings."""
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}", "--server.headless=true"]
    environment = {**os.environ, "BENCHMARK_SCRIPTS": scripts}
    with tempfile.TemporaryFile() as log:
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            if not has_started(running, f"http://localhost:{port}/_stcore/health"):
                log.seek(0)
                raise RuntimeError(f"{script} did not start:\n{log.read().decode()}")
            yield Server(f"http://localhost:{port}", psutil.Process(running.pid))
        finally:
            running.terminate()
            running.wait(timeout=30)


def has_started(running: subprocess.Popen[bytes], address: str, patience: float = 60) -> bool:
    deadline = time.monotonic() + patience
    while running.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(address, timeout=2):
            return True
        time.sleep(0.1)
    return False


@contextmanager
def peer_scripts() -> Iterator[str]:
    """Address of a server with the scripts that the peers' pages load from elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (package, path) in NPM.items():
            packed = subprocess.run(
                ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
            )
            archive = packed.stdout.split()[-1]
            shutil.unpack_archive(Path(folder, archive), Path(folder, name), filter="data")
            shutil.copy(Path(folder, name, "package", path), Path(folder, f"{name}.js"))
        found = find_spec("circuitsvis")
        assert found
        assert found.origin
        shutil.copy(Path(found.origin).with_name("dist") / "cdn" / "iife.js", Path(folder, "circuitsvis.js"))
        server = ThreadingHTTPServer(("localhost", 0), partial(_Files, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


class _Files(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        self.send_header("Cache-Control", "public, max-age=3600")
        super().end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def chromium() -> Iterator[Browser]:
    path = os.environ.get("ATTNVIZ_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        with suppress(Exception):
            browser.close()


def chromium_processes() -> list[psutil.Process]:
    """All processes of the Chromium that this process has started."""
    family = psutil.Process().children(recursive=True)
    return [process for process in family if "chrom" in _name(process)]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def chromium_cpu_ms() -> dict[int, float]:
    """CPU of each process of this Chromium."""
    found: dict[int, float] = {}
    for process in chromium_processes():
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            found[process.pid] = 1000 * (times.user + times.system)
    return found


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """End this Chromium where a picture takes longer: a page whose main thread is busy cannot be asked to stop."""
    timer = threading.Timer(seconds, lambda: [process.kill() for process in chromium_processes()])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass
class Tab:
    """An open page with a slider."""

    page: Page
    server: Server
    cdp: CDPSession
    received: list[int] = field(default_factory=list)

    def close(self) -> None:
        self.page.context.close()

    def main_thread_ms(self) -> float:
        metrics = self.cdp.send("Performance.getMetrics")["metrics"]
        return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def change(self, key: str, quiet: float) -> float:
        """Press a key on the slider; gives the milliseconds until the changed picture was painted."""
        self.page.evaluate("quiet => bench.change(quiet)", quiet)
        self.page.keyboard.press(key)
        return float(self.page.evaluate("() => bench.done"))


def new_context(browser: Browser, height: int = 900) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1440, "height": height})
    context.add_init_script(path=BENCHMARKS / "hook.js")
    return context


def open_tab(
    browser: Browser, server: Server, query: str, *, text: str = "", height: int = 900, control: str = "Sharpness"
) -> Tab:
    """Open a page, wait until it has settled, and focus a control; changes of the element `text` count as pictures."""
    page = new_context(browser, height).new_page()
    page.set_default_timeout(120_000)
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab = Tab(page, server, cdp)
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: tab.received.append(len(frame))))
    page.goto(f"{server.address}/{query}")
    slider = page.locator(f"input[aria-label^={control}]").first
    slider.wait_for()
    if text:
        page.evaluate("selector => bench.watchText(selector)", text)
    else:
        page.wait_for_function("() => bench.painted")
    page.wait_for_timeout(1000)
    slider.focus()
    return tab


@dataclass(frozen=True)
class Sample:
    """A block of changes: each change's times, and what the block cost in all."""

    painted_ms: list[float]
    main_thread_ms: list[float]
    chromium_ms: float
    server_ms: float
    received: int


def warm(tab: Tab, keys: Iterator[str], changes: int, seconds: float) -> None:
    """Changes before the measured ones: plotly.js is compiled only after about twenty."""
    deadline = time.monotonic() + seconds
    for _ in range(changes):
        if time.monotonic() > deadline:
            return
        tab.change(next(keys), QUIET_WARMING_MS)


def measure(tab: Tab, keys: Iterator[str], changes: int, seconds: float) -> Sample:
    """Up to so many changes, at least one, and no more once the time is over."""
    painted: list[float] = []
    main_thread: list[float] = []
    tab.received.clear()
    server, before_all = tab.server.cpu_ms(), chromium_cpu_ms()
    deadline = time.monotonic() + seconds
    while len(painted) < changes and (not painted or time.monotonic() < deadline):
        before = tab.main_thread_ms()
        painted.append(tab.change(next(keys), QUIET_MS))
        main_thread.append(tab.main_thread_ms() - before)
    server = tab.server.cpu_ms() - server
    browser = sum(now - before_all.get(pid, 0) for pid, now in chromium_cpu_ms().items())
    return Sample(painted, main_thread, browser, server, sum(tab.received))


def first_visit(browser: Browser, address: str, selector: str) -> tuple[float, float]:
    """Milliseconds until what matches is painted in a browser that has never been there, and main-thread CPU."""
    context = new_context(browser)
    page = context.new_page()
    cdp = context.new_cdp_session(page)
    cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.wait_for_timeout(1500)  # The new window's own drawing would be in the way.
    page.goto(address, wait_until="commit")
    painted = float(page.evaluate("selector => bench.first(selector)", selector))
    metrics = cdp.send("Performance.getMetrics")["metrics"]
    cpu = 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
    context.close()
    return painted, cpu
