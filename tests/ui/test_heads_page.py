"""The views of the Heads page: one measure of all heads, and what each head does."""

from __future__ import annotations

import pytest

from attnviz.metrics import measure_label
from attnviz.registries import METRICS
from attnviz.scenario import HEADS_VIEWS
from attnviz.ui import head_views
from tests.ui.conftest import Opener, hints, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows

OWN = {
    "removal": {"removal_bars", "pruning_lines"},
    "adaptive": {"gate_map", "gate_costs"},
    "rank": {"singular_values", "ranks_of_heads"},
    "number": {"sweep_directions", "sweep_entropy", "sweep_alike"},
    "alike": {"alike_matrix", "head_map", "difference", "pair_map"},
    "measure": {"measure_of_heads"},
    "roles": {"role_map"},
    "table": set(),
    "layers": {"attention_lines"},
}


def test_every_view_has_a_name_and_pictures_of_its_own() -> None:
    assert set(head_views.VIEWS) == set(HEADS_VIEWS) == set(OWN)


@pytest.mark.parametrize("view", HEADS_VIEWS)
@pytest.mark.parametrize(
    "link", [{}, {"mask": "causal", "text": "one two", "query": "1"}, {"input": "vectors", "n_heads": "64"}]
)
def test_a_view_draws_its_pictures_alone(view: str, link: dict[str, str], open_app: Opener) -> None:
    app = open_app({"heads_view": view, **link}, page="heads")

    is_too_short = view == "roles" and "text" in link
    assert set(pictures(app)) == (set() if is_too_short else OWN[view])
    assert link_of(app) == {key: value for key, value in {**link, "heads_view": view}.items() if value != "alike"}


def test_a_measure_that_no_query_has_is_said_not_to_be_defined(open_app: Opener) -> None:
    app = open_app({"heads_view": "measure", "measure": "distance_in_image"}, page="heads")

    assert pictures(app) == {}
    assert hints(app)[0].startswith("Mean distance in the image is not defined for any query of this input.")


@pytest.mark.parametrize("name", [name for name in METRICS.names() if name != "distance_in_image"])
def test_every_measure_is_shown_with_its_formula_source_and_baseline(name: str, open_app: Opener) -> None:
    entry = METRICS[name]

    app = open_app({"heads_view": "measure", "measure": name, "mask": "causal"}, page="heads")

    header = pictures(app)["measure_of_heads"].header
    assert header["title"] == f"{measure_label(entry.spec())}: which head has how much?"
    for part in (entry.summary, entry.formula, entry.source):
        assert part in header["caption"]
    headings, *rows = table_rows(app)
    label = measure_label(entry.spec())
    value = f"{label} ({entry.unit})" if entry.unit else label
    assert headings == ["Head", "Designed as", value, "uniform", "least", "most"]
    place = [row[1] for row in rows].index("uniform")
    _, _, uniform, means = (trace["x"] for trace in pictures(app)["measure_of_heads"].figure["data"])
    assert means[place] == pytest.approx(uniform[place], abs=1e-6)


def test_another_measure_is_one_choice(open_app: Opener) -> None:
    app = open_app({"heads_view": "measure"}, page="heads")

    ran(app.selectbox(key="measure").select("gini").run())

    assert link_of(app) == {"heads_view": "measure", "measure": "gini"}
    assert "Gini coefficient" in pictures(app)["measure_of_heads"].header["title"]


def test_designed_heads_are_found_to_do_what_they_were_designed_for(open_app: Opener) -> None:
    _, *rows = table_rows(open_app({"heads_view": "roles"}, page="heads"))

    names = ["same word", "previous token", "next token", "sink", "local", "broad", "same word", "previous token"]
    assert [row[1] for row in rows] == names
    assert rows[1][2] == "99.5 % of its attention goes to the token before; a uniform head gives 9.09 %."


@pytest.mark.parametrize(
    ("layer", "head", "role"), [("0", 2, "previous token"), ("2", 7, "sink"), ("2", 9, "sink"), ("5", 11, "one word")]
)
def test_trained_heads_are_named_for_what_they_do(layer: str, head: int, role: str, open_app: Opener) -> None:
    _, *rows = table_rows(open_app({"input": "trained", "layer": layer, "heads_view": "roles"}, page="heads"))

    assert rows[head][1] == role


def test_a_text_that_is_too_short_says_so(open_app: Opener) -> None:
    app = open_app({"text": "to be", "heads_view": "roles"}, page="heads")

    assert "Too short to tell: heads can be told apart from 5 tokens on." in sentences(app)
    assert pictures(app) == {}
    assert not [element for element in app.main.get("html") if "<table" in element.proto.body]
