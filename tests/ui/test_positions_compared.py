"""Two position methods side by side, what is said of untrained numbers, and what a page switch keeps."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.positions import sinusoidal_table
from attnviz.registries import POSITIONS
from tests.ui.conftest import Opener, errors, link_of, ran
from tests.ui.drawn import pictures, sentences, table_rows
from tests.ui.test_positions_page import named, opened

DRAWN = "are untrained: drawn from the seed."


def paired(app: AppTest) -> AppTest:
    return ran(app.toggle(key="beside_another").set_value(True).run())


def test_the_position_and_the_second_method_are_kept_over_a_change_of_view_and_of_page(open_app: Opener) -> None:
    app = paired(opened(open_app))
    ran(app.slider(key="place").set_value(7).run())

    group = next(group for group in app.get("button_group") if group.key == "position_view")
    ran(group.set_value("shuffled").run())
    ran(app.switch_page("pages/masks.py").run())
    ran(app.run())
    ran(app.switch_page("pages/positions.py").run())
    group = next(group for group in app.get("button_group") if group.key == "position_view")
    ran(group.set_value("effect").run())

    assert (app.slider(key="place").value, app.toggle(key="beside_another").value) == (7, True)
    assert pictures(app)["position_vector"].header["title"] == "What is added at position 7?"


def test_a_position_set_on_a_page_that_was_opened_cold_is_kept(open_app: Opener) -> None:
    app = opened(lambda link, page: open_app(link, page=page, cold=True))
    ran(app.slider(key="place").set_value(5).run())
    ran(app.switch_page("pages/heads.py").run())
    ran(app.switch_page("pages/positions.py").run())

    assert app.slider(key="place").value == 5


def test_a_position_past_the_last_one_shown_is_lowered(open_app: Opener) -> None:
    app = opened(open_app, input="vectors", n_tokens="128")
    ran(app.slider(key="place").set_value(127).run())

    ran(app.number_input(key="n_tokens").set_value(16).run())

    assert app.slider(key="place").value == 63


def test_a_second_method_is_drawn_beside_the_first_on_one_scale(open_app: Opener) -> None:
    found = pictures(paired(opened(open_app, compared="learned")))

    first, second = found["position_added"].trace(), found["position_added_second"].trace()
    np.testing.assert_allclose(first["z"], sinusoidal_table(np.arange(64), 64), atol=1e-6)
    assert (first["zmin"], first["zmax"]) == (second["zmin"], second["zmax"])
    assert second["zmax"] == pytest.approx(float(np.abs(second["z"]).max()))
    assert "one scale for both methods" in found["position_added"].header["caption"]
    assert DRAWN not in found["position_added"].header["caption"]
    assert f"The numbers of Learned {DRAWN}" in found["position_added_second"].header["caption"]


def test_two_biases_have_the_same_axes_and_two_rotations_too(open_app: Opener) -> None:
    biases = pictures(paired(opened(open_app, position="alibi", compared="t5_bias")))
    turns = pictures(paired(opened(open_app, position="rotary", compared="rotary", **{"compared.base": "100"})))

    for name, found in (("position_bias", biases), ("position_angles", turns)):
        for axis in ("xaxis", "yaxis"):
            one, other = (found[key].figure["layout"][axis]["range"] for key in (name, f"{name}_second"))
            assert one == other
    assert {"position_curve_0", "position_curve_0_second"} <= set(biases)


def test_every_method_is_drawn_beside_itself_and_beside_another(open_app: Opener) -> None:
    app = paired(opened(open_app, text="to be or not"))

    for name in POSITIONS.names():
        for compared in (name, "sinusoidal"):
            app.session_state["position"], app.session_state["compared"] = name, compared
            ran(app.run())
            assert [*errors(app), *app.warning] == [], (name, compared)
            if compared == name:
                assert "is chosen twice, with the same parameters" in sentences(app)


def test_a_second_method_that_is_refused_leaves_the_first_alone(open_app: Opener) -> None:
    app = paired(opened(open_app, d_model="5", n_heads="5"))

    (warning,) = app.warning
    assert "Rotary (RoPE) is not shown" in warning.value
    assert sorted(pictures(app)) == ["position_added", "position_curve_0", "position_vector"]


@pytest.mark.parametrize(("name", "other"), [("rotary", "ALiBi"), ("alibi", "Rotary (RoPE)")])
def test_a_method_chosen_twice_has_another_one_beside_it_which_is_said(name: str, other: str, open_app: Opener) -> None:
    app = opened(open_app, "similarity", position=name, compared=name)

    label = POSITIONS[name].label
    assert list(named(pictures(app)["position_distance"])) == [label, other]
    assert (
        f"{label} is chosen twice, with the same parameters, so {other} stands beside it. Choose another method, or "
        "change a parameter of one." in sentences(app)
    )
    assert app.selectbox(key="compared").value == name


def test_the_bias_of_t5_is_drawn_in_steps_up_to_its_last_bucket(open_app: Opener) -> None:
    sent = pictures(opened(open_app, position="t5_bias"))["position_bias"]

    line = named(sent)["head 0"]
    assert (line["x"][0], line["x"][-1]) == (-99, 99)
    assert line["line"]["shape"] == "hvh"
    assert f"The numbers of Bucketed relative (T5) {DRAWN}" in sent.header["caption"]


def test_past_the_trained_length_words_and_curve_of_t5_have_one_reference(open_app: Opener) -> None:
    sent = pictures(opened(open_app, "beyond", position="t5_bias"))["position_beyond"]

    line = named(sent)["Bucketed relative (T5)"]
    assert (line["y"][32], line["y"][128]) == (pytest.approx(2.15, abs=5e-3), pytest.approx(0.545, abs=5e-4))
    assert (
        "the bias of head 0, less that of the own position, is 2.15 at distance 32 and 0.545 at 128"
        in (sent.header["answer"])
    )
    assert line["line"]["shape"] == "hvh"
    assert named(sent)["Rotary (RoPE)"]["line"]["shape"] == "linear"


def test_the_change_of_each_output_is_in_a_table(open_app: Opener) -> None:
    app = opened(open_app, "shuffled", mask="causal", text="to be or not to be")

    headings, *rows = table_rows(app)
    assert headings == ["Place", "Token", "With positions", "No positions, same mask", "No positions, no mask"]
    assert [row[1] for row in rows] == ["to", "be", "or", "not", "to", "be"]
    drawn = named(pictures(app)["position_shuffled"])["with positions"]["y"]
    assert [float(row[2]) for row in rows] == pytest.approx(drawn.tolist(), rel=5e-3)


def test_of_many_tokens_the_first_24_are_in_the_table(open_app: Opener) -> None:
    app = opened(open_app, "shuffled", input="vectors", n_tokens="32", position="none")

    assert len(table_rows(app)) == 25
    assert table_rows(app)[0] == ["Place", "Token", "No positions, no mask"]


@pytest.mark.model
@pytest.mark.parametrize(
    ("layer", "reads"), [("0", "layer 0 reads the result"), ("5", "layer 5 reads the output of layer 4")]
)
def test_the_trained_model_says_where_its_vectors_are_added(layer: str, reads: str, open_app: Opener) -> None:
    caption = pictures(opened(open_app, input="trained", layer=layer))["position_added"].header["caption"]

    assert caption.startswith(f"Added once, before layer 0: LayerNorm(word + this row + segment); {reads}.")


@pytest.mark.model
def test_the_trained_length_of_the_trained_model_is_its_own(open_app: Opener) -> None:
    app = opened(open_app, "beyond", input="trained", trained_length="32")

    control = app.selectbox(key="fixed.trained_length")
    assert (control.value, control.disabled) == ("512", True)
    sent = pictures(app)["position_beyond"]
    assert "never seen; the nearest" not in sent.header["answer"]
    assert named(sent)["trained length"]["x"].tolist() == [512, 512]
    assert link_of(app)["input"] == "trained"
