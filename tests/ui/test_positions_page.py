"""The page about positions: what a method does, how alike places are, shuffled tokens, past the trained length."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.positions import Curve, Positional, PositionShape, Rotation, sinusoidal_table, t5_buckets
from attnviz.registries import POSITIONS
from attnviz.registry import Annotated, Range
from attnviz.scenario import POSITION_VIEWS
from tests.ui.conftest import Opener, errors, link_of, ran
from tests.ui.drawn import Sent, pictures, sentences

ALIBI_8 = [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]
VIEW_PICTURES = {
    "effect": ["position_added", "position_vector", "position_curve_0"],
    "similarity": ["position_pairs", "position_distance"],
    "shuffled": ["position_shuffled"],
    "beyond": ["position_beyond"],
}


def opened(open_app: Opener, view: str = "effect", **link: str) -> AppTest:
    chosen = {"position_view": view} if view != "effect" else {}
    app = open_app({**link, **chosen}, page="positions")
    assert errors(app) == []
    return app


def named(sent: Sent) -> dict[str, dict[str, object]]:
    """The traces of a figure by their names."""
    return {trace["name"]: trace for trace in sent.figure["data"] if "name" in trace}


@pytest.mark.parametrize("view", POSITION_VIEWS)
def test_only_the_chosen_view_is_drawn_and_it_is_in_the_link(view: str, open_app: Opener) -> None:
    app = opened(open_app, view)

    assert sorted(pictures(app)) == sorted(VIEW_PICTURES[view])
    assert link_of(app) == ({} if view == "effect" else {"position_view": view})


def test_a_view_is_chosen_by_its_button(open_app: Opener) -> None:
    app = opened(open_app)

    group = next(group for group in app.get("button_group") if group.key == "position_view")
    ran(group.set_value("similarity").run())

    assert sorted(pictures(app)) == sorted(VIEW_PICTURES["similarity"])
    assert link_of(app) == {"position_view": "similarity"}


def test_the_first_screen_shows_what_is_added_at_64_positions(open_app: Opener) -> None:
    found = pictures(opened(open_app))

    np.testing.assert_allclose(found["position_added"].trace()["z"], sinusoidal_table(np.arange(64), 64), atol=1e-6)
    assert found["position_added"].header["answer"] == (
        "Sinusoidal: each position gets a vector of its own, 5.66 long on average. Neighbours have the cosine 0.966, "
        "positions 32 apart 0.611, on average."
    )
    lengths = 2 * np.pi * 10_000.0 ** (np.arange(32) / 32)
    np.testing.assert_allclose(found["position_curve_0"].trace()["y"], lengths)
    assert found["position_curve_0"].header["answer"] == (
        "From 6.28 (pair of columns 0) to 47\u202f100 tokens (pair of columns 31)."
    )


@pytest.mark.parametrize(("n_tokens", "shown"), [("100", 100), ("300", 128)])
def test_a_longer_text_shows_up_to_128_positions_and_says_so(n_tokens: str, shown: int, open_app: Opener) -> None:
    added = pictures(opened(open_app, input="vectors", n_tokens=n_tokens))["position_added"]

    assert len(added.trace()["z"]) == shown
    assert (f"The first 128 of {n_tokens} positions." in added.header["caption"]) == (n_tokens == "300")


def test_an_odd_width_has_one_more_sine_and_its_numbers_are_on_the_bars(open_app: Opener) -> None:
    found = pictures(opened(open_app, d_model="5", n_heads="1"))

    np.testing.assert_allclose(
        found["position_added"].trace()["z"][1], [0.8414710, 0.5403023, 0.0251162, 0.9996845, 0.0006310], atol=1e-6
    )
    assert found["position_vector"].trace()["text"] == ["0.8415", "0.5403", "0.0251", "0.9997", "0.0006"]


def test_the_position_is_chosen_by_the_slider(open_app: Opener) -> None:
    app = opened(open_app, d_model="4", n_heads="1")

    ran(app.slider(key="place").set_value(2).run())

    vector = pictures(app)["position_vector"]
    assert vector.header["title"] == "What is added at position 2?"
    np.testing.assert_allclose(vector.trace()["y"], [0.9092974, -0.4161468, 0.0199987, 0.9998000], atol=1e-7)


@pytest.mark.parametrize(
    ("layout", "turned", "written"),
    [
        (
            "interleaved",
            [-1.1426397, 1.9220756, 2.9598507, 4.0297995],
            ["−1.1426", "1.9221", "2.9599", "4.0298"],
        ),
        (
            "half-split",
            [-1.9841106, 1.9599007, 2.4623779, 4.0197997],
            ["−1.9841", "1.9599", "2.4624", "4.0198"],
        ),
    ],
)
def test_rotary_turns_1_2_3_4_as_published_and_keeps_its_length(
    layout: str, turned: list[float], written: list[str], open_app: Opener
) -> None:
    link = {"position": "rotary", "position.layout": layout, "d_model": "4", "n_heads": "1"}
    found = pictures(opened(open_app, **link))

    bars = named(found["position_turned"])
    np.testing.assert_array_equal(bars["before"]["y"], [1, 2, 3, 4])
    np.testing.assert_allclose(bars["after"]["y"], turned, atol=1e-7)
    assert bars["after"]["text"] == written
    assert found["position_turned"].header["answer"] == "Turning keeps the length: 5.48 before and after."
    np.testing.assert_allclose(found["position_curve_0"].trace()["y"], [2 * np.pi, 200 * np.pi])
    np.testing.assert_allclose(named(found["position_angles"])["pair 1"]["y"], np.arange(1, 64) / (200 * np.pi))


def test_at_position_0_nothing_turns(open_app: Opener) -> None:
    app = opened(open_app, position="rotary", d_model="4", n_heads="1")

    ran(app.slider(key="place").set_value(0).run())

    np.testing.assert_array_equal(named(pictures(app)["position_turned"])["after"]["y"], [1, 2, 3, 4])


def test_yarn_says_by_how_much_it_makes_a_vector_longer(open_app: Opener) -> None:
    answer = pictures(opened(open_app, position="rotary_yarn"))["position_turned"].header["answer"]

    assert answer == "Its length goes from 14.3 to 16.3: what turns is also multiplied, by up to 1.14."


def test_an_odd_head_dimension_is_refused_in_words_and_the_settings_are_kept(open_app: Opener) -> None:
    app = open_app({"position": "rotary", "d_model": "5", "n_heads": "1"}, page="positions")

    assert len(errors(app)) == 1
    assert errors(app)[0].startswith(
        "`d_model` must give each head an even number of columns for rotary positions, which turn pairs of them; got "
        "n_heads=1, d_model=5 (d_head=5). Try d_model=4 or 6."
    )
    assert app.selectbox(key="position").value == "rotary"


def test_alibi_shows_the_slope_of_each_head_and_the_bias_of_the_chosen_one(open_app: Opener) -> None:
    found = pictures(opened(open_app, position="alibi", head="1"))

    slopes = found["position_curve_0"].trace()
    np.testing.assert_array_equal(slopes["y"], ALIBI_8)
    assert (slopes["text"][0], slopes["text"][7]) == ("0.5", "0.00390625")
    line = named(found["position_bias"])["head 1"]
    np.testing.assert_array_equal(line["y"], -0.25 * np.abs(line["x"]))
    assert found["position_bias"].header["answer"] == (
        "ALiBi: head 1 adds 0 to the score of its own position, −15.8 to that of a key 63 before and −15.8 to one 63 "
        "after."
    )


@pytest.mark.parametrize(
    ("n_heads", "slopes"),
    [("4", [0.25, 0.0625, 0.015625, 0.00390625]), ("1", [0.00390625])],
)
def test_alibi_slopes_follow_the_number_of_heads(n_heads: str, slopes: list[float], open_app: Opener) -> None:
    found = pictures(opened(open_app, position="alibi", n_heads=n_heads))

    np.testing.assert_array_equal(found["position_curve_0"].trace()["y"], slopes)


@pytest.mark.parametrize("direction", ["two-sided", "causal"])
def test_t5_shows_the_bucket_of_each_distance(direction: str, open_app: Opener) -> None:
    found = pictures(opened(open_app, position="t5_bias", **{"position.direction": direction}))

    curve = found["position_curve_0"].trace()
    bucket = dict(zip(np.asarray(curve["x"]).tolist(), np.asarray(curve["y"]).tolist(), strict=True))
    published = (
        {0: 0, -1: 1, -8: 8, -12: 9, -16: 10, -23: 11, -128: 15, 1: 17, 8: 24, 64: 30, 128: 31}
        if direction == "two-sided"
        else {1: 0, -15: 15, -16: 16, -19: 17, -24: 19, -31: 21, -64: 26, -128: 31}
    )
    assert {distance: bucket[distance] for distance in published} == published
    expected = t5_buckets(np.asarray(curve["x"]).astype(int), direction=direction)
    np.testing.assert_array_equal(curve["y"], expected)


def test_without_positions_the_page_says_that_attention_sees_a_set(open_app: Opener) -> None:
    app = opened(open_app, position="none")

    assert pictures(app) == {}
    assert "attention sees a set of tokens" in sentences(app)


def test_two_methods_stand_side_by_side_on_one_scale(open_app: Opener) -> None:
    found = pictures(opened(open_app, "similarity", position="alibi", compared="rotary", d_model="16", n_heads="4"))

    maps = found["position_pairs"].trace()
    assert (maps["zmin"], maps["zmax"]) == (-63 * 0.25, 63 * 0.25)
    lines = named(found["position_distance"])
    assert list(lines) == ["ALiBi", "Rotary (RoPE)"]
    distance = np.arange(-63, 64)
    np.testing.assert_allclose(lines["ALiBi"]["y"], -0.25 * np.abs(distance), atol=1e-12)
    theta = np.array([1, 0.01])
    cosines = np.cos(distance[:, None] * theta).sum(axis=1)
    np.testing.assert_allclose(lines["Rotary (RoPE)"]["y"], cosines - 2, atol=1e-9)
    assert "the distance alone counts; one token back scores −0.250" in found["position_distance"].header["answer"]


def test_a_second_method_that_is_refused_is_said_and_the_first_is_shown(open_app: Opener) -> None:
    app = opened(open_app, "similarity", d_model="5", n_heads="5")

    (warning,) = app.warning
    assert "Rotary (RoPE) is not shown" in warning.value
    assert list(named(pictures(app)["position_distance"])) == ["Sinusoidal"]


def test_a_method_beside_itself_keeps_two_names(open_app: Opener) -> None:
    app = opened(open_app, "similarity", compared="sinusoidal", **{"compared.base": "100"})

    assert list(named(pictures(app)["position_distance"])) == ["Sinusoidal", "Sinusoidal (second)"]


def test_shuffled_tokens_keep_their_outputs_without_positions_and_lose_them_with(open_app: Opener) -> None:
    app = opened(open_app, "shuffled", mask="causal")

    found = pictures(app)["position_shuffled"]
    bars = named(found)
    assert np.max(bars["no positions, no mask"]["y"]) < 1e-5
    assert np.max(bars["no positions, same mask"]["y"]) > 0.1
    assert np.max(bars["with positions"]["y"]) > 0.1
    answer = found.header["answer"]
    assert answer.startswith("Without positions and mask the outputs are the same up to order: the largest change is ")
    assert "The mask alone gives the order away: outputs change by " in answer
    assert "shuffled: “" in sentences(app)


def test_with_every_pair_allowed_there_is_no_mask_to_give_the_order_away(open_app: Opener) -> None:
    bars = named(pictures(opened(open_app, "shuffled", position="none"))["position_shuffled"])

    assert list(bars) == ["no positions, no mask"]


def test_of_many_tokens_the_first_512_are_shuffled(open_app: Opener) -> None:
    app = opened(open_app, "shuffled", input="vectors", n_tokens="600", d_model="8", n_heads="2")

    assert "Only the first 512 of 600 tokens are used." in sentences(app)
    assert len(named(pictures(app)["position_shuffled"])["with positions"]["y"]) == 512


def test_past_the_trained_length_each_method_says_what_it_does(open_app: Opener) -> None:
    found = pictures(opened(open_app, "beyond", position="alibi", trained_length="16"))["position_beyond"]

    lines = named(found)
    np.testing.assert_allclose(lines["ALiBi"]["y"], -0.5 * np.arange(65), atol=1e-12)
    assert lines["trained length"]["x"].tolist() == [16, 16]
    assert found.header["answer"] == (
        "ALiBi: the bias of head 0, less that of the own position, is −8.00 at distance 16 and −32.0 at 64; between "
        "them it goes on in a straight line, −0.500 a token. Rotary (RoPE): 3 of 4 pairs of columns do not complete a "
        "turn within 16 tokens, so beyond they get to angles never seen."
    )


@pytest.mark.parametrize("view", POSITION_VIEWS)
def test_every_method_is_shown_in_every_view_also_as_the_second(view: str, open_app: Opener) -> None:
    app = opened(open_app, view, text="to be or not")

    for name in POSITIONS.names():
        app.session_state["position"] = app.session_state["compared"] = name
        ran(app.run())
        assert [*errors(app), *app.warning] == [], name
        for sent in pictures(app).values():
            assert sent.header["title"].endswith("?")
            assert all(sent.header[words].endswith(".") for words in ("answer", "caption", "alt"))
            for axis in ("xaxis", "yaxis"):
                assert sent.figure["layout"][axis]["title"]["text"]


def test_a_method_registered_anywhere_is_on_every_view_by_itself(open_app: Opener) -> None:
    @POSITIONS.register(label="All three", group="Absolute", source="this test 2020")
    def all_three(shape: PositionShape, *, weight: Annotated[float, Range(0, 1, step=0.25)] = 0.5) -> Positional:
        """Adds, turns and biases."""
        return Positional(
            add=lambda positions: weight * np.sin(positions[:, None] + np.arange(float(shape.d_model))),
            rotate=Rotation(np.array([0.5])),
            bias=lambda q, k: -weight * np.abs(k[None, :] - q[:, None])[None].astype(float),
            curves=(Curve("Share", "", "step", np.arange(3), np.array([1.0, 0.5, 0.25])),),
        )

    try:
        found = pictures(opened(open_app, position="all_three"))
        assert {"position_added", "position_turned", "position_bias", "position_curve_1"} <= set(found)
        np.testing.assert_array_equal(found["position_curve_0"].trace()["y"], [1, 0.5, 0.25])
        assert named(found["position_turned"])["after"]["y"][2] == 3, "only the first two columns turn"
        for view in POSITION_VIEWS[1:]:
            app = opened(open_app, view, position="all_three", compared="all_three")
            assert list(app.warning) == []
    finally:
        POSITIONS.unregister("all_three")


@pytest.mark.model
def test_the_trained_model_shows_its_own_vectors(open_app: Opener) -> None:
    from attnviz.models import load_minilm

    found = pictures(opened(open_app, input="trained"))["position_added"]

    np.testing.assert_allclose(found.trace()["z"], load_minilm().network.positions[:64], atol=1e-6)
    assert found.header["answer"].startswith("Learned (all-MiniLM-L6-v2): ")
    assert "have the strongest colour" in found.header["caption"]


@pytest.mark.model
def test_the_trained_models_vectors_are_compared_beside_its_words(open_app: Opener) -> None:
    from attnviz.models import load_minilm, word_size

    network = load_minilm().network
    found = pictures(opened(open_app, "similarity", input="trained"))

    lines = named(found["position_distance"])
    assert list(lines) == ["Learned (all-MiniLM-L6-v2)", "Rotary (RoPE)"]
    table = network.positions[:64].astype(float) / word_size(load_minilm())
    gram = table @ table.T
    scores = (gram - gram.diagonal()[:, None]) / (12 * np.sqrt(32))
    np.testing.assert_allclose(lines["Learned (all-MiniLM-L6-v2)"]["y"][63 + 5], scores.diagonal(5).mean(), rtol=1e-6)


@pytest.mark.model
def test_the_trained_model_loses_the_order_without_its_positions(open_app: Opener) -> None:
    app = opened(open_app, "shuffled", input="trained", layer="5")

    bars = named(pictures(app)["position_shuffled"])
    assert np.max(bars["no positions, no mask"]["y"]) < 1e-4
    assert np.max(bars["with positions"]["y"]) > 0.1
    assert "shuffled: “[CLS] " in sentences(app)


@pytest.mark.model
def test_past_its_last_position_the_trained_model_has_no_vector(open_app: Opener) -> None:
    found = pictures(opened(open_app, "beyond", input="trained", trained_length="256"))["position_beyond"]

    assert "it has vectors for 512 positions only; a longer text must be cut." in found.header["answer"]
    assert np.max(named(found)["Learned (all-MiniLM-L6-v2)"]["x"]) == 511
