"""What is said of the strongest paths through layers: an answer computed from them, how to read them, what is seen."""

from __future__ import annotations

from attnviz.figures.answers import quoted
from attnviz.metrics.paths import ENOUGH, MOST_LINKS, Path, Routes
from attnviz.metrics.rollout import RESIDUAL
from attnviz.numbers import counted, grouped, percent
from attnviz.shapes import Tokens


def paths_question(query: int, tokens: Tokens) -> str:
    """The question of the picture of paths."""
    return f"Along which paths does the input reach query {query} {quoted(tokens[query])}?"


def paths_answer(routes: Routes, uniform: Routes, query: int, tokens: Tokens) -> str:
    """The strongest path and what all paths over the links drawn hold, each beside uniform attention."""
    first, name = routes.paths[0], f"query {query} {quoted(tokens[query])}"
    even = percent(uniform.paths[0].share)
    said = (
        f"The strongest path to {name} {_way(first, tokens)} and carries {percent(first.share)} of its rollout (the "
        f"strongest with attention uniform over the allowed keys: {even})."
    )
    other = next((path for path in routes.paths if path.tokens[0] != query), None)
    if first.tokens[0] == query and other is not None:
        said += f" The strongest from another token {_way(other, tokens)} and carries {percent(other.share)}."
    drawn, even_drawn = (counted(len(one.layer), "link") for one in (routes, uniform))
    return (
        f"{said} All paths over the {drawn} drawn hold {percent(routes.share)} of its rollout (those over the "
        f"{even_drawn} that uniform attention would have here: {percent(uniform.share)})."
    )


def _way(path: Path, tokens: Tokens) -> str:
    """Where a path comes from and in which layers it goes from one token to another."""
    steps = enumerate(zip(path.tokens, path.tokens[1:], strict=False))
    hops = [(layer, end) for layer, (start, end) in steps if start != end]
    if not hops:
        return "stays at its own token in every layer"
    start = path.tokens[0]
    over = [f"through token {end} {quoted(tokens[end])} in layer {layer}" for layer, end in hops[:-1]]
    between = f", goes {', '.join(over)}" if over else ""
    return f"comes from token {start} {quoted(tokens[start])}{between}, reaches it in layer {hops[-1][0]}"


def paths_caption(n_shown: int, n_tokens: int) -> str:
    """How the picture of paths is read, and which tokens it has."""
    some = ""
    if n_shown < n_tokens:
        some = f"Shown are the {n_shown} of {grouped(n_tokens)} tokens that these links touch. "
    return (
        f"A path carries the product of its links in A = {1 - RESIDUAL:g} W + {RESIDUAL:g} I, W the mean over the "
        "heads; over all paths this sums to the rollout. A level link is the residual connection together with what "
        "a token gives itself. Thickness and opacity grow with the part of the query’s rollout that passes over a link "
        f"on the paths drawn: the strongest ones, until these hold {percent(ENOUGH)} of it or have {MOST_LINKS} links. "
        f"{some}Click a token to choose it. Source: Abnar & Zuidema 2020, section 3 and figure 1."
    )


def paths_alt(routes: Routes, query: int, n_layers: int, tokens: Tokens) -> str:
    """Alt text of the picture of paths."""
    some = "; ".join(
        f"{' to '.join(f'{place} {quoted(tokens[place])}' for place in path.tokens)}, {percent(path.share)}"
        for path in routes.paths[:3]
    )
    shown = counted(len(routes.tokens(query)), "token")
    return (
        f"{counted(len(routes.layer), 'link')} between {n_layers + 1} columns of {shown}, the "
        f"input on the left. Strongest paths: {some}{'; …' if len(routes.paths) > 3 else ''}."
    )
