"""Every page with every registry entry, in the app and alone."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.menu import Menu
from attnviz.metrics import SURVEYED, measure_label
from attnviz.registries import MASKS, METRICS, POSITIONS
from attnviz.registry import Annotated, Range
from attnviz.scenario import DEFAULT_TEXT, DOMAINS, Scenario
from attnviz.shapes import KIndex, Mask, QIndex
from attnviz.ui import live
from attnviz.ui.navigation import MENU
from tests.ui.conftest import PAGES, Opener, errors, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows

ON_ONE_PAGE = {"compared", "measure", "similarity"}
MENUS = [name for name, domain in DOMAINS.items() if isinstance(domain, Menu) and name not in ON_ONE_PAGE]
every_page = pytest.mark.parametrize("page_name", PAGES)


@every_page
def test_a_page_runs_alone_and_again(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name)
    first = app.main.markdown[0].value

    ran(app.run())

    assert app.main.markdown[0].value == first
    assert first.startswith("# ")
    assert errors(app) == []
    assert link_of(app) == {}


@every_page
@pytest.mark.parametrize("cold", [False, True], ids=["warm", "cold"])
def test_a_deep_link_opens_its_page_with_its_settings(
    page_name: str, cold: bool, open_app: Opener, open_page: Opener
) -> None:
    link = {"text": "to be or not to be", "n_heads": "4", "mask": "causal", "mask.align": "top-left"}

    app = open_app(link, page=page_name, cold=cold)

    assert app.main.markdown[0].value == open_page(page_name).main.markdown[0].value
    assert link_of(app) == link
    assert app.selectbox(key="n_heads").value == 4
    assert app.selectbox(key="mask.align").value == "top-left"


@every_page
@pytest.mark.parametrize("menu", MENUS)
def test_a_page_runs_with_every_entry_of_a_menu_which_changes_the_link(
    page_name: str, menu: str, open_page: Opener
) -> None:
    domain = DOMAINS[menu]
    assert isinstance(domain, Menu)
    app = open_page(page_name)

    for name in [*domain.names()[1:], domain.names()[0]]:
        ran(app.selectbox(key=menu).select(name).run())

        assert errors(app) == []
        assert link_of(app).get(menu, _usual(menu)) == name
        assert {key.partition(".")[0] for key in link_of(app)} <= {menu}
        for param in domain.registry[name].params:
            assert _control(app, f"{menu}.{param.name}").value == param.default


def _usual(menu: str) -> str:
    return getattr(Scenario(), menu).name


def _control(app: AppTest, key: str):
    controls = (*app.slider, *app.selectbox, *app.number_input, *app.toggle, *app.text_input)
    return next(control for control in controls if control.key == key)


@every_page
def test_a_page_runs_with_every_input_and_both_kinds_of_weights(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name)

    for field, value, link in (
        ("weights", "random", {"weights": "random"}),
        ("input", "vectors", {"input": "vectors", "weights": "random"}),
        ("weights", "designed", {"input": "vectors"}),
        ("input", "sentence", {}),
    ):
        _choose(app, field, value)
        assert errors(app) == []
        assert link_of(app) == link
        assert f"over {32 if 'input' in link else 11} tokens" in sentences(app)


def _choose(app: AppTest, key: str, value: str) -> None:
    """Press one of a row of buttons."""
    buttons = next(group for group in app.get("button_group") if group.key == key)
    ran(buttons.set_value(value).run())


@pytest.mark.model
@every_page
def test_a_page_runs_with_the_trained_model_and_each_of_its_layers(page_name: str, open_page: Opener) -> None:
    app = open_page(page_name, {"input": "trained"})
    assert errors(app) == []
    assert "12 heads of 32 dimensions over 13 tokens" in sentences(app)

    ran(app.slider(key="layer").set_value(5).run())

    assert "Layer 5 of all-MiniLM-L6-v2" in sentences(app)
    assert link_of(app) == {"input": "trained", "layer": "5"}


@every_page
def test_without_the_models_files_a_page_says_how_to_get_them_and_keeps_its_settings(
    page_name: str, open_page: Opener, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setenv("ATTNVIZ_MINILM", str(tmp_path))

    app = open_page(page_name, {"input": "trained"})

    assert len(errors(app)) == 1
    assert errors(app)[0].startswith("`ATTNVIZ_MINILM` must name a folder with model.safetensors")
    assert app.selectbox(key="mask").value == "full"


@every_page
def test_a_mask_registered_anywhere_is_in_the_menu_with_its_slider_on_the_page_and_in_the_link(
    page_name: str, open_page: Opener
) -> None:
    @MASKS.register(label="Every so many", group="Sparsity", source="this test")
    def every_so_many(q: QIndex, k: KIndex, *, stride: Annotated[int, Range(1, 9, unit="tokens")] = 2) -> Mask:
        """A query may attend to every `stride`-th key."""
        return (q - k) % stride == 0

    try:
        app = open_page(page_name)
        menu = app.selectbox(key="sparsity")
        assert "Every so many" in menu.options
        ran(menu.select("every_so_many").run())

        slider = app.slider(key="sparsity.stride")
        assert (slider.label, slider.min, slider.max, slider.value) == ("Stride (tokens)", 1, 9, 2)
        ran(slider.set_value(3).run())

        assert errors(app) == []
        assert link_of(app) == {"sparsity": "every_so_many", "sparsity.stride": "3"}
        assert "every so many" in sentences(app)
        again = open_page(page_name, link_of(app))
        assert again.slider(key="sparsity.stride").value == 3
        if "grid" in pictures(again):
            _assert_strided(np.asarray(pictures(again)["pattern"].trace()["z"]), 3)
    finally:
        MASKS.unregister("every_so_many")


def _assert_strided(z: np.ndarray, stride: int) -> None:
    q, k = np.indices(z.shape)
    np.testing.assert_array_equal(z < 0, (q - k) % stride != 0)


@every_page
def test_where_the_component_cannot_be_served_a_page_shows_plain_charts(
    page_name: str, open_page: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_pictures = pictures(open_page(page_name))
    monkeypatch.setattr(live, "is_available", lambda: False)

    app = open_page(page_name, {"text": "<b>x</b> $y$ *z*", "mask": "causal"})

    assert errors(app) == []
    assert pictures(app) == {}
    assert len(app.get("plotly_chart")) == len(live_pictures)
    assert all(chart.proto.alt for chart in app.get("plotly_chart"))
    for sent in live_pictures.values():
        if not sent.header["title"].startswith(("Which keys", "What does")):
            assert sent.header["title"] in sentences(app)


@every_page
def test_every_live_figure_has_a_question_an_answer_a_caption_and_an_alt_text(
    page_name: str, open_page: Opener
) -> None:
    found = pictures(open_page(page_name))

    for name, sent in found.items():
        assert sent.header["title"].endswith("?"), name
        assert all(sent.header[words].endswith(".") for words in ("answer", "caption", "alt")), name


def test_the_playground_shows_the_weights_of_the_chosen_head_and_cell(open_app: Opener) -> None:
    app = open_app({"mask": "causal", "head": "1", "query": "3", "key": "2"})

    found = pictures(app)

    assert list(found) == ["grid", "pattern", "query_row", "redundancy", "distance"]
    assert found["pattern"].header["title"] == "Which keys does head 1 (previous token) look at?"
    z = found["pattern"].trace()["z"]
    np.testing.assert_array_equal(z < 0, np.triu(np.ones((11, 11), dtype=bool), k=1))
    np.testing.assert_allclose(np.where(z < 0, 0, z).sum(axis=1), 1, atol=1e-6)
    assert found["query_row"].header["title"] == "What does query 3 “on” look at?"
    assert found["query_row"].header["answer"].startswith("It gives 0.99")
    np.testing.assert_allclose(found["query_row"].trace()["x"], np.where(z[3] < 0, 0, z[3]), atol=1e-7)


def test_a_long_input_is_pooled_in_the_grid_and_that_is_said(open_app: Opener) -> None:
    app = open_app({"input": "vectors", "n_tokens": "300", "d_model": "16", "n_heads": "2"})

    found = pictures(app)

    assert "Each cell is the largest of 3 × 3 weights." in found["grid"].header["caption"]
    assert "zoom in to at most 256 tokens for every weight" in found["pattern"].header["caption"]
    assert found["pattern"].trace()["z"].shape == (150, 150)
    assert max(len(sent.figure["layout"]["yaxis"].get("tickvals") or ()) for sent in found.values()) <= 40


def test_of_many_heads_the_grid_says_which_are_shown(open_app: Opener) -> None:
    app = open_app({"text": "a b c", "d_model": "128", "n_heads": "128", "head": "70"})

    grid = pictures(app)["grid"]

    assert "Heads 64 to 127 of 128 are shown." in grid.header["caption"]
    assert grid.figure["layout"]["meta"]["cells"]["heads"] == list(range(64, 128))


def test_the_table_of_heads_has_every_measure_beside_its_baseline(open_app: Opener) -> None:
    headings, *rows = table_rows(open_app({"mask": "causal", "head": "2"}))

    for metric in map(METRICS.__getitem__, SURVEYED):
        label = measure_label(metric.spec())
        place = headings.index(f"{label} ({metric.unit})" if metric.unit else label)
        assert headings[place + 1] == "uniform"
    assert [row[0] for row in rows] == [str(head) for head in range(8)]
    assert [row[1] for row in rows[:2]] == ["same word", "previous token"]
    uniform = next(row for row in rows if row[1] == "uniform")
    entropy, distance = headings.index("Entropy (bits)"), headings.index("Mean distance (tokens)")
    assert uniform[entropy] == uniform[entropy + 1] == "2.30"
    assert uniform[distance] == uniform[distance + 1] == "2.50"


def test_of_many_heads_the_table_shows_those_of_the_grid_and_the_file_has_all(open_app: Opener) -> None:
    app = open_app({"d_model": "128", "n_heads": "128", "head": "70"})

    assert [row[0] for row in table_rows(app)[1:]] == [str(head) for head in range(64, 128)]
    (body,) = [element.proto.body for element in app.main.get("html") if "<table" in element.proto.body]
    assert "Heads 64 to 127 of 128 are shown; the file has all." in body
    assert body.index("class=av-strong") < body.index("<td>70</td>") < body.index("<td>71</td>")


def test_the_menu_leads_to_every_page_and_takes_the_link_along(open_app: Opener) -> None:
    app = open_app({"n_heads": "4", "text": "a & b c d"})

    links = app.get("page_link")

    assert [link.proto.label for link in links if "Every step" not in link.proto.label] == [
        f"**{item.title}**" if item.name == "playground" else item.title for item in MENU
    ]
    assert {link.proto.query_string for link in links} == {"text=a+%26+b+c+d&n_heads=4"}


def test_the_default_sentence_is_in_the_text_field(open_app: Opener) -> None:
    assert open_app().text_area(key="text").value == DEFAULT_TEXT


@pytest.mark.parametrize("position", POSITIONS.names())
def test_the_sentence_on_screen_names_masks_and_positions(position: str, open_app: Opener) -> None:
    app = open_app({"mask": "causal", "sparsity": "sliding_window", "position": position}, page="heads")

    said = sentences(app)

    assert "causal mask, sliding window" in said
    label = "no" if position == "none" else POSITIONS[position].label
    assert f"{label} positions".casefold() in said.casefold()
