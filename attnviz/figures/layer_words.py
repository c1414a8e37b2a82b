"""What is said of links, rollout and flow: answers computed from them, how to read them, and what is seen."""

from __future__ import annotations

import numpy as np

from attnviz.figures.answers import quoted
from attnviz.figures.flow import PerShown, PerToken
from attnviz.figures.lines import OPACITIES
from attnviz.figures.theme import LIGHT
from attnviz.metrics.flow import largest_error
from attnviz.metrics.links import Links
from attnviz.metrics.rollout import RESIDUAL
from attnviz.numbers import counted, grouped, percent, significant
from attnviz.shapes import Matrix, Tokens

NO_BETTER = 1.05
TIE = 1e-9


def lines_answer(links: Links, of_query: Links, query: int, query_tokens: Tokens, key_tokens: Tokens) -> str:
    """What share of the attention the strongest links hold, beside a uniform head, and where the chosen query looks."""
    if not links.n_links:
        return "The mask allows no pair: there is no link."
    is_whole = links.count == links.n_links
    most = max(1, links.n_links // 10) if is_whole else links.count
    share, even = links.share_of_mass(most), links.uniform_share(most)
    if is_whole:
        some = "holds" if most == 1 else f"{grouped(most)} hold"
        those = f"All {counted(links.n_links, 'link')} are drawn; the strongest {some}"
    elif most == 1:
        those = f"The strongest of {grouped(links.n_links)} links holds"
    else:
        those = f"The {grouped(most)} strongest of {grouped(links.n_links)} links hold"
    stands_out = "; no link stands out" if share < NO_BETTER * even else ""
    beside = f"as many of a head uniform over the allowed keys would hold {percent(even)}{stands_out}"
    return (
        f"{those} {percent(share)} of the attention; {beside}. {_of_query(of_query, query, query_tokens, key_tokens)}"
    )


def _of_query(links: Links, query: int, query_tokens: Tokens, key_tokens: Tokens) -> str:
    name = f"query {query} {quoted(query_tokens[query])}"
    if not links.count:
        return f"The mask leaves {name} no key."
    head, key, weight = int(links.head[0]), int(links.key[0]), float(links.weight[0])
    uniform = significant(1 / int(links.allowed_keys.min()))
    return (
        f"The strongest of {name} leads to key {key} {quoted(key_tokens[key])} in head {head}: {significant(weight)}; "
        f"uniform: {uniform}."
    )


def lines_caption(heads: range, n_heads: int) -> str:
    """How the picture of links is read."""
    words = (
        f"Thickness and opacity grow with the weight, in {len(OPACITIES)} steps up to the largest drawn; the chosen "
        "query’s links are strong, all others lighter. Click a token on the left to choose it; drag to zoom."
    )
    if len(heads) < n_heads:
        words += f" Heads {heads[0]} to {heads[-1]} of {n_heads} are drawn."
    if len(heads) > len(LIGHT.heads):
        words += f" Colours repeat every {len(LIGHT.heads)} heads."
    return f"{words} Source: Vig 2019 (BertViz), section 3."


def lines_alt(links: Links, heads: range, query_tokens: Tokens, key_tokens: Tokens) -> str:
    """Alt text of the picture of links."""
    whose = f"head {heads[0]}" if len(heads) == 1 else counted(len(heads), "head")
    some = [
        f"query {query} {quoted(query_tokens[query])} to key {key} {quoted(key_tokens[key])}, weight "
        f"{significant(weight)}"
        for query, key, weight in zip(links.query[:5].tolist(), links.key[:5].tolist(), links.weight[:5], strict=True)
    ]
    strongest = f" Strongest: {'; '.join(some)}." if some else ""
    return (
        f"{counted(links.count, 'line')} of {whose} from {counted(len(query_tokens), 'query', 'queries')} on the left "
        f"to {counted(len(key_tokens), 'key')} on the right.{strongest}"
    )


def through(index: int) -> str:
    """The layers from the chosen one down to the input.

    >>> through(0), through(5)
    ('layer 0', 'layers 0 to 5')
    """
    return f"layers 0 to {index}" if index else "layer 0"


def rollout_answer(rolled: Matrix, uniform: Matrix, index: int, query: int, tokens: Tokens) -> str:
    """Which other input token the chosen query is made of most, and how much of it is still its own token."""
    row, even = rolled[query], uniform[query]
    name = f"query {query} {quoted(tokens[query])}"
    if len(tokens) == 1:
        return "With one token there is nothing else to be made of."
    others = np.where(np.arange(len(row)) == query, -1.0, row)
    most = int(others.argmax())
    if others[most] <= TIE:
        return f"After {through(index)}, {name} is made of its own token alone."
    words = (
        f"After {through(index)}, {percent(row[most])} of {name} comes from token {most} {quoted(tokens[most])} "
        f"(with attention uniform over the allowed keys: {percent(even[most])}), and {percent(row[query])} from its "
        f"own token (uniform: {percent(even[query])})."
    )
    return words if index else f"{words} With one layer this is half its attention and half itself."


def rollout_caption() -> str:
    """How the rollout is computed and what it takes for granted."""
    return (
        f"rollout = A_l ··· A_1 A_0, A = {1 - RESIDUAL:g} W + {RESIDUAL:g} I with rows normalised: shares of the input "
        "tokens, each row sums to 1. W is the mean over the heads and the residual connection counts as half; values, "
        "W_O and the feed-forward part are left out. Source: Abnar & Zuidema 2020, section 3."
    )


def raw_answer(weights: Matrix, uniform: Matrix, index: int, query: int, tokens: Tokens) -> str:
    """What the chosen query looks at most in this layer alone."""
    key = int(weights[query].argmax())
    if not weights[query, key]:
        return f"The mask leaves query {query} {quoted(tokens[query])} no key."
    return (
        f"In layer {index} alone it looks most at key {key} {quoted(tokens[key])}: {percent(weights[query, key])}; "
        f"uniform: {percent(uniform[query, key])}."
    )


def map_alt(shares: Matrix, tokens: Tokens, what: str) -> str:
    """Alt text of a map of tokens by tokens."""
    n = len(tokens)
    lines = [
        f"query {row} {quoted(tokens[row])} mostly {key} {quoted(tokens[key])}"
        for row, key in enumerate(shares[:12].argmax(axis=1).tolist())
    ]
    return f"Heatmap of the {what}, {n} rows by {n} columns: {'; '.join(lines)}{'; …' if n > 12 else ''}."


def flow_answer(
    flows: PerToken, rolled: PerToken, uniform: PerShown, shown: list[int], query: int, tokens: Tokens
) -> str:
    """Which input token most could come from, how even the flows are, and where the rollout says otherwise."""
    most, rolled_most = int(flows.argmax()), int(rolled.argmax())
    even = uniform[shown.index(most)]
    words = (
        f"Up to {percent(flows[most])} of query {query} {quoted(tokens[query])} could come from token {most} "
        f"{quoted(tokens[most])} (uniform attention: {percent(even)}), and {percent(float(flows.min()))} at least "
        "from any."
    )
    if rolled_most == most or flows[most] - flows[rolled_most] < TIE:
        return f"{words} Rollout puts the same token first, with {percent(rolled[most])}."
    shares = flows / max(float(flows.sum()), TIE)
    apart = int(np.abs(shares - rolled).argmax())
    return (
        f"{words} Rollout puts token {rolled_most} {quoted(tokens[rolled_most])} first, with "
        f"{percent(rolled[rolled_most])}. They are furthest apart at token {apart} {quoted(tokens[apart])}: "
        f"{percent(shares[apart])} of all flow, {percent(rolled[apart])} of the rollout."
    )


def flow_caption(n_tokens: int, n_layers: int, n_shown: int) -> str:
    """How the flow is computed and what it takes for granted."""
    error = significant(largest_error(n_tokens, n_layers), 1)
    some = f" The {n_shown} tokens with the largest flow are shown." if n_shown < n_tokens else ""
    return (
        f"flow = largest flow from the query to an input token through edges of capacity {1 - RESIDUAL:g} W + "
        f"{RESIDUAL:g} I, from 0 to 1, each token by itself, to within {error}; "
        "W is the mean over the heads; values, W_O and the feed-forward part are left out. It is never less than "
        "the rollout, which sends attention on in fixed shares."
        f"{some} Source: Abnar & Zuidema 2020, section 4."
    )


def flow_alt(flows: PerToken, shown: list[int], tokens: Tokens) -> str:
    """Alt text of the bars of flow."""
    some = ", ".join(f"{place} {quoted(tokens[place])} {significant(float(flows[place]))}" for place in shown[:8])
    return f"Bars of the flow to {counted(len(shown), 'input token')}: {some}{', …' if len(shown) > 8 else ''}."
