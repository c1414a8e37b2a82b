"""How many heads each token needs and what is lost, in words computed from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.figures.answers import quoted
from attnviz.metrics.adaptive import Adaptive, Costs, GatedModel
from attnviz.numbers import THIN_SPACE, counted, percent, significant
from attnviz.shapes import Tokens

MOST_NAMED = 5
NOTHING_WRITTEN = "No head writes anything for any query: all of them are off."


def gates_answer(found: Adaptive, kept_share: float) -> str:
    """Heads on and what that costs, beside all heads."""
    n_heads = len(found.shares)
    if not found.shares.any():
        return NOTHING_WRITTEN
    chosen = f"{100 * kept_share:g}{THIN_SPACE}%"
    average = "on average " if found.n_kept.min() < found.n_kept.max() else ""
    verb = "holds" if found.n_kept.mean() == 1 else "hold"
    most = f"{average}{heads_on([found])} of {counted(n_heads, 'head')} {verb} {chosen}"
    most = most[0].upper() + most[1:]
    if found.n_kept.min() == n_heads:
        return f"{most} of what is written: all are on, and the output does not change."
    return (
        f"{most} of what is written. Without the others the output changes by {percent(found.change.relative)}, cosine "
        f"{significant(found.change.cosine)}; without as many at random by {percent(found.at_random)}."
    )


def query_words(found: Adaptive, query: int, tokens: Tokens) -> str:
    """Which heads one query uses, the largest share first, and what it loses."""
    on = np.broadcast_to(found.keeps, found.shares.shape)[:, query]
    shares = found.shares[:, query]
    if not shares.any():
        return f"Query {query} {quoted(tokens[query])} has no key: no head writes anything for it."
    order = [int(head) for head in np.argsort(-shares, kind="stable") if on[head]]
    named = [f"{head} ({percent(float(shares[head]))})" for head in order[:MOST_NAMED]]
    more = f" and {len(order) - MOST_NAMED} more" if len(order) > MOST_NAMED else ""
    return (
        f"Query {query} {quoted(tokens[query])} uses {counted(len(order), 'head')}, together "
        f"{percent(float(shares[on].sum()))} of what is written for it: {', '.join(named)}{more}. Its output changes "
        f"by {percent(float(found.change.at[query]))}."
    )


def tokens_words(found: Adaptive, tokens: Tokens) -> str:
    """Which tokens use the most and the fewest heads; empty for one token."""
    if len(tokens) == 1:
        return ""
    counts = found.n_kept
    most, fewest = int(counts.argmax()), int(counts.argmin())
    if counts[most] == counts[fewest]:
        return f"Every token uses {counted(int(counts[most]), 'head')}."
    with_most, with_fewest = (int((counts == counts[place]).sum()) for place in (most, fewest))
    return (
        f"Most: {counted(int(counts[most]), 'head')}, {_first_of(with_most)}{quoted(tokens[most])} (query {most}). "
        f"Fewest: {int(counts[fewest])}, {_first_of(with_fewest)}{quoted(tokens[fewest])} (query {fewest})."
    )


def _first_of(count: int) -> str:
    return f"for {count} tokens, the first " if count > 1 else "for "


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
    if n_heads == 1:
        return "The only head holds all that is written: with it on nothing changes."
    words = [
        f"{100 * share:g}{THIN_SPACE}% takes {_mean_heads(float(found.n_kept[place]))} and changes the output by "
        f"{percent(float(found.relative[place]))}"
        for share in (0.5, 0.9)
        for place in [int(np.argmin(np.abs(found.kept_share - share)))]
    ]
    return f"Holding {'; '.join(words)}. All {n_heads} change nothing."


def _mean_heads(mean: float) -> str:
    return counted(int(mean), "head") if mean.is_integer() else f"{significant(mean)} heads"


def costs_alt(found: Costs) -> str:
    """Alt text of the two lines."""
    first, last = (significant(float(found.n_kept[place])) for place in (0, -1))
    return (
        f"Lines over the share to be held: heads on rise from {first} to {last}, while the change of the output falls "
        f"from {percent(float(found.relative[0]))} to {percent(float(found.relative[-1]))}."
    )


def heads_on(found: Sequence[Adaptive]) -> str:
    """Heads on in some layers together: their number, or its mean where it differs from query to query."""
    total = float(sum(one.n_kept.mean() for one in found))
    if all(one.n_kept.min() == one.n_kept.max() for one in found):
        return str(round(total))
    return significant(total)


def layers_answer(found: Sequence[Adaptive], kept_share: float) -> str:
    """Heads on in all layers together, and in which layers most and fewest."""
    means = [float(one.n_kept.mean()) for one in found]
    count = sum(len(one.shares) for one in found)
    most, fewest = int(np.argmax(means)), int(np.argmin(means))
    average = "on average " if any(one.n_kept.min() < one.n_kept.max() for one in found) else ""
    words = (
        f"To hold {100 * kept_share:g}{THIN_SPACE}% of what is written in every layer, {average}{heads_on(found)} of "
        f"{count} heads are on"
    )
    if means[most] == means[fewest]:
        return f"{words}, {heads_on(found[:1])} in each layer."
    return (
        f"{words}: most in layer {most}, {heads_on([found[most]])}, fewest in layer {fewest}, "
        f"{heads_on([found[fewest]])}."
    )


def layers_alt(found: Sequence[Adaptive]) -> str:
    """Alt text of the map of layers and heads."""
    means = ", ".join(f"layer {place} {heads_on([one])}" for place, one in enumerate(found))
    return f"Map of layer by head, for what share of the tokens each is on; heads on: {means}."


def lost_answer(found: Sequence[Adaptive]) -> str:
    """Which layer's output changes most and which least, beside as many heads at random."""
    changes = np.array([one.change.relative for one in found])
    if np.isnan(changes).any():
        return NOTHING_WRITTEN
    most, least = int(changes.argmax()), int(changes.argmin())
    if changes[most] == 0:
        return "All heads are on in every layer: no output changes."
    ends = ((most, "most"), (least, "least"))
    words = [
        f"that of layer {place} {how}, by {percent(float(changes[place]))} (as many at random: "
        f"{percent(found[place].at_random)})"
        for place, how in (ends if most != least else ends[:1])
    ]
    return f"Each layer’s output changes, {', '.join(words)}."


def lost_alt(found: Sequence[Adaptive]) -> str:
    """Alt text of the bars of the layers."""
    words = ", ".join(f"layer {place} {percent(one.change.relative)}" for place, one in enumerate(found))
    return f"Bars of how much each layer’s output changes with the fewest heads: {words}."


def model_words(found: GatedModel, n_heads: int) -> str:
    """What all these gates together do to the embedding of the text, beside heads at random and gates set anew."""
    if found.embedding == 0 == found.at_random:
        return "All heads of the model are on, and the embedding of the text does not change."
    return (
        f"All these heads off together, in one run of the model, change the embedding of the text by "
        f"{percent(found.embedding)} (1 − cosine); as many for each token drawn at random change it by "
        f"{percent(found.at_random)}. In that run later layers get another input: where each layer chooses by what "
        f"its heads write then, {significant(found.n_kept_anew)} of {n_heads} are on, and the embedding changes by "
        f"{percent(found.anew)}."
    )
