"""The strongest links of heads, as lines between two columns of tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.figures.labels import escaped, token_axis, visible
from attnviz.figures.meta import Ticks, tick_labels, with_badge
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.figures.viewing_words import badge
from attnviz.metrics.links import Links
from attnviz.metrics.viewing import PLAIN, View
from attnviz.shapes import Tokens

STRONG = ((0.22, 1.0), (0.55, 1.8), (0.8, 2.8), (1.0, 3.8))
FAINT = ((0.05, 0.6), (0.08, 0.8), (0.12, 1.0), (0.18, 1.3))
"""Opacity and width in pixels of links, from the weakest quarter of the largest weight to the strongest."""
SPREAD = 0.5
PALER = 0.45
"""Opacity of links of all other heads where these are grey, as a part of that of the chosen head's."""
THIN_PIXELS = 8
MOST_DOTS = 100
MOST_POINTS = 4096
MOST_TICKS = 60
TOKEN_PIXELS = 24
LEAST_HEIGHT = 260
MOST_HEIGHT = 1100


class Group(NamedTuple):
    """Heads whose lines have the same colour."""

    name: str
    colour: str
    heads: tuple[int, ...]
    strength: float = 1.0


def colour_of(head: int) -> str:
    """Colour of a head; from the thirteenth on they repeat.

    >>> colour_of(0) == colour_of(12) != colour_of(1)
    True
    """
    return LIGHT.heads[head % len(LIGHT.heads)]


def attention_lines(
    links: Links,
    of_query: Links,
    query_tokens: Tokens,
    key_tokens: Tokens,
    *,
    heads: range,
    head: int,
    query: int,
    view: View = PLAIN,
) -> go.Figure:
    """Queries on the left, keys on the right, a line for each link: thicker and stronger with its weight.

    Parameters
    ----------
    links
        The strongest links of these heads.
    of_query
        The strongest of the chosen query: drawn strong and on top, all others thin and faint.
    query_tokens, key_tokens
        Names of both columns.
    heads
        Whose links these are; up to twelve have a colour each.
    head
        The one that keeps its colour where there are more; all others are grey.
    query
        The chosen query.
    view
        Its hidden keys have no links; a badge says so.

    Notes
    -----
    Links of one colour whose weights are in the same quarter of the largest drawn are one line with gaps. Lines of
    several heads from the chosen query to one key end side by side, in the order of the heads.

    References
    ----------
    Vig 2019 (BertViz), section 3.1.
    """
    n_rows = max(len(query_tokens), len(key_tokens))
    height = min(max(LEAST_HEIGHT, 60 + TOKEN_PIXELS * n_rows), MOST_HEIGHT)
    thin = min(1.0, (height - 60) / n_rows / THIN_PIXELS)
    largest = max((float(part.weight[0]) for part in (links, of_query) if part.count), default=1.0)
    groups = groups_of(heads, head)
    traces = [_legend_entry(group) for group in groups]
    for drawn, look, thickness, spread in (
        (links.without(query), FAINT, thin, 0.0),
        (of_query, STRONG, 1.0, SPREAD / len(heads)),
    ):
        beside = (spread * (drawn.head - (heads[0] + heads[-1]) / 2)).astype(np.float64)
        for together in [groups] if len(heads) <= len(LIGHT.heads) else [[group] for group in groups]:
            traces += _lines(drawn, together, beside, largest, look, thickness)
    hidden = frozenset(view.hidden)
    traces.append(_column("query", query_tokens, 0.0))
    traces.append(_column("key", key_tokens, 1.0, hidden))
    traces.append(_chosen(query))
    ticks = Ticks(y=tick_labels(query_tokens), right=tick_labels(key_tokens), strong=query)
    picture = layout(
        **with_badge(ticks.to_meta(), badge(view.of_weights, key_tokens)),
        showlegend=True,
        legend=LEGEND,
        xaxis=axis(
            "a line leads from a query to a key it looks at",
            range=[-0.015, 1.015],
            showticklabels=False,
            fixedrange=True,
        ),
        yaxis=axis("query (left)", range=[n_rows - 0.5, -0.5], **token_axis(query_tokens, _ticks(len(query_tokens)))),
        yaxis2=axis(
            "key (right)",
            side="right",
            overlaying="y",
            matches="y",
            **token_axis(key_tokens, _ticks(len(key_tokens))),
        ),
        height=height,
    )
    return figure(traces, picture)


