"""What the pictures of measures show, in words computed from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnviz.figures.answers import baselines, measured_number, named, quoted, same_answer
from attnviz.figures.head_names import head_name
from attnviz.figures.overview_map import ByLayer
from attnviz.figures.received import Beyond
from attnviz.metrics.offsets import Offsets
from attnviz.numbers import MINUS, counted, percent, significant
from attnviz.picks import HeadAt
from attnviz.shapes import Tokens

TIE = 1e-6
MUCH = 0.5
UNDEFINED = "It is not defined for any query of this setting."


def layer_map_answer(means: ByLayer, uniform: ByLayer, roles: Sequence[Sequence[str]], unit: str) -> str:
    """The highest and the lowest head of all layers, beside the uniform head.

    Parameters
    ----------
    means
        The measure of each head; NaN where it is not defined.
    uniform
        The same of a head in its place that is uniform over the allowed keys.
    roles
        What each head is called, of each layer.
    unit
        Of the measure.
    """
    if np.isnan(means).all():
        return UNDEFINED
    units = f" {unit}" if unit else ""
    places = [int(of(means)) for of in (np.nanargmax, np.nanargmin)]
    beside, own = baselines(uniform.ravel(), places, units)
    flat = means.ravel()
    if flat[places[0]] - flat[places[1]] < TIE:
        return same_answer("Every head", float(flat[places[0]]), float(uniform.ravel()[places[0]]), beside, units)
    high, low = (
        f"{named_in_layers(HeadAt(*divmod(place, means.shape[1])), roles)}, "
        f"{measured_number(float(flat[place]))}{units}{baseline}"
        for place, baseline in zip(places, own, strict=True)
    )
    return f"Highest: {high}. Lowest: {low}. For comparison, {beside}."


def named_in_layers(at: HeadAt, roles: Sequence[Sequence[str]]) -> str:
    """A head of one of several layers with what it is called.

    >>> named_in_layers(HeadAt(1, 0), [[""], ["sink"]])
    'head 1.0 (sink)'
    """
    role = roles[at.layer][at.head]
    return f"head {head_name(at, len(roles))}{f' ({role})' if role else ''}"


def layer_map_alt(means: ByLayer, name: str) -> str:
    """Alt text of the map of all layers."""
    n_layers, n_heads = means.shape
    size = f"{counted(n_layers, 'layer')} (rows) by {counted(n_heads, 'head')} (columns)"
    if np.isnan(means).all():
        return f"Heatmap of {name}, {size}, without a number."
    low, high = (significant(float(of(means))) for of in (np.nanmin, np.nanmax))
    return f"Heatmap of {name}, {size}: from {low} to {high}."


def offsets_answer(found: Offsets, name: str) -> str:
    """The offset that gets most, and how spread out the rest is, beside the uniform head.

    Parameters
    ----------
    found
        Shares at each offset.
    name
        What the head is called.
    """
    if not found.share.any():
        return "No query has a key it may attend to."
    best = int(found.share.argmax())
    looks, even = (float((np.abs(found.offsets) * of).sum()) for of in (found.share, found.uniform))
    return (
        f"{name[0].upper()}{name[1:]} gives {percent(float(found.share[best]))} of its attention to offset "
        f"{signed(int(found.offsets[best]))}; a uniform head gives {percent(float(found.uniform[best]))}. "
        f"Mean distance: {measured_number(looks)} tokens, uniform {measured_number(even)}."
    )


def signed(offset: int) -> str:
    """An offset with its sign, in words where it is the query's own place.

    >>> signed(-1), signed(0), signed(2)
    ('−1', '0 (its own place)', '+2')
    """
    return "0 (its own place)" if offset == 0 else f"{'+' if offset > 0 else MINUS}{abs(offset)}"


def offsets_alt(found: Offsets, name: str) -> str:
    """Alt text of the distribution over offsets."""
    best = [place for place in np.argsort(-found.share, kind="stable")[:3] if found.share[place] >= TIE]
    words = ", ".join(
        f"offset {signed(int(found.offsets[place]))} {percent(float(found.share[place]))}" for place in best
    )
    return f"Bars of the attention of {name} at each offset of the key from the query; the largest: {words}."


def received_answer(beyond: Beyond, uniform: Float[np.ndarray, "#head k"], tokens: Tokens, roles: Sequence[str]) -> str:
    """The key that gets most beyond the uniform head, and how many heads have such a key."""
    head, key = (int(place) for place in np.unravel_index(int(beyond.argmax()), beyond.shape))
    if beyond[head, key] < TIE:
        return "No key gets more than a uniform head gives it."
    even = float(uniform[head if len(uniform) > 1 else 0, key])
    mean = significant(float(beyond[head, key]) + even)
    at_least_half = int((beyond.max(axis=1) >= MUCH).sum())
    heads = counted(at_least_half, "head gives", "heads give") if at_least_half else "No head gives"
    return (
        f"Most: {named(head, roles)} gives key {key} {quoted(tokens[key])} {mean} on average; a uniform head gives it "
        f"{significant(even)}. {heads} some key at least {MUCH:g} more than a uniform head does."
    )


def received_alt(beyond: Beyond, tokens: Tokens, heads: range) -> str:
    """Alt text of what each key receives."""
    words = ", ".join(
        f"head {head} key {int(beyond[head].argmax())} {quoted(tokens[int(beyond[head].argmax())])} "
        f"{significant(float(beyond[head].max()))}"
        for head in heads[:16]
    )
    more = ", …" if len(heads) > 16 else ""
    return (
        f"Heatmap of the mean weight that each key gets from each head beyond a uniform head; the most: {words}{more}."
    )
