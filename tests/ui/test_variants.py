"""The variants of attention on the page: folded controls, links, the sentence, and the picture after dropout."""

from __future__ import annotations

from html import unescape

import pytest

from tests.ui.conftest import Opener, link_of, ran, unfolded
from tests.ui.drawn import pictures, sentences


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"n_kv_heads": "2"}, "2 key/value heads"),
        ({"d_value": "3"}, "values of 3 columns"),
        ({"is_scaled": "0"}, "unscaled"),
        ({"softcap": "30.0"}, "soft cap 30"),
        ({"sinks": "1"}, "sinks"),
        ({"dropout": "0.1"}, "dropout 0.1"),
    ],
)
def test_a_variant_of_the_link_is_on_is_said_and_stays_in_the_link(
    open_app: Opener, link: dict[str, str], said: str
) -> None:
    app = open_app(link)

    assert f", sinusoidal positions, {said}: " in sentences(app)
    assert "Variants (1 on)" in [one.label for one in app.sidebar.expander]
    assert link_of(app) == link


def test_the_controls_of_the_variants_are_there_when_they_are_unfolded(open_app: Opener) -> None:
    app = open_app()
    assert not [one for one in app.sidebar.selectbox if one.key == "n_kv_heads"]

    unfolded(app, "variants")
    ran(app.selectbox(key="n_kv_heads").set_value(1).run())

    assert link_of(app) == {"n_kv_heads": "1"}
    assert "1 key/value head:" in sentences(app)


def test_with_dropout_the_weights_after_it_are_shown_beside_those_before(open_app: Opener) -> None:
    app = open_app({"dropout": "0.5"})
    before, after = (pictures(app)[name].trace()["z"] for name in ("pattern", "after_dropout"))

    assert "after_dropout" not in pictures(open_app())
    kept = after > 0
    assert 0 < kept.mean() < 1
    assert after[kept] == pytest.approx(2 * before[kept], rel=1e-5)
    assert "of the weights are dropped; a row now sums to between" in pictures(app)["after_dropout"].header["answer"]


def test_in_cross_attention_the_columns_are_the_words_of_the_other_sentence(open_app: Opener) -> None:
    app = open_app({"cross": "1", "text": "a b c", "key_text": "b d"})
    ticks = pictures(app)["pattern"].figure["layout"]["meta"]["ticks"]

    assert (ticks["y"], ticks["x"]) == (["a", "b", "c"], ["b", "d"])
    assert "8 heads of 8 dimensions from 3 queries to 2 keys, full mask" in sentences(app)
    ran(app.text_area(key="key_text").set_value("x y z w").run())
    assert "from 3 queries to 4 keys" in sentences(app)


def test_an_empty_sentence_of_the_keys_asks_for_words(open_app: Opener) -> None:
    app = open_app({"cross": "1", "key_text": " "})

    assert [unescape(one.value) for one in app.info] == ["Nothing to show yet: type a sentence of at least one word."]
