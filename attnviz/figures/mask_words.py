"""What is said of masks: the answers computed from them, and what is seen in their pictures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnviz.core.trace import AttentionTrace
from attnviz.cost import PairCost
from attnviz.errors import listed
from attnviz.figures.answers import quoted
from attnviz.figures.mask_gallery import Example
from attnviz.metrics import Overview
from attnviz.metrics.reach import Reach
from attnviz.numbers import counted, grouped, percent, scaled, significant
from attnviz.shapes import Counts

MOST_LISTED = 3


def queries_named(places: Sequence[int], trace: AttentionTrace) -> str:
    """Queries by number, one alone with its token too: neighbours as a range, and of many others how many they are."""
    chosen = list(places)
    first, last = chosen[0], chosen[-1]
    if len(chosen) == 1:
        return f"query {first} {quoted(trace.query_tokens[first])}"
    if len(chosen) > 2 and last - first == len(chosen) - 1:
        return f"queries {first} to {last}"
    if len(chosen) <= MOST_LISTED:
        return f"queries {listed(chosen).replace(' or ', ' and ')}"
    return f"{counted(len(chosen), 'query', 'queries')} (the first is query {first})"


def capital(words: str) -> str:
    """Words with a capital letter in front."""
    return words[:1].upper() + words[1:]


def mask_answer(small: Overview, head: int) -> str:
    """How many pairs the mask allows, and how many keys a query has."""
    n_allowed = small.n_allowed[head if len(small.n_allowed) > 1 else 0]
    allowed, pairs = int(n_allowed.sum()), n_allowed.size * small.n_k
    least, most = int(n_allowed.min()), int(n_allowed.max())
    each = f"every query sees {counted(least, 'key')}" if least == most else f"a query sees {least} to {most} keys"
    mean = "" if least == most else f", {significant(allowed / n_allowed.size)} on average"
    return f"{grouped(allowed)} of {counted(pairs, 'pair')} are allowed ({percent(allowed / pairs)}): {each}{mean}."


def keys_answer(n_allowed: Counts, trace: AttentionTrace) -> str:
    """The queries with no key, with the fewest and with the most keys; all of them where several have as many."""
    few, many = int(n_allowed.min()), int(n_allowed.max())
    if few == many:
        return f"Every query may attend to {counted(few, 'key')} of {trace.n_k}."
    fewest, most = (np.flatnonzero(n_allowed == count).tolist() for count in (few, many))
    verb = "sees" if len(fewest) == 1 else "see"
    low = f"{verb} no key" if few == 0 else f"{verb} the fewest, {counted(few, 'key')}"
    return (
        f"{capital(queries_named(fewest, trace))} {low}; {queries_named(most, trace)} the most, {many} of {trace.n_k}."
    )


def composition_answer(shares: Sequence[float], together: float) -> str:
    """What each mask allows, and what is left when all must allow it."""
    structure, sparsity, padding = (percent(share) for share in shares)
    return (
        f"Structure allows {structure} of the pairs, sparsity {sparsity}, padding {padding}; "
        f"all three together {percent(together)}."
    )


def saved_answer(whole: PairCost, allowed: PairCost, layer_flops: int) -> str:
    """What computing only the allowed pairs of all heads would save.

    Parameters
    ----------
    whole, allowed
        Cost of all pairs, and of the allowed ones.
    layer_flops
        Operations of the whole layer, its projections too.
    """
    if whole == allowed:
        return "No pair is forbidden, so skipping forbidden pairs saves nothing."
    layer, pairs, few = (scaled(flops, "FLOP", digits=3) for flops in (layer_flops, whole.flops, allowed.flops))
    memory = f"{scaled(allowed.weight_bytes, 'B', digits=3)} instead of {scaled(whole.weight_bytes, 'B', digits=3)}"
    share = percent(1 - allowed.weight_bytes / whole.weight_bytes)
    return (
        f"Of the layer's {layer}, {pairs} are for scores and context, the rest for projections. The allowed pairs "
        f"alone would take {few}, and {memory} for the weights: {share} less. A dense implementation computes every "
        "pair and then hides some, so it saves nothing."
    )


def reachable_answer(found: Reach) -> str:
    """How many pairs are ever reached, and after how many layers."""
    pairs, last = found.n_tokens**2, int(found.n_reached[-1])
    after = counted(found.complete_after, "layer")
    if pairs == 1:
        return "A single token has no other to reach."
    if last == pairs:
        return f"Through {after} every token can reach every other."
    if not found.complete_after:
        return "No token can reach another, however many layers there are."
    share, kept = percent(last / pairs), found.n_only_kept
    own = f": each token keeps itself, also the {grouped(kept)} whose own pair is forbidden" if kept else ""
    return f"Through {after} or more, {grouped(last)} of {counted(pairs, 'pair')} are reachable ({share}){own}."


def depth_answer(found: Reach, trace: AttentionTrace, query: int, depth: int) -> str:
    """Which part of the tokens reaches the chosen one, and when nothing is added any more."""
    reached = int(found.fields_of(query)[min(depth, found.complete_after)])
    n = found.n_tokens
    pairs = found.count_after(depth)
    return (
        f"After {counted(depth, 'layer')} token {query} {quoted(trace.query_tokens[query])} can be reached by "
        f"{reached} of {counted(n, 'token')}, itself among them; of all pairs {percent(pairs / n**2)} are reached."
    )


def growth_answer(found: Reach) -> str:
    """After how many layers all is reached that ever is."""
    last, pairs = int(found.n_reached[-1]), found.n_tokens**2
    share = "that is every pair" if last == pairs else f"{percent(last / pairs)} of all pairs"
    if not found.complete_after:
        return "No layer adds a pair: each token only ever holds itself."
    return f"Every pair that can ever be reached is reached after {counted(found.complete_after, 'layer')}: {share}."


def gallery_answer(examples: Sequence[Example]) -> str:
    """How many masks allow all or nothing, and which of the others allow the most and the least."""
    shares = {example.label: float(example.mask.mean()) for example in examples}
    between = {label: share for label, share in shares.items() if 0 < share < 1}
    full = sum(share == 1 for share in shares.values())
    none = sum(share == 0 for share in shares.values())
    counts = f"Of {counted(len(shares), 'mask')} {full} allow{'s' if full == 1 else ''} every pair and {none or 'no'}"
    counts += " mask allows none" if not none else " allows none" if none == 1 else " allow none"
    if not between:
        return f"{counts}."
    densest, sparsest = (pick(between, key=lambda label: between[label]) for pick in (max, min))
    return (
        f"{counts}; of the others “{densest}” is the densest ({percent(between[densest])}) and “{sparsest}” the "
        f"sparsest ({percent(between[sparsest])})."
    )


def _size(trace: AttentionTrace) -> str:
    return f"{counted(trace.n_q, 'query', 'queries')} (rows) by {counted(trace.n_k, 'key')} (columns)"


def mask_alt(trace: AttentionTrace, small: Overview, head: int) -> str:
    """Alt text of one head's mask."""
    n_allowed = small.n_allowed[head if len(small.n_allowed) > 1 else 0]
    rows = "; ".join(f"query {row} sees {counted(int(count), 'key')}" for row, count in enumerate(n_allowed[:12]))
    return f"Mask, {_size(trace)}: {rows}{'; …' if trace.n_q > 12 else ''}."