def groups_of(heads: range, head: int) -> list[Group]:
    """A group for each head; of more than twelve one for the chosen head, after one for all others.

    >>> [group.name for group in groups_of(range(16), 3)]
    ['the 15 other heads', 'head 3']
    """
    if len(heads) <= len(LIGHT.heads):
        return [Group(f"head {one}", colour_of(one), (one,)) for one in heads]
    others = tuple(one for one in heads if one != head)
    return [
        Group(f"the {len(others)} other heads", LIGHT.muted, others, PALER),
        Group(f"head {head}", colour_of(head), (head,)),
    ]


def _legend_entry(group: Group) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": group.name,
        "x": np.array([np.nan], dtype=np.float32),
        "y": np.array([np.nan], dtype=np.float32),
        "line": {"color": group.colour, "width": 3},
    }


def _lines(
    links: Links,
    groups: Sequence[Group],
    beside: Float[np.ndarray, " link"],
    largest: float,
    look: Sequence[tuple[float, float]],
    thickness: float,
) -> list[dict[str, object]]:
    """A trace for each colour and class of weight, the weakest first; `beside` moves the end of a link, in rows."""
    level = np.minimum((links.weight / largest * len(look)).astype(np.int64), len(look) - 1)
    made: list[dict[str, object]] = []
    for step, (opacity, width) in enumerate(look):
        for group in groups:
            chosen = (level == step) & np.isin(links.head, group.heads)
            if not chosen.any():
                continue
            start, end = links.query[chosen].astype(np.float32), (links.key + beside)[chosen].astype(np.float32)
            made.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": group.name,
                    "showlegend": False,
                    "x": with_gaps(np.zeros_like(start), np.ones_like(end)),
                    "y": with_gaps(start, end),
                    "line": {"color": group.colour, "width": max(0.5, thickness * width)},
                    "opacity": opacity * group.strength,
                    "hoverinfo": "skip",
                }
            )
    return made


def with_gaps(start: Float[np.ndarray, " link"], end: Float[np.ndarray, " link"]) -> Float[np.ndarray, " point"]:
    """Start, end and a gap for each link, in a row."""
    return np.stack([start, end, np.full_like(start, np.nan)], axis=1).ravel()


def _column(name: str, tokens: Tokens, side: float, hidden: Collection[int] = ()) -> dict[str, object]:
    """The tokens of one column as points; as a line through them where they are too many to be seen apart."""
    is_query = name == "query"
    is_dense = len(tokens) > MOST_DOTS
    some = range(len(tokens) if len(tokens) <= MOST_POINTS else 0)
    shades: str | list[str] = LIGHT.muted
    if hidden:
        shades = [LIGHT.hidden if place in hidden else LIGHT.muted for place in some]
    return {
        "type": "scatter",
        "mode": "lines" if is_dense else "markers",
        "name": name,
        "showlegend": False,
        "x": np.full(len(some), side, dtype=np.float32),
        "y": np.arange(len(some), dtype=np.float32),
        "yaxis": "y" if is_query else "y2",
        "cliponaxis": False,
        **({"line": {"color": LIGHT.muted, "width": 2}} if is_dense else {"marker": {"color": shades, "size": 6}}),
        "text": [f"{name} {place} {escaped(visible(tokens[place]))}" for place in some],
        "hovertemplate": "%{text}<extra></extra>",
        **({"meta": {"click": "query"}} if is_query else {}),
    }


def _chosen(query: int) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "chosen query",
        "showlegend": False,
        "x": np.zeros(1, dtype=np.float32),
        "y": np.array([query], dtype=np.float32),
        "cliponaxis": False,
        "marker": {"color": LIGHT.accent, "size": 8},
        "hoverinfo": "skip",
    }


def _ticks(count: int) -> Sequence[int]:
    return range(0, count, max(1, -(-count // MOST_TICKS)))
