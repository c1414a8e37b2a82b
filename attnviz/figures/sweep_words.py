"""What the number of heads changes at a fixed width, in words computed from the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from attnviz.metrics.sweep import ALIKE, Sweep
from attnviz.numbers import counted, grouped, percent, significant

SAME = 0.005
Reached = Sequence[tuple[int, float]]
"""Numbers of heads, at least two, and the value that each has."""


def course(reached: Reached, shown: Callable[[float], str] = significant, *, with_ends: bool = True) -> str:
    """How a value goes from the fewest heads to the most: steadily, or by way of a lowest or highest one.

    Parameters
    ----------
    reached
        The values, in the order of the numbers of heads.
    shown
        A value as text.
    with_ends
        Whether the fewest and the most heads are named.

    Notes
    -----
    What changes by 0.005 or less counts as no change.

    Examples
    --------
    >>> course([(1, 0.2), (2, 0.4), (4, 0.9)])
    'rises from 0.200 with 1 head to 0.900 with 4'
    >>> course([(1, 0.2), (2, 0.9), (4, 0.4)])
    'goes from 0.200 with 1 head to 0.400 with 4, up and down on the way: highest with 2 (0.900)'
    """
    (few, first), *_, (many, last) = reached
    changes = [after - before for (_, before), (_, after) in pairwise(reached)]
    rises, falls = (any(sign * change > SAME for change in changes) for sign in (1, -1))
    ends = (f" with {counted(few, 'head')}", f" with {grouped(many)}") if with_ends else ("", "")
    if not rises and not falls:
        return f"stays about {shown(first)}"
    verb = "goes" if rises and falls else "rises" if rises else "falls"
    said = f"{verb} from {shown(first)}{ends[0]} to {shown(last)}{ends[1]}"
    if not (rises and falls):
        return said
    lowest, highest = (choose(reached, key=lambda pair: pair[1]) for choose in (min, max))
    between = [
        f"{name} with {grouped(count)} ({shown(value)})"
        for name, (count, value) in (("lowest", lowest), ("highest", highest))
        if count not in (few, many)
    ]
    return f"{said}, up and down on the way{': ' if between else ''}{' and '.join(between)}"


def rank_answer(found: Sweep) -> str:
    """What more heads do to the directions of each, while the parameters stay."""
    first, last = found.points[0], found.points[-1]
    parameters = grouped(last.n_parameters)
    if first is last:
        return f"Only {counted(first.n_heads, 'head')} can be computed: {parameters} parameters."
    scores, weights = (
        course([(point.n_heads, getattr(point, name)) for point in found.points], with_ends=False)
        for name in ("score_effective_rank", "weight_effective_rank")
    )
    return (
        f"From {grouped(first.n_heads)} to {counted(last.n_heads, 'head')} the effective rank of a head's scores "
        f"{scores}; that of its weights {weights}; a uniform head has {significant(last.uniform_effective_rank)}. "
        f"The parameters stay {parameters}."
    )


def entropy_answer(found: Sweep) -> str:
    """How sharply the heads look, the sharpest and the broadest number of heads named."""
    known = [point for point in found.points if not math.isnan(point.entropy_share)]
    if not known:
        return "The entropy is not defined: no query has two keys it may attend to."
    low, high = (choose(known, key=lambda point: point.entropy_share) for choose in (min, max))
    if high.entropy_share - low.entropy_share < SAME:
        return f"The entropy stays {percent(low.entropy_share)} of the largest; a uniform head has all of it."
    return (
        f"Sharpest with {counted(low.n_heads, 'head')}: {percent(low.entropy_share)} of the largest entropy; broadest "
        f"with {counted(high.n_heads, 'head')}: {percent(high.entropy_share)}. A uniform head has all of it."
    )


def alike_answer(found: Sweep) -> str:
    """How alike the heads are, from few of them to many."""
    several = [point for point in found.points if not math.isnan(point.mean_cosine)]
    if not several:
        return "One head has no other to be compared with."
    last = several[-1]
    verb = "lies" if last.n_alike_pairs == 1 else "lie"
    pairs = f"{grouped(last.n_alike_pairs)} of {counted(last.n_pairs, 'pair')} {verb} above {ALIKE}"
    if len(several) == 1:
        cosine = significant(last.mean_cosine)
        return f"With {counted(last.n_heads, 'head')} the mean cosine is {cosine} and {pairs}. Uniform heads: 1."
    reached = course([(point.n_heads, point.mean_cosine) for point in several])
    return f"The mean cosine of two heads {reached}. With {counted(last.n_heads, 'head')} {pairs}. Uniform heads: 1."


def caption(found: Sweep, projections: str, n_q: int, n_k: int) -> str:
    """What the numbers of heads have in common, and what was left out."""
    made = (
        "W_Q and W_K are designed anew for each number, one recipe after the other (Weights: Random cuts the same "
        "matrices instead)."
        if projections == "designed"
        else "The same random W_Q, W_K, W_V and W_O are cut into more heads."
    )
    left = "".join(
        f" Left out, {counted(one.n_heads, 'head')}: {one.reason.replace('`', '')}" for one in found.left_out
    )
    kept = "Input, mask, positions and d_model stay; d_head = d_model / heads, and every head has its own keys."
    return f"{kept} {made}{cut(found, n_q, n_k)}{left}"


def cut(found: Sweep, n_q: int, n_k: int) -> str:
    """Sentence for a longer input; empty where all of it is taken."""
    if found.n_q == n_q and found.n_k == n_k:
        return ""
    return f" Of the input the first {max(found.n_q, found.n_k)} tokens are taken."


def without_entropy(found: Sweep) -> str:
    """Which heads have no part in the mean entropy; empty where all or none have one."""
    some = [
        f"{grouped(point.n_heads - point.n_with_entropy)} of {grouped(point.n_heads)}"
        for point in found.points
        if point.n_with_entropy < point.n_heads
    ]
    if not any(point.n_with_entropy for point in found.points):
        return ""
    return f" (entropy: without {', '.join(some)}, which have no query with two keys)" if some else ""


def below_the_axis(found: Sweep) -> str:
    """Sentence on numbers of heads whose scores are all 0, which a logarithmic axis has no place for."""
    some = [grouped(point.n_heads) for point in found.points if point.score_effective_rank == 0]
    if not some:
        return ""
    return f" The scores of all heads are 0 with {', '.join(some)}: 0 has no place on this axis."


def alt(found: Sweep, name: str, values: Sequence[float]) -> str:
    """Alt text of one of the pictures over the number of heads."""
    words = ", ".join(
        f"{counted(point.n_heads, 'head')} {significant(value)}"
        for point, value in zip(found.points, values, strict=True)
    )
    return f"{name} for each number of heads: {words}."
