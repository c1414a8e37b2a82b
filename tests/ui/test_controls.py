"""Every control of the sidebar says what it does."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.menu import Menu
from attnviz.registries import MASKS, POSITIONS
from attnviz.scenario import DOMAINS
from tests.ui.conftest import Opener, ran, unfolded

IN_THE_SIDEBAR = ("mask", "sparsity", "padding", "position")
CHOICES = [
    (field, entry)
    for field, domain in DOMAINS.items()
    if field in IN_THE_SIDEBAR and isinstance(domain, Menu)
    for entry in domain.names()
]


def helps(app: AppTest) -> dict[str, str]:
    """What the help of each control of the sidebar says."""
    side = app.sidebar
    controls = (*side.selectbox, *side.number_input, *side.slider, *side.toggle, *side.text_area, *side.text_input)
    return {str(control.key): control.help or "" for control in (*controls, *side.get("button_group"))}


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("sentence", {"text", "weights", "seed", "n_heads"}),
        ("vectors", {"n_tokens", "weights", "seed", "n_heads"}),
        ("trained", {"text", "layer", "fixed.Heads", "fixed.d_model", "fixed.Positions"}),
    ],
)
def test_every_control_has_a_help_of_whole_sentences(kind: str, own: set[str], open_page: Opener) -> None:
    said = helps(unfolded(open_page("heads", {"input": kind})))

    assert {"input", "mask", "sharpness", "scale", "shared_scale", *own} <= set(said)
    assert [key for key, words in said.items() if not (words[:1].isupper() and words.endswith("."))] == []


@pytest.mark.parametrize("field", IN_THE_SIDEBAR)
def test_a_parameter_is_explained_where_it_is_set(field: str, open_page: Opener) -> None:
    app = open_page("heads", {"text": "to be or not"})

    for name, entry in CHOICES:
        if name != field:
            continue
        said = helps(ran(app.selectbox(key=field).select(entry).run()))
        registry = POSITIONS if field == "position" else MASKS
        assert {key: words for key, words in said.items() if key.startswith(f"{field}.")} == {
            f"{field}.{param.name}": param.summary for param in registry[entry].params
        }