def keys_alt(n_allowed: Counts) -> str:
    """Alt text of the number of keys of each query."""
    return f"Line from {n_allowed[0]} at query 0 to {n_allowed[-1]} at query {len(n_allowed) - 1}."


def positions_answer(places: Sequence[int], positions: Sequence[int], *, of_keys: bool) -> str:
    """From which token on positions count, where padding stands before it.

    Parameters
    ----------
    places, positions
        Where the tokens that are not padding stand, and the position of each.
    of_keys
        Whether the queries have positions of their own.
    """
    more = " …" if len(places) > MOST_LISTED else ""
    at, count = (", ".join(map(str, numbers[:MOST_LISTED])) + more for numbers in (places, positions))
    whose = "Positions of keys" if of_keys else "Positions"
    where = "place" if len(places) == 1 else "places"
    return f"{whose} count from the first token that is not padding: {count} ({where} {at})."


def composition_alt(names: Sequence[str], shares: Sequence[float], together: float) -> str:
    """Alt text of the masks side by side."""
    parts = ", ".join(f"{name} allows {percent(share)}" for name, share in zip(names, shares, strict=True))
    return f"Small masks side by side: {parts}, all three together {percent(together)}."


def gallery_alt(examples: Sequence[Example]) -> str:
    """Alt text of the gallery."""
    parts = ", ".join(f"{example.group}: {example.label} {percent(float(example.mask.mean()))}" for example in examples)
    return f"Small masks with the share of the pairs that each allows: {parts}."


def reach_alt(found: Reach, depth: int) -> str:
    """Alt text of the map of what is reached."""
    counts = "; ".join(
        f"token {token} by {counted(int(count), 'token')}" for token, count in enumerate(_sizes(found, depth)[:12])
    )
    return f"Map of what is reached after {counted(depth, 'layer')}: {counts}{'; …' if found.n_tokens > 12 else ''}."


def growth_alt(found: Reach) -> str:
    """Alt text of the line of what is reached."""
    first, last = (percent(found.count_after(depth) / found.n_tokens**2) for depth in (1, found.complete_after))
    return f"Line of the share of pairs reached: {first} after 1 layer, {last} in the end."


def _sizes(found: Reach, depth: int) -> Counts:
    return found.after(depth).sum(axis=1)
