"""What is lost without a head, in words computed from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnviz.figures.answers import named
from attnviz.figures.head_names import head_name
from attnviz.metrics.contribution import Change, Pruning
from attnviz.metrics.takeover import Takeover
from attnviz.numbers import counted, percent, significant
from attnviz.picks import HeadAt
from attnviz.shapes import PerHead

TIE = 1e-6
NEARLY_NOTHING = 0.01
SMALL = 0.1
STAND_INS = {"zero": "nothing", "mean": "its mean over the queries"}
NO_OUTPUT = "The output is 0 for every query: no head can be missed."


def equal_heads(n_heads: int) -> float:
    """Change without one of so many heads that write equal lengths at right angles to each other: 1 / √heads."""
    return float(1 / np.sqrt(n_heads))


def removal_answer(changes: PerHead, roles: Sequence[str]) -> str:
    """Which head is missed most and which least, beside equal heads."""
    if np.isnan(changes).any():
        return NO_OUTPUT
    n_heads = len(changes)
    if n_heads == 1:
        return f"Without its only head the output changes by {percent(float(changes[0]))}."
    most, least = int(changes.argmax()), int(changes.argmin())
    beside = (
        f"{counted(n_heads, 'head')} of equal length at right angles would each give {percent(equal_heads(n_heads))}"
    )
    if changes[most] - changes[least] < TIE:
        return f"Removing any one head changes the output by {percent(float(changes[most]))}; {beside}."
    return (
        f"Removing {named(most, roles)} changes the output most, by {percent(float(changes[most]))}; "
        f"{named(least, roles)} least, by {percent(float(changes[least]))}. For comparison, {beside}."
    )


def removal_alt(changes: PerHead, roles: Sequence[str]) -> str:
    """Alt text of the bars of the heads."""
    words = ", ".join(f"{named(head, roles)} {percent(float(change))}" for head, change in enumerate(changes[:16]))
    return f"Bars of how much the output changes without each head: {words}{', …' if len(changes) > 16 else ''}."


def pruning_answer(found: Pruning) -> str:
    """How many heads can go until the output has changed by a tenth, beside a random order; and which go first."""
    if np.isnan(found.greedy).any():
        return NO_OUTPUT
    n_heads = len(found.order)
    few, at_random = (int((values[1:] <= SMALL).cumprod().sum()) for values in (found.greedy, found.random))
    first = ", ".join(str(head) for head in found.order[: min(n_heads, 4)])
    goes = f"The first to go: {first}{', …' if n_heads > 4 else '.'}"
    if not few:
        return (
            f"No head can go without changing the output by more than {percent(SMALL)}: the first, head "
            f"{found.order[0]}, changes it by {percent(float(found.greedy[1]))}. {goes}"
        )
    return (
        f"{few} of {counted(n_heads, 'head')} can go until the output has changed by {percent(SMALL)}; in random order "
        f"{at_random}. {goes}"
    )


def pruning_alt(found: Pruning) -> str:
    """Alt text of the lines of the heads left."""
    n_heads = len(found.order)
    half = n_heads // 2
    return (
        f"Lines from {n_heads} heads left to none: with {half} left the output has changed by "
        f"{percent(float(found.greedy[n_heads - half]))} where the least change goes first, by "
        f"{percent(float(found.random[n_heads - half]))} at random."
    )


def takeover_words(found: Takeover | None, head: int, change: float) -> str:
    """Whether another head could do the removed head's work, for a table's caption."""
    if found is None or np.isnan(change):
        return ""
    if found.left <= NEARLY_NOTHING * change:
        says = "so it can be removed without loss"
    else:
        says = f"and leaves a change of {percent(found.left)} where removing alone gives {percent(change)}"
    return (
        f"Nearest to taking over for head {head} is head {found.head}: it would do so with what it writes multiplied "
        f"by {significant(found.factor)}, {says} (a head that writes the same: by 2.00, and nothing changes)."
    )


def off_words(change: Change, off: Sequence[int], stand_in: str) -> str:
    """What the heads that are switched off now change in the layer."""
    if not off or np.isnan(change.relative):
        return ""
    heads = f"head {off[0]}" if len(off) == 1 else counted(len(off), "head")
    return (
        f"Now {heads} of this layer {'is' if len(off) == 1 else 'are'} off, {STAND_INS[stand_in]} instead: its output "
        f"changes by {percent(change.relative)}, cosine {significant(change.cosine)}."
    )


def importance_answer(changes: Float[np.ndarray, "layer head"]) -> str:
    """Which head of the model is missed most, how many are hardly missed, beside the mean."""
    n_layers, n_heads = changes.shape
    layer, head = (int(place) for place in np.unravel_index(int(changes.argmax()), changes.shape))
    mean, most = float(changes.mean()), float(changes.max())
    few = int((changes < mean / 2).sum())
    return (
        f"Missed most: head {head_name(HeadAt(layer, head), n_layers)}, {significant(most)}. Mean of all "
        f"{n_layers * n_heads} heads: {significant(mean)}; {few} of them are below half of it."
    )


def importance_alt(changes: Float[np.ndarray, "layer head"]) -> str:
    """Alt text of the map of layers and heads."""
    means = ", ".join(f"layer {layer} {significant(float(mean))}" for layer, mean in enumerate(changes.mean(axis=1)))
    return f"Heatmap of layer by head, the change without each head; means: {means}."
