"""What is lost without a head, in words computed from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnviz.figures.answers import named
from attnviz.figures.head_names import head_name
from attnviz.metrics.contribution import Change, Pruning
from attnviz.metrics.takeover import Takeover
from attnviz.metrics.together import Together
from attnviz.numbers import THIN_SPACE, counted, percent, significant
from attnviz.picks import HeadAt
from attnviz.shapes import PerHead

TIE = 1e-6
NEARLY_NOTHING = 0.01
SMALL = 0.1
EVEN = 0.02
STAND_INS = {"zero": "nothing", "mean": "its mean over the queries"}
PARTS = {"zero": "p_h", "mean": "d_h"}
WHAT_GOES = {"zero": "what it writes", "mean": "what it writes less its mean over the queries"}
NO_OUTPUT = "The output is 0 for every query: no head can be missed."


def equal_heads(found: Together, n_heads: int) -> float:
    """Change without one of so many heads of equal length at right angles that together are as long as these.

    Without a bias that is 1 / √heads.
    """
    return found.heads / float(np.sqrt(n_heads))


def removal_answer(changes: PerHead, equal: float, roles: Sequence[str]) -> str:
    """Which head is missed most and which least, beside equal heads."""
    if np.isnan(changes).any():
        return NO_OUTPUT
    n_heads = len(changes)
    if n_heads == 1:
        return f"Without its only head the output changes by {percent(float(changes[0]))}."
    most, least = int(changes.argmax()), int(changes.argmin())
    beside = f"{counted(n_heads, 'head')} of equal length at right angles would each give {percent(equal)}"
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
    if n_heads == 1:
        return f"The only head cannot go: without it the output changes by {percent(float(found.greedy[1]))}."
    few, at_random = (int((values[1:] <= SMALL).cumprod().sum()) for values in (found.greedy, found.random))
    first = ", ".join(str(head) for head in found.order[: min(n_heads, 4)])
    goes = f"The first {'four ' if n_heads > 4 else ''}to go: {first}."
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


def takeover_words(found: Takeover | None, head: int, change: float, stand_in: str) -> str:
    """Whether another head could do the removed head's work, for a table's caption."""
    if found is None or np.isnan(change):
        return ""
    if found.left <= NEARLY_NOTHING * change:
        says = "so it can be removed without loss"
    else:
        says = f"and leaves a change of {percent(found.left)} where removing alone gives {percent(change)}"
    return (
        f"Nearest to taking over for head {head} is head {found.head}: it would do so with "
        f"{WHAT_GOES[stand_in]} multiplied by {significant(found.factor)}, {says} (a head that writes the same: by "
        "2.00, and nothing changes)."
    )


def off_words(change: Change, them: str) -> str:
    """What the heads that are switched off, called `them`, change in the output of their layer."""
    if np.isnan(change.relative):
        return "The output is 0 with all heads on too."
    cosine = "" if np.isnan(change.cosine) else f" (cosine {significant(change.cosine)})"
    return f"Without {them} the output changes by {percent(change.relative)}{cosine}."


def none_left_words(found: Together, stand_in: str, *, has_bias: bool) -> str:
    """Where the curve of removed heads ends, and why it ends there."""
    if np.isnan(found.heads):
        return ""
    bias = "the bias b_O" if has_bias else ""
    rest = " and ".join(filter(None, ("the means of the heads" if stand_in == "mean" else "", bias)))
    if not rest or not found.rest:
        return f"With no head left nothing remains: a change of {percent(found.heads)}."
    remains = f"With no head left what remains is {rest}, {percent(found.rest)} as long as the output"
    if found.heads <= 1:
        return f"{remains}: a change of {percent(found.heads)}."
    return (
        f"{remains}, and it points against what went (cosine {significant(found.cosine)}), which is therefore longer "
        f"than the output: a change of {percent(found.heads)}."
    )


def agreement_words(found: Together, n_heads: int, stand_in: str) -> str:
    """Whether heads write with or against each other, beside heads at right angles and heads that write the same."""
    share = found.agreement
    if np.isnan(share) or n_heads == 1:
        return ""
    how = "nearly at right angles to" if abs(share - 1) < EVEN else "in part with" if share > 1 else "in part against"
    part = PARTS[stand_in]
    who = "Less their means, heads" if stand_in == "mean" else "Heads"
    return (
        f"{who} write {how} each other: ‖Σ{part}‖ / √Σ‖{part}‖² = {significant(share)}, which is 1 at right angles and "
        f"√heads = {significant(float(np.sqrt(n_heads)))} where all write the same."
    )


def above_words(found: Pruning) -> str:
    """What a change of more than all of the output means; empty where there is none."""
    most = max(float(np.nan_to_num(values).max()) for values in (found.greedy, found.smallest, found.random))
    return f"Above 100{THIN_SPACE}%: what went and what is left point against each other." if most > 1 + TIE else ""


def importance_answer(changes: Float[np.ndarray, "layer head"]) -> str:
    """Which heads of the model are missed most, and how little all others are, beside the mean."""
    n_layers, n_heads = changes.shape
    order = np.argsort(-changes, axis=None, kind="stable")
    ranked, mean = changes.ravel()[order], float(changes.mean())
    if ranked[0] <= TIE:
        return "No head changes the embedding of this text when it is removed alone."
    names = [head_name(HeadAt(*divmod(int(place), n_heads)), n_layers) for place in order[:2]]
    words = [f"Without head {names[0]} the embedding changes by {percent(float(ranked[0]))}"]
    if len(ranked) > 1:
        words.append(f"without {names[1]} by {percent(float(ranked[1]))}")
    if len(ranked) > 2:
        half = percent(float(np.median(ranked)))
        words.append(f"without any one of the other {len(ranked) - 2} by at most {percent(float(ranked[2]))}")
        return (
            f"{', '.join(words)}; half of all {len(ranked)} heads give less than {half}, the mean is {percent(mean)}."
        )
    return f"{', '.join(words)}; the mean is {percent(mean)}."


def importance_alt(changes: Float[np.ndarray, "layer head"]) -> str:
    """Alt text of the map of layers and heads."""
    means = ", ".join(f"layer {layer} {percent(float(mean))}" for layer, mean in enumerate(changes.mean(axis=1)))
    return f"Heatmap of layer by head, the change without each head; means: {means}."
