"""What is sent to the live figure: decoded, it is the figure."""

from __future__ import annotations

import json
import struct

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from attnviz import AttentionTrace
from attnviz.figures import attention_heatmap, head_grid
from attnviz.figures.theme import DARK_FOR_LIGHT, LIGHT, SINGLE_HUE, figure
from attnviz.metrics import overview, survey
from attnviz.registries import MASKS
from attnviz.ui import live
from attnviz.ui.live import MOST_EXACT, Words, encoded
from tests.figures.traces import NASTY, random_trace, sentence_trace
from tests.ui.drawn import decoded

WORDS = Words("Where?", "“<b>” & $x$ 🙂 שלום", "caption\nof two lines", "alt")


def heatmap(z: np.ndarray, low: float = 0.0, high: float = 1.0) -> go.Figure:
    return figure([{"type": "heatmap", "z": z, "zmin": low, "zmax": high}], {"height": 300})


def pattern(trace: AttentionTrace, scale: str = SINGLE_HUE) -> go.Figure:
    return attention_heatmap(trace, survey(trace), head=0, role="", query=0, key=0, scale=scale, top=1.0)


def sent(picture: go.Figure):
    return decoded(encoded(picture, "name", WORDS))


def test_the_block_is_the_length_of_the_header_the_header_and_the_arrays() -> None:
    block = encoded(heatmap(np.array([[1, 2]], dtype=np.float32)), "name", WORDS)

    (length,) = struct.unpack("<I", block[:4])
    header = json.loads(block[4 : 4 + length])
    assert header["figure"]["data"][0]["z"] == {"$array": {"at": 0, "type": "f4", "shape": [1, 2]}}
    assert block[4 + length :] == struct.pack("<2f", 1, 2)


def test_the_words_around_a_picture_arrive_as_they_are() -> None:
    header = sent(heatmap(np.zeros((1, 1)))).header

    assert (header["name"], header["quantised"]) == ("name", False)
    assert Words(header["title"], header["answer"], header["caption"], header["alt"]) == WORDS
    assert header["dark"] == DARK_FOR_LIGHT


values = st.floats(0, 1, width=32) | st.just(float("nan"))


@given(arrays.arrays(np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=values))
def test_a_small_map_arrives_bit_for_bit(z: np.ndarray) -> None:
    found = sent(heatmap(z)).trace()["z"]

    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, z)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.uint8])
def test_arrays_of_any_kind_and_length_arrive_where_they_belong(dtype: type) -> None:
    lines = [
        {"type": "scatter", "x": np.arange(n, dtype=dtype), "y": np.arange(n, dtype=np.float32) / 3}
        for n in (1, 3, 8, 5)
    ]

    found = sent(figure(lines, {})).figure["data"]

    for line, back in zip(lines, found, strict=True):
        np.testing.assert_array_equal(back["x"], line["x"])
        np.testing.assert_array_equal(back["y"], line["y"])


@pytest.mark.parametrize(("cells", "exact"), [(MOST_EXACT, True), (MOST_EXACT + 256, False)])
def test_a_map_is_exact_up_to_a_number_of_cells_and_within_one_level_beyond(cells: int, exact: bool) -> None:
    z = np.random.default_rng(0).random((256, cells // 256)).astype(np.float32)
    z[3, 5:40] = np.nan
    z[0, :2] = 0, 1

    back = sent(heatmap(z, -0.25, 1.0))

    found = back.trace()["z"]
    assert back.header["quantised"] is not exact
    np.testing.assert_array_equal(np.isnan(found), np.isnan(z))
    if exact:
        np.testing.assert_array_equal(found, z)
    else:
        np.testing.assert_allclose(found, z, rtol=0, atol=0.5 * 1.25 / 254 + 1e-7)


def test_values_outside_the_scale_are_sent_as_its_ends() -> None:
    z = np.full((257, MOST_EXACT // 256), 0.5, dtype=np.float32)
    z[0, :2] = -7, 7

    found = sent(heatmap(z)).trace()["z"]

    assert found[0, :2].tolist() == [0, 1]


def test_only_heatmaps_are_sent_in_levels() -> None:
    x = np.linspace(0, 5, MOST_EXACT + 1)

    found = sent(figure([{"type": "scatter", "x": x, "y": x}], {}))

    np.testing.assert_array_equal(found.trace()["x"], x)


@pytest.mark.parametrize("shared_scale", [True, False])
def test_in_a_grid_sent_in_levels_weights_of_0_stay_weights_and_forbidden_cells_stay_forbidden(
    shared_scale: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_EXACT", 1 << 10)
    n = 64
    mask = np.tril(np.ones((n, n), dtype=bool))
    trace = random_trace(16, n, mask)
    small = overview(trace)
    picture = head_grid(trace, small, ("",) * 16, selected=0, scale=SINGLE_HUE, shared_scale=shared_scale)
    before = np.asarray(picture.data[0].z)

    back = sent(picture)

    found, lowest = back.trace()["z"], back.figure["layout"]["meta"]["cells"]["lowest"]
    assert back.header["quantised"]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(before))
    forbidden = before < 0
    assert forbidden.any()
    assert (found[forbidden] < lowest - 1e-9).all()
    weights = ~forbidden & ~np.isnan(before)
    assert (found[weights] >= lowest - 1e-9).all(), "the browser calls everything below it forbidden"
    np.testing.assert_allclose(found[weights], before[weights], rtol=0, atol=0.003)


def test_a_head_of_the_largest_exact_size_is_not_sent_in_levels() -> None:
    picture = pattern(random_trace(1, 256))

    back = sent(picture)

    assert not back.header["quantised"]
    np.testing.assert_array_equal(back.trace()["z"], picture.data[0].z)


def test_nasty_tokens_arrive_as_they_are_shown() -> None:
    picture = pattern(sentence_trace(NASTY, MASKS["causal"].spec()), "viridis")

    layout = sent(picture).figure["layout"]

    assert layout["xaxis"]["ticktext"] == list(picture.layout.xaxis.ticktext)
    assert layout["meta"]["cells"]["rows"] == list(picture.layout.meta["cells"]["rows"])


def test_colours_are_sent_in_the_light_palette_with_what_replaces_them() -> None:
    back = sent(pattern(random_trace(1, 4)))

    colours = [colour for _, colour in back.trace()["colorscale"]]
    assert colours == list(LIGHT.weights)
    assert set(colours) <= set(back.header["dark"])


def test_a_number_that_json_cannot_hold_is_never_sent() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encoded(figure([], {"height": float("nan")}), "name", WORDS)
