"""What heads write together, and what the layer's own outputs say of heads that are off."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnviz.core.affine import Affine
from attnviz.core.gating import gates_without
from attnviz.metrics.contribution import change_without, pruning, written
from attnviz.metrics.gated import change_between, change_of_output
from attnviz.metrics.together import together
from tests.metrics.test_contribution import FOUR, duplicated, every_stand_in, with_bias


@every_stand_in
@pytest.mark.parametrize("removed", [(), (2,), (0, 2), (0, 1, 2, 3)])
def test_the_layer_without_heads_and_the_products_of_what_they_write_give_one_change(
    stand_in: str, removed: tuple[int, ...]
) -> None:
    trace = replace(with_bias(FOUR), gates=gates_without(removed, 4, stand_in))
    keeps = np.ones((4, 1), dtype=bool) if trace.gates is None else trace.gates.keeps

    run, products = change_of_output(trace), change_without(written(trace, stand_in), keeps)

    assert run.relative == pytest.approx(products.relative, abs=1e-6)
    assert run.cosine == pytest.approx(products.cosine, abs=1e-6)
    np.testing.assert_allclose(run.at, products.at, rtol=0, atol=1e-6)
    streamed = change_of_output(replace(trace, kept=None), context=FOUR.context)
    assert streamed.relative == pytest.approx(run.relative, abs=1e-6)


def test_a_change_of_nothing_is_not_defined_and_an_output_that_is_gone_has_no_angle() -> None:
    nothing, some = np.zeros((2, 3)), np.ones((2, 3))

    assert np.isnan(change_between(nothing, some).relative)
    gone = change_between(some, nothing)
    assert gone.relative == 1
    assert np.isnan(gone.cosine)


@every_stand_in
def test_heads_and_what_is_never_removed_add_up_to_the_output(stand_in: str) -> None:
    made = written(with_bias(FOUR), stand_in)
    found = together(made)

    assert found.heads == pytest.approx(pruning(made).greedy[-1])
    assert found.heads**2 + found.rest**2 + 2 * found.cosine * found.heads * found.rest == pytest.approx(1)
    assert found.agreement == pytest.approx(found.heads / found.apart)


def test_without_a_bias_all_heads_off_change_all_of_the_output() -> None:
    found = together(written(FOUR))

    assert found.heads == pytest.approx(1)
    assert (found.rest, np.isnan(found.cosine)) == (0, True)


def test_a_bias_against_the_heads_makes_the_curve_end_above_the_output() -> None:
    W = FOUR.origin.to_output.W
    against = Affine(W, (-0.4 * FOUR.output.mean(axis=0)).astype(W.dtype))
    made = written(replace(FOUR, origin=replace(FOUR.origin, to_output=against)))

    assert together(made).cosine < 0
    assert pruning(made).greedy[-1] == pytest.approx(together(made).heads)
    assert together(made).heads > 1


def test_equal_heads_agree_by_the_root_of_their_number_and_opposite_ones_cancel() -> None:
    made = {scale: written(duplicated(scale)).gram[:, :2, :2] for scale in (1.0, -1.0)}
    alone = {scale: np.pad(gram, ((0, 0), (0, 1), (0, 1))) for scale, gram in made.items()}

    both = together(replace(written(FOUR), gram=alone[1.0]))

    assert both.agreement == pytest.approx(np.sqrt(2))
    assert alone[-1.0].sum() == pytest.approx(0, abs=1e-6)
