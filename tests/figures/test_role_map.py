"""How far each head is on the way to each role: cells that do not apply are told from cells at 0."""

from __future__ import annotations

import numpy as np

from attnviz.figures import role_map
from attnviz.figures.roles import LEGEND, ROLES, WITHOUT
from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics.roles import Evidence, Role

FOUND = (
    Role("sink", (Evidence("sink", 0.9, 0.2, 0.875, 0), Evidence("previous token", 0.1, 0.2, -0.125))),
    Role("broad", tuple(Evidence(role, 1.0, 1.0, 0.5) for role in ROLES)),
)


def test_a_cell_that_does_not_apply_has_the_colour_of_forbidden_cells_and_one_at_0_has_not() -> None:
    heatmap = role_map(FOUND, range(2), selected=0, scale=SINGLE_HUE).data[0]

    applies = heatmap.z >= 0
    assert [ROLES[column] for column in np.flatnonzero(applies[0])] == ["previous token", "sink"]
    np.testing.assert_array_equal(heatmap.z[0, applies[0]], np.float32([0, 0.875]))
    np.testing.assert_array_equal(heatmap.z[1], np.float32(0.5))
    assert len(set(heatmap.z[~applies])) == 1
    share = (heatmap.z[~applies][0] - heatmap.zmin) / (heatmap.zmax - heatmap.zmin)
    assert [colour for place, colour in heatmap.colorscale if place <= share][-1] == LIGHT.forbidden
    zero = (0 - heatmap.zmin) / (heatmap.zmax - heatmap.zmin)
    assert [colour for place, colour in heatmap.colorscale if place <= zero + 1e-9][-1] == LIGHT.weights[0]


def test_the_legend_and_the_pointer_say_that_a_cell_does_not_apply() -> None:
    picture = role_map(FOUND, range(2), selected=0, scale=SINGLE_HUE)

    heatmap = picture.data[0]
    assert list(heatmap.colorbar.ticktext) == [WITHOUT, *LEGEND]
    assert heatmap.colorbar.tickvals[0] == heatmap.z.min()
    assert picture.layout.meta["cells"]["below"] == WITHOUT


def test_where_every_cell_applies_the_legend_has_no_entry_for_others() -> None:
    heatmap = role_map(FOUND[1:], range(1), selected=0, scale=SINGLE_HUE).data[0]

    assert list(heatmap.colorbar.ticktext) == list(LEGEND)
    assert heatmap.zmin == 0
