"""The frame of a page follows what is chosen in it and in the lens; `browser/test_lens.py` has what is sent."""

from __future__ import annotations

import pytest

from attnviz.ui import controls
from tests.ui.conftest import Opener, ran


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The masks with which the frame was drawn, one for each time."""
    drawn: list[str] = []
    frame = controls.frame

    def counted(scenario: controls.Scenario) -> controls.Slots:
        drawn.append(scenario.mask.name)
        return frame(scenario)

    monkeypatch.setattr(controls, "frame", counted)
    return drawn


def test_a_choice_that_others_depend_on_draws_the_whole_page(open_app: Opener, frames: list[str]) -> None:
    app = open_app()

    ran(app.selectbox(key="mask").select("causal").run())

    assert frames[-1] == "causal"
    assert app.selectbox(key="mask.align").value == "bottom-right"


def test_a_control_of_the_frame_follows_a_button_of_the_lens(open_app: Opener, frames: list[str]) -> None:
    app = open_app(page="masks")
    (button,) = (one for one in app.button if one.label == "Type a rule")

    ran(button.click().run())

    assert frames[-1] == "rule"
    assert app.selectbox(key="mask").value == "rule"
