"""What the pictures of positions show, as sentences computed from the data, and the same for who cannot see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from attnviz.core.shuffling import Shuffled
from attnviz.figures.answers import quoted
from attnviz.figures.position_bars import turned_by
from attnviz.figures.position_lines import heads_drawn, spaced
from attnviz.numbers import MINUS, counted, grouped, percent, significant
from attnviz.positions import Curve, Rotation
from attnviz.positions.similarity import ByDistance, PairScores
from attnviz.shapes import Embedded

SAME = 1e-4
FLOAT_NOISE = 2e-6
ROUNDING = 1e-9
MOST_WHOLE = 1e6
NO_EFFECT = (
    "Nothing is added, turned or biased: attention sees a set of tokens, and only the mask can tell something of "
    "their order."
)
Vector = Float[np.ndarray, " column"]


def added_answer(table: Embedded) -> str:
    """How alike the vectors of near and far places are, and how long they are."""
    length = np.linalg.norm(table, axis=1)
    unit = table / np.where(length > 0, length, 1.0)[:, None]
    far = len(table) // 2
    near_cosine = float((unit[1:] * unit[:-1]).sum(axis=1).mean())
    far_cosine = float((unit[far:] * unit[:-far]).sum(axis=1).mean())
    return (
        f"each position gets a vector of its own, {significant(float(length.mean()))} long on average. Neighbours have "
        f"the cosine {significant(near_cosine)}, positions {far} apart {significant(far_cosine)}, on average."
    )


def clipped(end: float, values: Float[np.ndarray, "..."]) -> str:
    """That some numbers are past the end of the scale, where some are.

    >>> clipped(1.0, np.array([0.5, 2.0])), clipped(2.0, np.array([0.5, 2.0]))
    (' Sizes above 1.00, up to 2.00, have the strongest colour.', '')
    """
    largest = float(np.abs(values).max(initial=0.0))
    if end >= largest:
        return ""
    return f" Sizes above {significant(end)}, up to {significant(largest)}, have the strongest colour."


def added_alt(table: Embedded) -> str:
    """Alt text of what is added."""
    low, high = significant(float(table.min())), significant(float(table.max()))
    return f"Heatmap of {counted(len(table), 'position')} by {counted(table.shape[1], 'column')}, from {low} to {high}."


def vector_answer(vector: Vector, position: int) -> str:
    """Length of one added vector."""
    size, mean_square = float(np.linalg.norm(vector)), float(np.square(vector).mean())
    return (
        f"At position {position} a vector of length {significant(size)} is added: a mean square of "
        f"{significant(mean_square)} a column."
    )


def listed_numbers(vector: Vector, most: int = 8) -> str:
    """The first numbers of a vector, with four decimals.

    >>> listed_numbers(np.array([0.84147, -0.5403]))
    '0.8415, −0.5403'
    """
    shown = ", ".join(f"{value:.4f}".replace("-", MINUS) for value in vector[:most])
    return shown + (", …" if vector.size > most else "")


def curve_answer(curve: Curve) -> str:
    """The smallest and the largest number of a curve, and what they belong to."""
    low, high = int(curve.values.argmin()), int(curve.values.argmax())
    over = curve.over.partition(" (")[0]
    unit = f" {curve.unit}" if curve.unit else ""
    if curve.values[low] == curve.values[high]:
        return f"It is {_plain(float(curve.values[low]))}{unit} for every {over}."
    least, most = (_plain(float(curve.values[place])) for place in (low, high))
    return f"From {least} ({over} {_whole(int(curve.at[low]))}) to {most}{unit} ({over} {_whole(int(curve.at[high]))})."


def _plain(value: float) -> str:
    """A whole number as it is, any other with three digits."""
    return _whole(int(value)) if value.is_integer() and abs(value) < MOST_WHOLE else spaced(value)


def _whole(value: int) -> str:
    return grouped(value).replace("-", MINUS)


def curve_alt(curve: Curve) -> str:
    """Alt text of a curve: its first numbers."""
    over = curve.over.partition(" (")[0]
    first = ", ".join(
        f"{over} {_whole(at)}: {_plain(value)}"
        for at, value in zip(curve.at[:12].tolist(), curve.values[:12].tolist(), strict=True)
    )
    return f"{curve.label} of {counted(curve.at.size, 'value')}: {first}{', …' if curve.at.size > 12 else ''}."


def angles_answer(rotation: Rotation, n_places: int) -> str:
    """How far the fastest and the slowest pair get, and how many complete a turn."""
    angle = rotation.frequencies * (n_places - 1)
    whole = int((angle >= 2 * np.pi).sum())
    pairs = counted(angle.size, "pair")
    return (
        f"At position {n_places - 1} the fastest pair has turned by {turned_by(float(angle.max()))}, the slowest by "
        f"{turned_by(float(angle.min()))}; {whole} of {pairs} {'has' if whole == 1 else 'have'} completed a turn."
    )


def angles_alt(rotation: Rotation, n_places: int) -> str:
    """Alt text of the angles."""
    return f"Rising lines of {counted(rotation.frequencies.size, 'pair')} over {counted(n_places, 'position')}."


def turned_answer(before: Vector, after: Vector) -> str:
    """Whether a turned vector keeps its length."""
    one, other = float(np.linalg.norm(before)), float(np.linalg.norm(after))
    if abs(one - other) <= ROUNDING * one:
        return f"Turning keeps the length: {significant(one)} before and after."
    return (
        f"Its length goes from {significant(one)} to {significant(other)}: what turns is also multiplied, by up to "
        f"{significant(float(_growth(before, after)))}."
    )


def _growth(before: Vector, after: Vector) -> float:
    return float(np.linalg.norm(after) / np.linalg.norm(before))


def turned_alt(before: Vector, after: Vector) -> str:
    """Alt text of a vector before and after turning."""
    return f"Bars of a vector before ({listed_numbers(before)}) and after turning ({listed_numbers(after)})."


def planes_answer(angles: Float[np.ndarray, " pair"], position: int) -> str:
    """By how much the first and the last pair have turned."""
    first = f"At position {position} pair 0 has turned by {turned_by(float(angles[0]))}"
    last = f", pair {angles.size - 1} by {turned_by(float(angles[-1]))}" if angles.size > 1 else ""
    return f"{first}{last}."


def bias_answer(distance: np.ndarray, bias: Float[np.ndarray, "head distance"], head: int) -> str:
    """What the chosen head gives to near and far keys."""
    line = bias[head]
    at_zero, first, last = (float(line[np.flatnonzero(distance == at)[0]]) for at in (0, distance[0], distance[-1]))
    return (
        f"head {head} adds {significant(at_zero)} to the score of its own position, {significant(first)} to that of a "
        f"key {abs(int(distance[0]))} before and {significant(last)} to one {int(distance[-1])} after."
    )


def drawn_from_seed(labels: Sequence[str]) -> str:
    """That the numbers of some methods are not trained.

    >>> drawn_from_seed(["Learned"]), drawn_from_seed([])
    (' The numbers of Learned are untrained: drawn from the seed.', '')
    """
    return f" The numbers of {' and '.join(labels)} are untrained: drawn from the seed." if labels else ""


def some_heads(bias: Float[np.ndarray, "head distance"]) -> str:
    """That only some heads have a line, where that is so."""
    drawn = heads_drawn(bias)
    return f" Lines of the first {drawn} of {counted(len(bias), 'head')}." if drawn < len(bias) else ""


def bias_alt(distance: np.ndarray, bias: Float[np.ndarray, "head distance"], head: int) -> str:
    """Alt text of the bias of all heads."""
    low, high = significant(float(bias[head].min())), significant(float(bias[head].max()))
    return (
        f"Lines of the bias of {counted(len(bias), 'head')} over distances from {_whole(int(distance[0]))} to "
        f"{_whole(int(distance[-1]))}; head {head} goes from {low} to {high}."
    )


def distance_answer(found: Mapping[str, ByDistance]) -> str:
    """For each method whether the distance alone counts, and the score of neighbours and of far places."""
    return " ".join(_distance_words(name, one) for name, one in found.items())


def _distance_words(name: str, found: ByDistance) -> str:
    centre = found.mean.size // 2
    if float(np.abs(found.mean).max()) < ROUNDING and float(found.spread.max()) < ROUNDING:
        return f"{name}: every position is like every other."
    spread = float(found.spread.max())
    alone = (
        "the distance alone counts"
        if spread < ROUNDING
        else f"pairs at the same distance differ by up to {significant(spread)}"
    )
    far = centre // 2 + 1
    near_score, far_score = (_score(float(found.mean[centre - step])) for step in (1, far))
    return f"{name}: {alone}; one token back scores {near_score}, {far} tokens back {far_score}."


def matrices_answer(matrices: Mapping[str, PairScores]) -> str:
    """The range of each map."""
    words = [
        f"{name} from {_score(float(scores.min()))} to {_score(float(scores.max()))}"
        for name, scores in matrices.items()
    ]
    return f"A word at the query's own position scores 0; at all positions, {'; '.join(words)}."


def _score(value: float) -> str:
    return significant(0.0 if abs(value) < ROUNDING else value)


def matrices_alt(matrices: Mapping[str, PairScores]) -> str:
    """Alt text of the maps of places."""
    size = len(next(iter(matrices.values())))
    return f"Heatmaps of {size} by {size} positions: {', '.join(matrices)}. {matrices_answer(matrices)}"


def shuffled_answer(found: Shuffled, *, has_positions: bool, has_mask: bool) -> str:
    """Whether the outputs follow their tokens, with and without positions, and what the mask gives away."""
    same = float(found.without_either.max(initial=0.0))
    parts = [
        f"Without positions and mask the outputs are the same up to order: the largest change is {_change(same)}."
        if same < SAME
        else f"Even without positions and mask outputs change by up to {_change(same)}."
    ]
    if has_mask:
        leak = found.without_positions
        parts.append(
            f"The mask alone {'gives' if leak.max(initial=0.0) >= SAME else 'does not give'} the order away: outputs "
            f"change {_largest_and_mean(leak)}."
        )
    if has_positions:
        used = float(found.with_positions.max(initial=0.0)) >= SAME
        hint = "" if used else "; these weights hardly use them, random ones do"
        parts.append(f"With positions outputs change {_largest_and_mean(found.with_positions)}{hint}.")
    return " ".join(parts)


def _largest_and_mean(change: np.ndarray) -> str:
    return f"by {_change(float(change.max(initial=0.0)))} at most, {_change(float(change.mean()))} on average"


def _change(share: float) -> str:
    if share < FLOAT_NOISE:
        return f"{significant(share)} (rounding)" if share else "0"
    return percent(share)


def shuffled_alt(found: Shuffled) -> str:
    """Alt text of the changes: the token that changes most."""
    most = int(found.with_positions.argmax())
    changes = f"{quoted(found.outputs_of[most])} changes most, by {_change(float(found.with_positions[most]))}"
    return f"Bars of the change of {counted(len(found.outputs_of), 'output')}; with positions {changes}."
