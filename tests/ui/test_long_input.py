"""Inputs so long that no map is held as a whole."""

import numpy as np
import pytest

from attnviz import AttentionConfig, attend
from attnviz.core.text import numbered
from attnviz.metrics import survey
from attnviz.registries import MASKS
from attnviz.scenario import Scenario
from attnviz.ui import compute, progress
from tests.ui.conftest import Opener, ran
from tests.ui.drawn import pictures, table_rows

LONG = {"input": "vectors", "n_tokens": "2048", "n_heads": "16"}


def test_a_change_of_mask_at_2048_tokens_is_answered_without_a_full_map(open_app: Opener) -> None:
    app = open_app(LONG)
    before = pictures(app)["grid"].trace()["z"]

    ran(app.selectbox(key="mask").set_value("causal").run())

    again = pictures(app)
    assert not np.array_equal(again["grid"].trace()["z"], before, equal_nan=True)
    assert sum(len(element.proto.bytes) for element in app.get("bidi_component")) < 2_000_000
    assert np.shape(again["pattern"].trace()["z"]) == (256, 256)
    layer = compute.shown_layer(Scenario(input="vectors", n_tokens=2048, n_heads=16, mask=MASKS["causal"].spec())).layer
    assert layer.trace.kept is None
    assert not {"weights", "attention", "mask", "scores"} & set(vars(layer.trace))


def test_the_numbers_of_a_long_input_are_those_of_its_whole_maps(open_page: Opener) -> None:
    app = open_page("playground", {"input": "vectors", "n_tokens": "1500", "n_heads": "2", "weights": "random"})

    trace = attend(
        AttentionConfig(
            numbered("x", 1500),
            content="vectors",
            n_heads=2,
            projections="random",
            masks=tuple(MASKS[name].spec() for name in ("full", "dense", "no_padding")),
        )
    )
    weights = trace.weights.astype(np.float64)
    bits = -(weights * np.log2(weights)).sum(axis=-1).mean(axis=-1)
    headings, *rows = table_rows(app)
    column = headings.index("Entropy (bits)")
    assert [float(row[column]) for row in rows] == pytest.approx(bits.tolist(), rel=5e-3)


def test_labels_of_many_vectors_travel_as_a_letter_and_a_count(open_app: Opener) -> None:
    cells = pictures(open_app({"input": "vectors", "n_tokens": "513"}))["pattern"].figure["layout"]["meta"]["cells"]
    assert cells["rows"] == cells["columns"] == {"letter": "x", "count": 513}

    cells = pictures(open_app({"input": "vectors", "n_tokens": "512"}))["pattern"].figure["layout"]["meta"]["cells"]
    assert cells["rows"] == [f"x{place}" for place in range(512)]


def test_looking_through_a_layer_that_is_stopped_can_be_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = attend(AttentionConfig(numbered("x", 1500), content="vectors", n_heads=2))
    layer = compute.Layer(trace, ("", ""), 0.0)

    def stop(share: float) -> None:
        assert 0 < share < 1
        raise InterruptedError

    monkeypatch.setattr("attnviz.core.rows.USUAL_CELLS", 1 << 16)
    with pytest.raises(InterruptedError):
        layer.survey(stop)
    assert layer.seconds == 0.0

    np.testing.assert_array_equal(layer.survey().received, survey(trace).received)
    assert layer.seconds > 0


def test_a_bar_tells_how_far_a_long_layer_is(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = compute.Layer(attend(AttentionConfig(numbered("x", 1500), content="vectors", n_heads=2)), ("", ""), 0.0)
    said: list[tuple[float, str]] = []

    class Room:
        def progress(self, share: float, text: str) -> None:
            said.append((share, text))

        def empty(self) -> None:
            said.append((1.0, ""))

    monkeypatch.setattr(progress, "LONG", 1)
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    monkeypatch.setattr("attnviz.core.rows.USUAL_CELLS", 1 << 20)
    monkeypatch.setattr(progress.st, "empty", Room)
    progress.survey(layer)

    shares = [share for share, _ in said]
    assert shares == sorted(shares)
    assert said[0][1].endswith("% of 4\u202f500\u202f000 weights computed. Changing a control stops it.")
    assert said[-1] == (1.0, ""), "the bar is gone when the pictures are there"
