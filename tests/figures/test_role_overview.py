"""The roles of all layers at once: a name and a colour in every cell, and the counts in words."""

from __future__ import annotations

import numpy as np
import pytest

from attnviz.figures import role_overview
from attnviz.figures.role_layer_words import DOES, induction_answer, overview_alt, overview_answer
from attnviz.figures.role_overview import KINDS, MOST_WRITTEN, SHOWN
from attnviz.figures.theme import DARK_FOR_LIGHT
from attnviz.metrics.roles import ROLES, TOO_SHORT, Evidence, Role
from attnviz.picks import HeadAt


def roles(*layers: str) -> list[tuple[Role, ...]]:
    return [tuple(Role(name.strip(), ()) for name in layer.split(",")) for layer in layers]


SOME = roles("broad, previous token, mixed", "sink, sink, mixed", "sink, sink, one word")


def test_every_role_has_a_colour_of_its_kind_and_a_short_name_of_its_own() -> None:
    assert set(SHOWN) == set(ROLES)
    assert len({one.short for one in SHOWN.values()}) == len(ROLES)
    assert all(len(one.short) <= 5 for one in SHOWN.values())
    assert {one.kind for one in SHOWN.values()} == set(KINDS)
    assert len(set(KINDS.values())) == len(KINDS)
    assert len({DARK_FOR_LIGHT[colour] for colour in KINDS.values()}) == len(KINDS)


def test_a_cell_has_the_colour_and_the_short_name_of_its_head() -> None:
    picture = role_overview(SOME, selected=HeadAt(2, 1))

    heatmap, names = picture.data
    np.testing.assert_array_equal(heatmap.z, [[ROLES.index(role.name) for role in heads] for heads in SOME])
    assert list(names.text) == ["all", "prev", "mix", "sink", "sink", "mix", "sink", "sink", "word"]
    assert (names.x[4], names.y[4]) == (1, 1)
    for code, role in enumerate(ROLES):
        share = (code - heatmap.zmin) / (heatmap.zmax - heatmap.zmin)
        colour = [colour for place, colour in heatmap.colorscale if place <= share][-1]
        assert colour == KINDS[SHOWN[role].kind], role
    frame = picture.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (0.5, 1.5, 1.5, 2.5)


def test_the_legend_names_every_kind_at_a_value_that_has_its_colour() -> None:
    bar = role_overview(SOME, selected=HeadAt(0, 0)).data[0].colorbar

    assert list(bar.ticktext) == list(KINDS)
    assert [SHOWN[ROLES[int(value)]].kind for value in bar.tickvals] == list(KINDS)


def test_a_click_tells_layer_and_head_and_the_pointer_the_role() -> None:
    cells = role_overview(SOME, selected=HeadAt(0, 0)).layout.meta["cells"]

    assert (cells["click"], cells["value"], tuple(cells["names"])) == ("cell", "role", ROLES)
    assert tuple(cells["rows"]) == ("layer 0", "layer 1", "layer 2")
    assert tuple(cells["columns"])[2] == "head 2"


def test_of_many_heads_only_the_colours_are_drawn_and_layers_may_differ_in_their_heads() -> None:
    many = roles(", ".join(["sink"] * (MOST_WRITTEN + 1)), "broad, mixed")

    (heatmap,) = role_overview(many, selected=HeadAt(0, 0)).data

    assert heatmap.z.shape == (2, MOST_WRITTEN + 1)
    assert np.isnan(heatmap.z[1, 2:]).all()
    assert not np.isnan(heatmap.z[1, :2]).any()


def test_heads_are_counted_by_what_they_do_the_few_by_name() -> None:
    assert overview_answer(SOME) == (
        "Of 9 heads 4 park their attention (sink), 2 do nothing that has a name (mixed: 0.2, 1.2), 1 spreads its "
        "attention over all keys (broad: 0.0), 1 looks at the token before (previous token: 0.1) and 1 looks at one "
        "word (one word: 2.2). A uniform head is called broad."
    )
    more = [*SOME[:2], *roles("sink, sink, sink")]
    assert " Layer 2 has most of the sink heads: 3 of 3. A uniform head" in overview_answer(more)
    assert overview_alt(SOME).endswith("layer 1: 2 sink, 1 mixed; layer 2: 2 sink, 1 one word.")
    assert set(DOES) == set(ROLES) - {TOO_SHORT}


def test_of_too_short_a_text_nothing_is_said() -> None:
    assert overview_answer(roles(TOO_SHORT, TOO_SHORT)).startswith("Too short to tell")


@pytest.mark.parametrize(("way", "verdict"), [(0.8, "so one does"), (0.1, "so none does")])
def test_the_head_that_goes_on_as_before_most_stands_beside_the_uniform_head(way: float, verdict: str) -> None:
    other, most = (Role("mixed", (Evidence("induction", share, 0.02, share),)) for share in (0.01, way))

    said = induction_answer([(other, other), (other, most)])

    assert "Head 1.1 gives most to what followed the query’s word before: " in said
    assert (
        f"{100 * way:.1f}\u202f%; a uniform head gives 2.00\u202f%, {verdict} (Olsson et al. 2022, section 2)." in said
    )
    assert "cannot be told" in induction_answer(roles("mixed"))
