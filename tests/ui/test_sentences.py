"""The sentence on screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attnviz.numbers import THIN_SPACE
from attnviz.scenario import Scenario
from attnviz.ui import compute, sentences
from attnviz.ui.layer import Run


@pytest.mark.parametrize(("seconds", "said"), [(0.0042, "4.2 ms"), (1.234, "1.2 s")])
def test_the_time_is_said_in_a_unit_that_fits_it(seconds: float, said: str) -> None:
    shown = compute.shown_layer(Scenario())

    timed = replace(shown, run=Run((replace(shown.layer, trace_seconds=seconds),)))
    sentence = sentences.setting(Scenario(), timed)

    assert sentence.endswith(f"FLOP, {said.replace(' ', THIN_SPACE)}.")


ALONE = "One token can only attend to itself, so heads cannot be told apart by where they look."


@pytest.mark.parametrize(
    ("scenario", "is_said"),
    [
        (Scenario(text="cat", query=0), True),
        (Scenario(input="vectors", n_tokens=1, query=0), True),
        (Scenario(text="cat sat", query=0), False),
        (Scenario(text="cat", query=0, sinks=True), False),
        (Scenario(text="cat sat", query=0, cross=True, key_text="dog"), False),
    ],
    ids=str,
)
def test_one_token_alone_is_said_to_tell_nothing_of_its_heads(scenario: Scenario, is_said: bool) -> None:
    assert (ALONE in sentences.setting(scenario, compute.shown_layer(scenario))) == is_said
