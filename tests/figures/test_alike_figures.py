"""Pictures and sentences of how alike heads are."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures import alike_matrix, alike_words, difference_map, head_map
from attnviz.figures.group_words import group_answer, letters
from attnviz.figures.head_map import placed_labels
from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics.alike import Alike
from attnviz.metrics.clustering import Plane, groups_below, plane_of, tree_of
from attnviz.metrics.difference import ONE_SIDED, Moved, Side, difference_part, moved
from attnviz.metrics.pooling import Window
from attnviz.numbers import THIN_SPACE
from tests.figures.traces import trace_of

PAIRS = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 1.0]])
FOUND = Alike(PAIRS, np.array([0.5, 0.4, 0.6]))
NAMES = ("0 sink", "1", "2")
TREE = tree_of(FOUND.distances)


def matrix(found: Alike = FOUND, *, tree=TREE, selected: int = 1, cut: float = 0.3):
    names = NAMES if len(found.pairs) == 3 else [str(head) for head in range(len(found.pairs))]
    return alike_matrix(found, tree, names, selected=selected, scale=SINGLE_HUE, value="cosine of maps", cut=cut)


def test_rows_and_columns_are_in_the_order_of_the_tree_and_the_uniform_head_stands_beside_them() -> None:
    picture = matrix()

    order = TREE.order
    z = picture.data[0].z
    np.testing.assert_array_equal(z[:, :3], PAIRS[np.ix_(order, order)].astype(np.float32))
    assert np.isnan(z[:, 3]).all(), "a gap"
    np.testing.assert_array_equal(z[:, 4], FOUND.uniform[order].astype(np.float32))
    assert list(picture.layout.yaxis.ticktext) == [NAMES[head] for head in order]
    assert list(picture.layout.xaxis.ticktext) == [NAMES[head][0] for head in order]
    assert picture.layout.meta["ticks"]["strong"] == order.tolist().index(1)
    cells = picture.layout.meta["cells"]
    assert list(cells["rows"]) == [f"head {NAMES[head]}" for head in order]
    assert cells["columns"][4] == "the baseline"


def test_the_leaves_of_the_tree_meet_the_rows() -> None:
    picture = matrix()

    tree, cut = (next(trace for trace in picture.data if trace.name == name) for name in ("tree", "cut"))
    x, y = np.asarray(tree.x).reshape(-1, 5), np.asarray(tree.y).reshape(-1, 5)
    assert np.isnan(x[:, 4]).all()
    start, end = np.nanmin(x), np.nanmax(x)
    leaves = {float(place) for place in np.concatenate([y[x[:, 0] == start, 0], y[x[:, 3] == start, 3]])}
    assert leaves == {0, 1, 2}
    assert start > 4.4, "to the right of the uniform head"
    assert (cut.x[0] - start) / (end - start) == pytest.approx(0.3 / TREE.height, abs=1e-6)
    assert picture.layout.xaxis.range[1] > end


def test_dark_is_alike_for_a_distance_too_and_negative_numbers_have_a_colour_of_their_own() -> None:
    distance = matrix(Alike(FOUND.distances, 1 - FOUND.uniform, is_distance=True)).data[0]
    signed = matrix(Alike(PAIRS, np.full(3, np.nan), is_signed=True))

    assert distance.colorscale[0][1] == LIGHT.weights[-1]
    assert distance.colorscale[-1][1] == LIGHT.weights[0]
    assert [place for place, _ in distance.colorscale] == sorted(place for place, _ in distance.colorscale)
    assert (signed.data[0].zmin, signed.data[0].zmax) == (-1, 1)
    assert signed.data[0].z.shape == (3, 3), "no uniform head"
    assert signed.layout.meta["cells"]["lowest"] == -1


@pytest.mark.parametrize(("selected", "first", "count"), [(0, 0, 256), (299, 256, 44)])
def test_without_a_tree_the_block_of_the_chosen_head_is_shown(selected: int, first: int, count: int) -> None:
    pairs = np.eye(300)
    pairs[0, 299] = pairs[299, 0] = 0.5

    picture = matrix(Alike(pairs, np.full(300, np.nan)), tree=None, selected=selected)

    np.testing.assert_array_equal(picture.data[0].z, pairs[first : first + count, first : first + count])
    assert len(picture.data) == 1
    assert picture.layout.meta["ticks"]["strong"] == selected - first


@pytest.mark.parametrize("n", [1, 2])
def test_few_heads_have_a_matrix_too(n: int) -> None:
    found = Alike(PAIRS[:n, :n], FOUND.uniform[:n])

    picture = matrix(found, tree=tree_of(found.distances), selected=0)

    np.testing.assert_array_equal(picture.data[0].z[:, :n], PAIRS[:n, :n].astype(np.float32))
    assert ("tree" in [trace.name for trace in picture.data]) == (n == 2)


def test_the_map_has_a_point_for_each_head_on_axes_of_one_scale() -> None:
    plane = plane_of(FOUND.distances)

    picture = head_map(plane, groups_below(TREE, 0.3), ["0", "1", "2"], selected=2, labelled=[0, 1, 2])

    by_name = {trace.name: trace for trace in picture.data}
    np.testing.assert_allclose(np.stack([by_name["heads"].x, by_name["heads"].y], axis=1), plane.points, atol=1e-6)
    assert picture.layout.yaxis.scaleanchor == "x"
    for points, axis in zip(plane.points.T, (picture.layout.xaxis, picture.layout.yaxis), strict=True):
        assert axis.range[0] < points.min() <= points.max() < axis.range[1]
    colours = list(by_name["heads"].marker.color)
    assert colours[0] == colours[2] == by_name["A: 2 heads"].marker.color
    assert colours[1] == by_name["alone"].marker.color == LIGHT.muted
    assert (by_name["head 2"].x[0], by_name["head 2"].marker.color) == (np.float32(plane.points[2, 0]), LIGHT.accent)
    assert by_name["heads"].meta == {"click": "head"}


def test_names_stand_beside_their_points_and_never_on_each_other() -> None:
    near = np.array([[0.0, 0.0], [12.0, 0.0], [6.0, 8.0], [6.0, -8.0], [6.0, 0.0], [200.0, 0.0]])

    found = placed_labels(near, dict(enumerate(["5.11", "0.10", "1.1", "2.2", "3.3", "4.4"])))

    assert found == {
        0: "middle left",
        1: "middle right",
        2: "top center",
        3: "bottom center",
        5: "middle right",
    }


def test_the_chosen_head_has_the_first_choice_of_room_for_its_name() -> None:
    points = np.zeros((40, 2))
    points[:, 0] = np.linspace(0, 1, 40)
    plane = Plane(points, 1.0)
    names = [f"{head // 12}.{head % 12}" for head in range(40)]

    picture = head_map(plane, np.zeros(40, dtype=np.int64), names, selected=20, labelled=range(40))

    (written,) = [trace for trace in picture.data if trace.name == "names"]
    assert written.text[0].strip().split(f",{THIN_SPACE}")[0] == "1.8"
    assert 0 < len(written.text) == len(written.textposition) == len(written.x) < 40
    assert written.meta == {"apart": True}


def test_words_above_the_matrix_end_where_the_baseline_does_and_name_both_ends_of_the_tree() -> None:
    picture = matrix()

    (words,) = [trace for trace in picture.data if trace.name == "words"]
    assert list(words.text) == ["baseline", "0", "0.75"]
    assert list(words.textposition) == ["middle left", "middle right", "middle left"]
    (tree,) = [trace for trace in picture.data if trace.name == "tree"]
    np.testing.assert_allclose(words.x, [4.5, np.nanmin(tree.x), np.nanmax(tree.x)], rtol=1e-6)
    assert picture.layout.yaxis.range[1] < words.y[0] < -0.5


def test_letters_of_groups_stand_at_the_middle_of_their_rows_before_the_tree() -> None:
    groups = groups_below(TREE, 0.3)

    picture = alike_matrix(
        FOUND, TREE, NAMES, selected=1, scale=SINGLE_HUE, value="cosine of maps", cut=0.3, groups=groups
    )

    by_name = {trace.name: trace for trace in picture.data}
    words, tree = by_name["words"], by_name["tree"]
    assert (words.text[-1], words.textposition[-1]) == ("A", "middle center")
    rows = [TREE.order.tolist().index(head) for head in (0, 2)]
    assert words.y[-1] == np.mean(rows)
    assert 4.5 < words.x[-1] < np.nanmin(tree.x)


def test_heads_without_a_value_have_a_colour_of_their_own_in_the_matrix() -> None:
    pairs = PAIRS.copy()
    pairs[1] = pairs[:, 1] = np.nan
    found = Alike(pairs, np.array([0.5, np.nan, 0.6]), reason="writes the same for every query")

    picture = matrix(found, tree=tree_of(found.distances))

    heatmap, row = picture.data[0], tree_of(found.distances).order.tolist().index(1)
    assert (heatmap.z[row, [0, 1, 2, 4]] < 0).all()
    assert (heatmap.z[:3, row] < 0).all()
    assert np.isnan(heatmap.z[:, 3]).all(), "the gap has no colour"
    assert (heatmap.z < 0).sum() == 6
    assert heatmap.zmin < heatmap.z[row, 0]
    assert heatmap.colorscale[0][1] == LIGHT.forbidden
    assert heatmap.colorbar.ticktext == ("undefined", "0", "0.5", "1")
    below = picture.layout.meta["cells"]["below"]
    assert below == "undefined: one of the two writes the same for every query"
    assert alike_words.alike_alt(found, None, "CKA") == "Matrix of CKA between 3 heads, from 0.900 to 1.00."
    assert alike_words.alike_alt(Alike(np.full((2, 2), np.nan), np.ones(2)), None, "CKA") == (
        "Matrix of CKA between 2 heads."
    )


def test_the_answer_leaves_out_and_names_heads_without_a_value() -> None:
    pairs = PAIRS.copy()
    pairs[1] = pairs[:, 1] = np.nan
    found = Alike(pairs, np.full(3, np.nan), reason="writes the same for every query")

    assert alike_words.alike_answer(found, None, NAMES, "CKA", "") == (
        "Heads 0 (sink) and 2 are the most alike: CKA 0.900. All pairs: 0.900 on average. Head 1 writes the same for "
        "every query: it has no CKA."
    )
    none = Alike(np.full((3, 3), np.nan), np.full(3, np.nan), reason="writes the same for every query")
    assert alike_words.alike_answer(none, None, NAMES, "CKA", "") == (
        "No two heads can be compared. Each of heads 0 (sink), 1 and 2 writes the same for every query: they have no "
        "CKA."
    )


def test_heads_that_have_nothing_in_common_are_not_called_alike() -> None:
    apart = Alike(np.eye(3), np.full(3, 0.125))

    assert alike_words.alike_answer(apart, None, NAMES, "query-key overlap", "") == (
        "No two heads have anything in common: the nearest have query-key overlap 0; with a head that knows nothing "
        "they have 0.125. All pairs: 0 on average."
    )
    plane = plane_of(apart.distances)
    assert alike_words.map_answer(plane, np.arange(3), NAMES, apart.like(0, 3), 0).startswith(
        "Nearest to head 0 (sink): none has anything in common with it. Head 0 is in no group. The plane shows"
    )


def test_the_map_says_which_group_the_chosen_head_is_in_and_with_whom() -> None:
    plane = plane_of(FOUND.distances)

    said = alike_words.map_answer(plane, np.array([0, 1, 0]), NAMES, [0, 1], 2)

    assert said.startswith("Nearest to head 2: 0 (sink), 1. Head 2 is in group A, with 0. The plane shows")


def test_only_the_largest_groups_have_letters_and_a_long_list_is_counted() -> None:
    sizes = [2, 3, 3, 3, 3, 3, 9]
    groups = np.repeat(np.arange(7), sizes)
    names = [str(head) for head in range(len(groups))]

    assert letters(groups) == {1: "A", 2: "B", 3: "C", 4: "D", 5: "E", 6: "F"}
    assert group_answer(groups, names, 0) == "Head 0 is in a smaller group, with 1."
    assert group_answer(groups, names, 3) == "Head 3 is in group A, with 2 and 4."
    assert group_answer(groups, names, 20) == "Head 20 is in group F, with 8 heads."


def test_heads_at_one_place_share_a_label() -> None:
    plane = Plane(np.array([[0.0, 0.0], [1.0, 1.0], [0.001, 0.0]]), 1.0)

    picture = head_map(plane, np.array([0, 1, 0]), ["<a>", "b", "c"], selected=0, labelled=[0, 1, 2])

    (names,) = [trace for trace in picture.data if trace.name == "names"]
    assert [text.strip() for text in names.text] == [f"&lt;a&gt;,{THIN_SPACE}c", "b"]


def test_a_difference_has_one_scale_about_0_and_its_own_colour_where_both_forbid() -> None:
    mask = np.tril(np.ones((2, 2), dtype=bool))
    trace = trace_of(np.array([[[1.0, 0], [0.5, 0.5]], [[1.0, 0], [0.25, 0.75]]]), mask, tokens=["a", "<b>"])
    window = Window(0, 2, 0, 2)
    part = difference_part(Side(trace, 0), Side(trace, 1), window, 256)

    picture = difference_map(Side(trace, 0), part, window, query=1, key=0, largest=0.25, names=("head 0", "head 1"))

    heatmap = picture.data[0]
    assert heatmap.z[0, 0] == 0
    assert heatmap.z[1].tolist() == [0.25, -0.25]
    assert heatmap.z[0, 1] < -0.25
    assert heatmap.zmax == 0.25
    assert heatmap.colorbar.title.text == "difference"
    assert heatmap.colorbar.ticktext == ("forbidden", "−0.25", "0", "0.25")
    cells = picture.layout.meta["cells"]
    assert (cells["value"], cells["below"], cells["lowest"]) == ("head 0 less head 1", "forbidden in both", -0.25)


def test_pairs_that_one_mask_forbids_have_a_flat_colour_of_their_own() -> None:
    trace = trace_of(np.full((1, 2, 2), 0.5), tokens=["a", "b"])
    part = np.array([[0.25, ONE_SIDED], [np.nan, -0.5]])

    picture = difference_map(
        Side(trace, 0), part, Window(0, 2, 0, 2), query=0, key=0, largest=0.5, names=("head 0 now", "head 0 kept")
    )

    heatmap, cells = picture.data[0], picture.layout.meta["cells"]
    assert (heatmap.z[0, 0], heatmap.z[1, 1]) == (0.25, -0.5)
    both, one = heatmap.z[1, 0], heatmap.z[0, 1]
    assert heatmap.zmin < both < cells["hidden_from"] < one < cells["lowest"] == -0.5
    assert cells["hidden"] == "forbidden in one of the two"
    assert heatmap.colorbar.ticktext[:2] == ("forbidden in both", "forbidden in one")
    np.testing.assert_allclose(heatmap.colorbar.tickvals[:2], [both, one], rtol=1e-6)

    def colour(value: float) -> str:
        share = (value - heatmap.zmin) / (heatmap.zmax - heatmap.zmin)
        return [hue for place, hue in heatmap.colorscale if place <= share + 1e-9][-1]

    assert (colour(both), colour(one), colour(0.5)) == (LIGHT.forbidden, LIGHT.hidden, LIGHT.signed[-1])
    assert [place for place, _ in heatmap.colorscale] == sorted(place for place, _ in heatmap.colorscale)


def test_attention_where_only_one_head_may_look_is_said_beside_a_uniform_head() -> None:
    trace = trace_of(np.full((1, 2, 2), 0.5), tokens=["a", "b"])
    found = Moved(0.5, 0.25, 1, 0, -0.125, first_alone=0.5, first_alone_uniform=0.25)

    said = alike_words.difference_answer(found, trace, ("head 0 now", "head 0 in the kept setting"))

    assert said.replace(THIN_SPACE, " ") == (
        "Head 0 now has 50.0 % of its attention on other keys than head 0 in the kept setting, and 25.0 % on other "
        "keys than a uniform head. Head 0 now has 50.0 % on keys that are forbidden to head 0 in the kept setting (a "
        "uniform head: 25.0 %). The largest difference among the pairs that both may attend to: query 1 “b” gives key "
        "0 “a” 0.125 less."
    )
    apart = alike_words.difference_answer(Moved(1.0, 0.0, 0, 0, 0.0, 1, 1, 1, 1), trace, ("head 0", "head 1"))
    assert "largest difference" not in apart
    assert apart.endswith(
        f"Head 1 has 100{THIN_SPACE}% on keys that are forbidden to head 0 (a uniform head: 100{THIN_SPACE}%)."
    )


def test_the_answer_names_the_pair_the_baseline_and_the_groups() -> None:
    groups = np.array([0, 1, 0])

    answer = alike_words.alike_answer(FOUND, groups, NAMES, "cosine of maps", "")

    assert answer == (
        "Heads 0 (sink) and 2 are the most alike: cosine of maps 0.900; with a head that knows nothing they have 0.500 "
        "and 0.600. All pairs: 0.467 on average. 1 group of heads is closer together than half of the mean distance; "
        "1 head is alone."
    )


def test_the_answer_counts_ties_has_units_and_leaves_out_what_is_not_defined() -> None:
    same = Alike(np.zeros((3, 3)), np.full(3, np.nan), is_distance=True)

    answer = alike_words.alike_answer(same, None, NAMES, "Jensen-Shannon divergence", "bits")

    assert answer == (
        "Heads 0 (sink) and 1 are the most alike: Jensen-Shannon divergence 0 bits. 2 other pairs are as alike. "
        "All pairs: 0 bits on average."
    )
    alone = Alike(np.ones((1, 1)), np.ones(1))
    assert alike_words.alike_answer(alone, None, ("0",), "cosine", "") == alike_words.ALONE
    apart = alike_words.alike_answer(FOUND, np.arange(3), NAMES, "cosine", "")
    assert apart.endswith("No two groups are closer than half of the mean distance: every head is alone.")


def test_the_difference_in_words_has_its_baseline_and_its_largest_cell() -> None:
    trace = trace_of(np.array([[[1.0, 0], [0.5, 0.5]], [[1.0, 0], [0.25, 0.75]]]), tokens=["a", "<b>"])
    names = ("head 0", "head 1")

    answer = alike_words.difference_answer(moved(Side(trace, 0), Side(trace, 1)), trace, names)

    assert answer == (
        f"Head 0 has 12.5{THIN_SPACE}% of its attention on other keys than head 1, and 25.0{THIN_SPACE}% on other keys "
        "than a uniform head. The largest difference: query 1 “<b>” gives key 0 “a” 0.250 more."
    )
    even = alike_words.difference_answer(Moved(0.5, 1.5e-8, 1, 0, 0.25), trace, names)
    assert f"and 0{THIN_SPACE}% on other keys than a uniform head." in even
    same = alike_words.difference_answer(Moved(0.0, 0.2, 0, 0, 0.0), trace, names)
    assert same == "No difference: head 0 and head 1 have the same weights."
    nothing = alike_words.difference_answer(Moved(np.nan, np.nan, 0, 0, 0.0), trace, names)
    assert nothing == "No query has a key that it may attend to."
