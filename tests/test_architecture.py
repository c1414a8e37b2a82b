"""Rules of the tree that no single module can keep by itself."""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import attnviz
from attnviz.registry import Choice, Entry, Param, Range, Text
from attnviz.ui.navigation import MENU
from tests.strategies import REGISTRIES

ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "attnviz").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
WRITTEN = [
    path
    for folder in ("attnviz", "pages", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".js", ".css", ".md", ".toml")
]
ENTRIES = [
    pytest.param(entry, id=f"{kind} {entry.name}") for kind, registry in REGISTRIES.items() for entry in registry
]
every_entry = pytest.mark.parametrize("entry", ENTRIES)
every_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported_by(path: Path) -> set[str]:
    """Top-level packages that a file imports."""
    names: set[str] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_import_contracts_hold() -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-cache",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 broken" in run.stdout


def registering_modules() -> Iterator[Path]:
    for path in PACKAGE:
        decorators = [
            decorator
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.FunctionDef)
            for decorator in node.decorator_list
        ]
        if any(isinstance(d, ast.Call) and ast.unparse(d.func).endswith(".register") for d in decorators):
            yield path


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """Every module that `import attnviz` loads."""
    command = [sys.executable, "-c", "import sys, attnviz; print(*sys.modules)"]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_imports_every_module_that_registers_something(loaded: set[str]) -> None:
    registering = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in registering_modules()}

    assert {"attnviz.masks.structural", "attnviz.metrics.patterns"} <= registering <= loaded


def test_every_registry_has_entries_in_each_of_its_groups() -> None:
    for kind, registry in REGISTRIES.items():
        for group in registry.groups:
            assert registry.names(group), f"{kind}: {group}"


@every_entry
def test_an_entry_says_in_one_sentence_what_it_is_and_where_it_is_from(entry: Entry[..., object]) -> None:
    assert entry.label.strip() == entry.label != ""
    assert re.search(r"\b(19|20)\d\d\b", entry.source), "authors and year"
    assert entry.summary.endswith(".")
    assert entry.summary[0].isupper()
    assert len(entry.summary) <= 200
    assert re.fullmatch(r"[a-z][a-z0-9_]*", entry.name), "the name is in links"


@every_entry
def test_every_parameter_of_an_entry_declares_its_range_and_its_default_is_inside(entry: Entry[..., object]) -> None:
    for param in entry.params:
        assert_declared(param)
    assert entry.spec().name == entry.name


def assert_declared(param: Param) -> None:
    assert param.kind in (int, float, str, bool)
    if param.kind is bool:
        return
    assert isinstance(param.domain, Range | Choice | Text), param.name
    assert type(param.check(param.default)) is param.kind
    if isinstance(param.domain, Range):
        assert math.isfinite(param.domain.low)
        assert param.domain.low < param.domain.high < math.inf


@pytest.mark.parametrize("kind", ["metric", "spectrum", "similarity"])
def test_every_measure_has_its_formula(kind: str) -> None:
    for entry in REGISTRIES[kind]:
        assert entry.formula, entry.name


def test_no_file_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "tools", "shared", "lib"}

    assert [relative(path) for path in (*PACKAGE, *PAGES, *TESTS) if path.stem in drawers] == []


@every_page
def test_a_page_is_layout_only(path: Path) -> None:
    tree, text = tree_of(path), path.read_text(encoding="utf-8")

    kinds = (ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While, ast.comprehension)
    assert [node for node in ast.walk(tree) if isinstance(node, kinds)] == []
    (lens,) = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    assert lens.name == path.stem
    assert len(text.splitlines()) <= 60
    assert imported_by(path) <= {"__future__", "attnviz", "streamlit"}
    assert ["page(" in ast.unparse(decorator) for decorator in lens.decorator_list] == [True]


def test_every_page_is_in_the_menu_and_in_no_subfolder() -> None:
    assert {item.name for item in MENU} == {path.stem for path in PAGES}
    assert [relative(path) for path in (ROOT / "pages").rglob("*.py") if path.parent != ROOT / "pages"] == []


def test_the_app_only_runs_the_navigation() -> None:
    assert len(tree_of(ROOT / "app.py").body) == 2


def test_only_the_user_interface_imports_streamlit() -> None:
    found = [relative(path) for path in PACKAGE if "streamlit" in imported_by(path)]

    assert found
    assert all(name.startswith("attnviz/ui/") for name in found)


def test_only_the_session_module_touches_the_sessions_state_and_the_address() -> None:
    found = {
        relative(path)
        for path in (*PACKAGE, *PAGES, ROOT / "app.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in ("session_state", "query_params")
    }

    assert found == {"attnviz/ui/session.py"}


def test_cached_functions_stand_in_the_one_caching_boundary_and_never_pickle() -> None:
    found = {
        (relative(path), node.attr)
        for path in PACKAGE
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr in ("cache_resource", "cache_data")
    }

    assert {name for _, name in found} == {"cache_resource"}
    assert {path for path, _ in found} <= {"attnviz/ui/compute.py", "attnviz/ui/live.py"}


def test_importing_the_package_loads_nothing_that_draws_or_trains(loaded: set[str]) -> None:
    assert not {"streamlit", "plotly", "pandas", "torch"} & loaded


def test_no_work_is_left_as_a_note() -> None:
    note = re.compile("|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")))

    assert [relative(path) for path in WRITTEN if note.search(path.read_text(encoding="utf-8"))] == []


def test_every_module_of_the_package_says_what_it_is_for() -> None:
    assert [relative(path) for path in PACKAGE if not ast.get_docstring(tree_of(path))] == []


def test_every_public_name_can_be_imported() -> None:
    for name in attnviz.__all__:
        assert hasattr(attnviz, name), name


def test_no_module_grows_past_300_lines_without_splitting() -> None:
    assert [relative(path) for path in PACKAGE if len(path.read_text(encoding="utf-8").splitlines()) > 300] == []


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in TESTS}

    assert [relative(folder) for folder in folders if not (folder / "__init__.py").exists()] == []
