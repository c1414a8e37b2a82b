"""What is said of links between tokens: answers computed from them, how to read them, and what is seen."""

from __future__ import annotations

from attnviz.figures.answers import quoted
from attnviz.figures.lines import STRONG
from attnviz.figures.theme import LIGHT
from attnviz.metrics.links import DRAWN_SHARE_OF_QUERY, MOST_LINKS, Hidden, Links, drawn_share
from attnviz.metrics.viewing import View
from attnviz.numbers import THIN_SPACE, counted, grouped, percent, significant
from attnviz.shapes import Tokens

NO_BETTER = 1.05


def lines_question(heads: range, query: int, tokens: Tokens) -> str:
    """The question of the picture of links."""
    whose = f"head {heads[0]}" if len(heads) == 1 else "each head"
    return f"Where does query {query} {quoted(tokens[query])} look in {whose}?"


def lines_answer(
    links: Links, of_query: Links, query: int, query_tokens: Tokens, key_tokens: Tokens, view: View
) -> str:
    """Where the chosen query looks and what share of all attention the links drawn hold, each beside a uniform head."""
    hidden = hidden_answer(links.hidden, view)
    if not links.n_links:
        return f"{hidden}No link is left." if hidden else "The mask allows no pair: there is no link."
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
    of_what = "what is left of the attention" if hidden else "the attention"
    beside = f"as many of a head uniform over the allowed keys would hold {percent(even)}{stands_out}"
    first = _of_query(of_query, query, query_tokens, key_tokens)
    return f"{hidden}{first} {those} {percent(share)} of {of_what}; {beside}."


def _of_query(links: Links, query: int, query_tokens: Tokens, key_tokens: Tokens) -> str:
    name = f"query {query} {quoted(query_tokens[query])}"
    if not links.count:
        return f"No weight of {name} is left." if links.hidden.n_emptied else f"The mask leaves {name} no key."
    head, key, weight = int(links.head[0]), int(links.key[0]), float(links.weight[0])
    return (
        f"The strongest link of {name} leads to key {key} {quoted(key_tokens[key])} in head {head}: "
        f"{significant(weight)}; uniform: {significant(float(links.uniform[0]))}."
    )


def hidden_answer(hidden: Hidden, view: View) -> str:
    """What the hidden keys had, beside a uniform head, and which rows are left empty; empty where none is hidden."""
    if not view.hidden:
        return ""
    count = len(view.hidden)
    keys = "The hidden key" if count == 1 else f"The {count} hidden keys"
    rows = f"{counted(hidden.n_emptied, 'row')} of these heads {'has' if hidden.n_emptied == 1 else 'have'} none left; "
    return (
        f"{keys} had {percent(hidden.share)} of the attention (of a uniform head: {percent(hidden.uniform)}); "
        f"{rows if hidden.n_emptied else ''}what follows is of the rest. "
    )


def lines_caption(heads: range, n_heads: int, head: int, view: View) -> str:
    """How the picture of links is read."""
    words = (
        f"Thickness and opacity grow with the weight, in {len(STRONG)} steps up to the largest drawn; the chosen "
        "query’s links are strong, all others thin and faint. Drawn are the strongest of the query that hold "
        f"{_whole(DRAWN_SHARE_OF_QUERY)} of its attention, and the strongest of all, at most {grouped(MOST_LINKS)}, "
        f"that hold {_whole(drawn_share(heads))}."
    )
    if len(heads) > 1:
        words += " Lines of several heads to one key end side by side."
    words += " Click a token on the left to choose it; drag to zoom."
    if len(heads) > len(LIGHT.heads):
        words += f" Head {head}, the chosen one, has its colour; the other {len(heads) - 1} are grey."
    if 1 < len(heads) < n_heads:
        words += f" Heads {heads[0]} to {heads[-1]} of {n_heads} are drawn."
    if view.hidden:
        words += " weight = weight / Σ of the row’s weights on keys that are not hidden, so that a row sums to 1."
    return f"{words} Source: Vig 2019 (BertViz), section 3."


def _whole(share: float) -> str:
    return f"{100 * share:g}{THIN_SPACE}%"


def lines_alt(links: Links, of_query: Links, heads: range, query_tokens: Tokens, key_tokens: Tokens, badge: str) -> str:
    """Alt text of the picture of links, the strongest of the chosen query named."""
    whose = f"head {heads[0]}" if len(heads) == 1 else counted(len(heads), "head")
    those = (one[:5].tolist() for one in (of_query.head, of_query.query, of_query.key, of_query.weight))
    some = [
        f"query {query} {quoted(query_tokens[query])} to key {key} {quoted(key_tokens[key])} in head {head}, weight "
        f"{significant(weight)}"
        for head, query, key, weight in zip(*those, strict=True)
    ]
    strongest = f" Drawn strong: {'; '.join(some)}{'; …' if of_query.count > 5 else ''}." if some else ""
    seen = f" Shown with {badge}." if badge else ""
    return (
        f"{counted(links.count, 'line')} of {whose} from {counted(len(query_tokens), 'query', 'queries')} on the left "
        f"to {counted(len(key_tokens), 'key')} on the right.{strongest}{seen}"
    )


def table_title(query: int, tokens: Tokens) -> str:
    """Heading of the table of links."""
    return f"The links of query {query} {quoted(tokens[query])} in numbers"


def table_caption(n_shown: int, of_query: Links, n_drawn: int, view: View) -> str:
    """What the table shows and what its file holds."""
    drawn = f"The file has all {counted(n_drawn, 'link')} that are drawn."
    if not n_shown:
        return f"It has no link. {drawn}"
    of_all = counted(of_query.n_links, "link")
    if n_shown == of_query.n_links:
        some = f"All of its {of_all}"
    elif n_shown == 1:
        some = f"The strongest of its {of_all}, with {percent(of_query.share_of_mass(1))} of its attention"
    else:
        some = (
            f"The {n_shown} strongest of its {of_all}, with {percent(of_query.share_of_mass(n_shown))} of its attention"
        )
    over = "the allowed keys that are not hidden" if view.hidden else "the allowed keys"
    return f"{some}, beside what a head uniform over {over} would give. {drawn}"
