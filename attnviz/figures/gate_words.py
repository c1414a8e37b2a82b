"""How many heads each token needs and what is lost, in words computed from the data."""

from __future__ import annotations

import numpy as np

from attnviz.figures.answers import quoted
from attnviz.metrics.adaptive import Adaptive, Costs
from attnviz.numbers import THIN_SPACE, counted, percent, significant
from attnviz.shapes import Tokens

NOTHING_WRITTEN = "No head writes anything for any query: all of them are off."


def gates_answer(found: Adaptive, kept_share: float, gate_by: str) -> str:
    """Heads on and what that costs, beside all heads."""
    n_heads = len(found.shares)
    if not found.shares.any():
        return NOTHING_WRITTEN
    chosen = f"{100 * kept_share:g}{THIN_SPACE}%"
    change = f"the output changes by {percent(found.change.relative)}, cosine {significant(found.change.cosine)}"
    beside = f"With all {counted(n_heads, 'head')} it would not change."
    if n_heads == 1:
        beside = "It would not change with the only head on."
    if gate_by == "query":
        mean = float(found.n_kept.mean())
        verb = "holds" if mean == 1 else "hold"
        most = f"On average {significant(mean)} of {counted(n_heads, 'head')} {verb} {chosen}"
    else:
        count = int(found.n_kept[0])
        verb = "holds" if count == 1 else "hold"
        most = f"{count} of {counted(n_heads, 'head')} {verb} {chosen}"
    return f"{most} of what is written; {change}. {beside}"


def tokens_words(found: Adaptive, tokens: Tokens) -> str:
    """Which tokens use the most and the fewest heads."""
    counts = found.n_kept
    most, fewest = int(counts.argmax()), int(counts.argmin())
    if counts[most] == counts[fewest]:
        return f"Every token uses {counted(int(counts[most]), 'head')}."
    return (
        f"Most: {quoted(tokens[most])} (query {most}), {counted(int(counts[most]), 'head')}. "
        f"Fewest: {quoted(tokens[fewest])} (query {fewest}), {int(counts[fewest])}."
    )


def gates_alt(found: Adaptive, tokens: Tokens) -> str:
    """Alt text of the map of tokens and heads."""
    counts = ", ".join(
        f"{quoted(token)} {count}" for token, count in zip(tokens[:16], found.n_kept.tolist(), strict=False)
    )
    return f"Map of tokens by heads, with the heads that are on: {counts}{', …' if len(tokens) > 16 else ''}."


def costs_answer(found: Costs, n_heads: int) -> str:
    """Heads and change at half of what is written, and at nine tenths."""
    if np.isnan(found.relative).any():
        return NOTHING_WRITTEN
    words = [
        f"{100 * share:g}{THIN_SPACE}% takes {significant(float(found.n_kept[place]))} heads and changes the output by "
        f"{percent(float(found.relative[place]))}"
        for share in (0.5, 0.9)
        for place in [int(np.argmin(np.abs(found.kept_share - share)))]
    ]
    return f"Holding {'; '.join(words)}. All {n_heads} change nothing."


def costs_alt(found: Costs) -> str:
    """Alt text of the two lines."""
    first, last = (significant(float(found.n_kept[place])) for place in (0, -1))
    return (
        f"Lines over the share to be held: heads on rise from {first} to {last}, while the change of the output falls "
        f"from {percent(float(found.relative[0]))} to {percent(float(found.relative[-1]))}."
    )
