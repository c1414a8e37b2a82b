"""How many directions the heads of all layers use, in words."""

from __future__ import annotations

import numpy as np

from attnviz.figures.rank_layer_words import ranks_alt, scores_answer, weights_answer

RANKS = np.array([[4.0, 2.0], [8.0, 6.0], [1.0, np.nan]])
EVEN = np.array([1.0, 1.0, 4.0])
NOTHING = np.full((2, 2), np.nan)


def test_the_ends_are_named_beside_the_most_that_there_can_be() -> None:
    assert scores_answer(RANKS, 8, "d_head = 8") == (
        "Most: head 1.0 with 8.00 directions; fewest: head 2.0 with 1.00. The scores can have 8 at most (d_head = 8)."
    )


def test_layers_are_compared_beside_the_uniform_head() -> None:
    assert weights_answer(RANKS, EVEN) == (
        "Most: head 1.0 with 8.00 directions; fewest: head 2.0 with 1.00. On average most in layer 1 (7.00), fewest in "
        "layer 2 (1.00). A uniform head has 2.00."
    )
    assert weights_answer(np.ones((2, 2)), EVEN[:2]) == "Every head uses 1.00 directions. A uniform head has 1.00."


def test_where_every_number_is_0_there_is_no_direction() -> None:
    nothing = "No head has a number other than 0: there is no direction."

    assert scores_answer(NOTHING, 8, "d_head = 8") == weights_answer(NOTHING, NOTHING[0]) == nothing
    assert ranks_alt(NOTHING, "scores").endswith("(columns): no number.")


def test_who_cannot_see_the_map_is_told_the_range_of_each_layer() -> None:
    assert ranks_alt(RANKS, "weights") == (
        "Heatmap of the effective rank of the weights, 3 layers (rows) by 2 heads (columns): layer 0 2.00 to 4.00; "
        "layer 1 6.00 to 8.00; layer 2 1.00 to 1.00."
    )
