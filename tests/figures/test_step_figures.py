"""The pictures of the arithmetic of one weight."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz import AttentionConfig, attend
from attnviz.figures import (
    array_pictures,
    changed_bars,
    gradient_lines,
    group_picture,
    score_bars,
    step_words,
    term_bars,
    variance_lines,
)
from attnviz.figures.terms import terms_in_order
from attnviz.registries import MASKS, POSITIONS
from attnviz.steps import Focus, Shot, Terms, stages_of
from attnviz.steps.row import row_of
from attnviz.steps.what_if import Change, changed_row, measured_spread, spread_of_products

MASKED = (MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["no_padding"].spec())


def focus(query: int = 2, key: int = 1, **changes: object) -> Focus:
    config = AttentionConfig(tuple("abcde"), d_model=16, n_heads=2, masks=MASKED, **changes)
    return Focus(attend(config), 1, query, key, MASKED)


def terms(values: list[float], chosen: int = 0, constant: float = 0.0) -> Terms:
    return Terms("column", [f"column {c}" for c in range(len(values))], None, None, np.array(values), chosen, constant)


def test_terms_are_bars_with_their_sum_so_far_and_the_followed_one_apart() -> None:
    others, followed, total = term_bars(terms([1.0, -2.0, 4.0], chosen=1, constant=0.5), is_sorted=False).data

    np.testing.assert_array_equal(others.y, [1.0, np.nan, 4.0, 0.5])
    np.testing.assert_array_equal(followed.y, [np.nan, -2.0, np.nan, np.nan])
    assert total.y.tolist() == [1.0, -1.0, 3.0, 3.5]


def test_sorted_terms_go_from_the_largest_to_the_most_negative() -> None:
    assert terms_in_order(terms([1.0, -2.0, 4.0]), is_sorted=True).tolist() == [2, 0, 1]
    assert terms_in_order(terms([1.0, -2.0, 4.0]), is_sorted=False).tolist() == [0, 1, 2]


def test_of_many_terms_the_largest_are_drawn_the_followed_one_among_them_and_the_rest_in_one_bar() -> None:
    many = terms([1.0] * 100, chosen=99)

    picture = term_bars(many, is_sorted=False)

    assert 99 in terms_in_order(many, is_sorted=False)
    assert picture.layout.xaxis.ticktext[-1] == "rest"
    assert picture.data[0].y[-1] == pytest.approx(36)
    assert picture.data[2].y[-1] == pytest.approx(100)


def test_arrays_of_unlike_sizes_stand_side_by_side_and_every_cell_has_its_own_name() -> None:
    shots = [
        Shot("query", np.arange(10.0).reshape(5, 2), 1, 0),
        Shot("value", -np.arange(15.0).reshape(5, 3), 2, None, first_row=7),
    ]

    picture = array_pictures(shots, kind="signed", scale="single hue", across=2)

    cells = picture.layout.meta["cells"]
    z = picture.data[0].z
    first, second = cells["maps"]
    assert (first["rows_per_cell"], first["columns_per_cell"]) == (1 / 6, 1 / 16)
    assert z[cells["map_top"] + 6, 0] == 2
    assert z[cells["map_top"] + 6, cells["pitch_columns"] + 10] == -4
    assert (second["first_row"], second["rows"][-1]) == (7, "11")
    assert (picture.data[0].zmin, picture.data[0].zmax) == (-14, 14)
    assert cells["click"] == ""


def test_arrays_with_their_own_scales_keep_their_numbers() -> None:
    shots = [Shot("query", np.full((2, 2), 8.0), 0), Shot("key", np.full((2, 2), -0.5), 0)]

    cells = array_pictures(shots, kind="signed", scale="single hue", across=2, has_own_scales=True)

    maps = cells.layout.meta["cells"]["maps"]
    values = [z * one["times"] for z, one in zip((1.0, -1.0), maps, strict=True)]
    assert values == [8.0, -0.5]
    assert np.nanmin(cells.data[0].z) == -1


@pytest.mark.parametrize("stage", ["dot", "scale", "mask", "softmax"])
def test_a_click_on_a_picture_of_pairs_chooses_query_and_key(stage: str) -> None:
    (shown,) = [one for one in stages_of(focus()) if one.name == stage]

    picture = array_pictures(shown.shots, kind=shown.kind, scale="single hue", across=3)

    assert picture.layout.meta["cells"]["click"] == "cell"
    assert (picture.layout.xaxis.title.text, picture.layout.yaxis.title.text) == ("key (column) →", "← query (row)")


def test_forbidden_pairs_are_below_the_scale() -> None:
    (shown,) = [one for one in stages_of(focus()) if one.name == "mask"]

    picture = array_pictures(shown.shots, kind="signed", scale="single hue", across=3)

    cells = picture.layout.meta["cells"]
    corner = cells["map_top"], cells["pitch_columns"] + cells["maps"][1]["map_columns"] - 1
    assert picture.data[0].z[corner] < cells["lowest"]
    assert picture.data[0].colorbar.ticktext[0] == "forbidden"


def test_the_scores_of_a_row_have_the_bias_on_top_and_what_the_softmax_gets() -> None:
    row = row_of(focus(position=POSITIONS["alibi"].spec()))

    picture = score_bars(row, list(range(5)), key=1)

    names = [trace.name for trace in picture.data]
    assert names == ["score", "score of a forbidden key", "bias", "what the softmax gets"]
    given = picture.data[-1].y
    np.testing.assert_allclose(given[:3], (row.scores + row.bias)[:3], rtol=1e-6)
    assert np.isnan(given[3:]).all()
    assert picture.layout.xaxis.ticktext[4] == "4 e ⊘"


def test_a_row_under_a_change_stands_beside_the_row_as_it_is() -> None:
    chosen = focus()
    row, changed = row_of(chosen), changed_row(chosen, Change(is_masked=False))

    before, after = changed_bars(row, changed, list(range(5)), key=1).data

    np.testing.assert_allclose(before.y, row.weights, rtol=1e-6)
    np.testing.assert_allclose(after.y, changed, rtol=1e-6)
    assert changed.sum() == pytest.approx(1)
    assert (changed[3:] > 0).all()


def test_no_change_is_no_change() -> None:
    chosen = focus(softcap=5.0, sinks=True, position=POSITIONS["alibi"].spec())

    np.testing.assert_allclose(changed_row(chosen, Change()), row_of(chosen).weights, atol=1e-6)
    assert step_words.change_answer(row_of(chosen), changed_row(chosen, Change()), 1).startswith("Nothing changes")


def test_without_the_scale_scores_are_the_products() -> None:
    chosen = focus()
    products = chosen.dots[:3]

    changed = changed_row(chosen, Change(is_scaled=False, temperature=2.0))

    expected = np.exp(products / 2 - (products / 2).max())
    np.testing.assert_allclose(changed[:3], expected / expected.sum(), rtol=1e-6)


def test_the_variance_of_random_products_is_the_number_of_columns_and_1_when_scaled() -> None:
    spread = spread_of_products(0)

    np.testing.assert_allclose(spread.plain_variance / np.array(spread.widths), 1, atol=0.15)
    np.testing.assert_allclose(spread.scaled_variance, 1, atol=0.15)
    assert spread.plain_gradient[-1] < spread.scaled_gradient[-1] / 2


def test_variance_and_gradient_are_lines_over_the_width_with_the_head_on_screen() -> None:
    spread, found = spread_of_products(0), measured_spread(focus())
    assert found is not None

    plain, scaled, own_plain, own_scaled = variance_lines(spread, found).data

    assert plain.name == "not scaled"
    np.testing.assert_allclose(scaled.y, spread.scaled_variance, rtol=1e-6)
    assert own_plain.y[0] == pytest.approx(8 * own_scaled.y[0])
    assert own_plain.marker.symbol != own_scaled.marker.symbol
    drawn = gradient_lines(spread, found).data
    assert [trace.name for trace in drawn] == [
        *("not scaled", "divided by √d_head", "this head, not scaled", "this head, divided")
    ]
    assert drawn[2].y == found.plain_gradient


def test_the_gradient_is_said_to_fall_below_only_from_the_width_where_it_stays_below() -> None:
    spread = spread_of_products(0)
    first = next(w for i, w in enumerate(spread.widths) if (spread.plain_gradient < spread.scaled_gradient)[i:].all())

    assert f"From d_head {first} on it is below" in step_words.gradient_answer(spread)


def test_a_line_leads_from_each_query_head_to_the_head_that_serves_it() -> None:
    others, own, heads, kv_heads, chosen = group_picture(8, 2, head=5).data

    assert own.x[:2].tolist() == [5.0, 5.5]
    assert others.x[:2].tolist() == [0.0, 1.5]
    assert (len(heads.x), kv_heads.x.tolist(), chosen.x.tolist()) == (8, [1.5, 5.5], [5.0])


def test_the_arithmetic_in_a_line_leaves_out_what_the_setting_has_not() -> None:
    plain, full = focus(), focus(position=POSITIONS["alibi"].spec(), softcap=20.0)

    assert "capped" not in step_words.arithmetic(plain)
    assert "bias" not in step_words.arithmetic(plain)
    assert "capped" in step_words.arithmetic(full)
    assert "with the bias" in step_words.arithmetic(full)
    assert step_words.arithmetic(focus(query=0, key=3)) == ""


def test_a_row_without_any_key_says_so() -> None:
    masks = (*MASKED[:2], MASKS["padding_left"].spec(padded=2))
    trace = attend(AttentionConfig(tuple("abcde"), d_model=16, n_heads=2, masks=masks))

    said = step_words.row_answer(row_of(Focus(trace, 0, 0, 0, masks)))

    assert said == "This query may attend to no key: nothing goes into the softmax, and its weights are all 0."
