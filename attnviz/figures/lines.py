"""The strongest links of heads, as lines between two columns of tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from attnviz.figures.labels import escaped, token_axis, visible
from attnviz.figures.meta import Ticks, tick_labels
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.links import Links
from attnviz.shapes import Tokens

OPACITIES = (0.14, 0.4, 0.7, 1.0)
WIDTHS = (0.8, 1.4, 2.2, 3.2)
FADED = 0.35
THIN_PIXELS = 8
MOST_DOTS = 100
MOST_POINTS = 4096
MOST_TICKS = 60
TOKEN_PIXELS = 24
LEAST_HEIGHT = 260
MOST_HEIGHT = 1100


def colour_of(head: int) -> str:
    """Colour of a head; from the thirteenth on they repeat.

    >>> colour_of(0) == colour_of(12) != colour_of(1)
    True
    """
    return LIGHT.heads[head % len(LIGHT.heads)]


def attention_lines(
    links: Links, of_query: Links, query_tokens: Tokens, key_tokens: Tokens, *, heads: range, query: int
) -> go.Figure:
    """Queries on the left, keys on the right, a line for each link: thicker and stronger with its weight.

    Parameters
    ----------
    links
        The strongest links of these heads.
    of_query
        The strongest of the chosen query: drawn in full, all others lighter.
    query_tokens, key_tokens
        Names of both columns.
    heads
        Whose links these are; each has a colour, which repeats after twelve.
    query
        The chosen query.

    Notes
    -----
    Links of one colour whose weights are in the same quarter of the largest drawn are one line with gaps.

    References
    ----------
    Vig 2019 (BertViz), section 3.1.
    """
    others = links.query != query
    n_rows = max(len(query_tokens), len(key_tokens))
    height = min(max(LEAST_HEIGHT, 60 + TOKEN_PIXELS * n_rows), MOST_HEIGHT)
    thin = min(1.0, (height - 60) / n_rows / THIN_PIXELS)
    largest = max((float(part.weight[0]) for part in (links, of_query) if part.count), default=1.0)
    traces = [_legend_entry(head) for head in heads] if len(heads) <= len(LIGHT.heads) else []
    traces += _lines(links, others, largest, FADED, thin)
    traces += _lines(of_query, np.ones(of_query.count, dtype=np.bool_), largest, 1.0, 1.0)
    columns = (("query", query_tokens, 0.0), ("key", key_tokens, 1.0))
    traces += [_column(name, tokens, side) for name, tokens, side in columns]
    traces.append(_chosen(query))
    picture = layout(
        meta=Ticks(y=tick_labels(query_tokens), right=tick_labels(key_tokens), strong=query).to_meta(),
        showlegend=len(heads) <= len(LIGHT.heads),
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


def _legend_entry(head: int) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"head {head}",
        "x": np.array([np.nan], dtype=np.float32),
        "y": np.array([np.nan], dtype=np.float32),
        "line": {"color": colour_of(head), "width": 3},
    }


def _lines(
    links: Links, which: Bool[np.ndarray, " link"], largest: float, strength: float, thickness: float
) -> list[dict[str, object]]:
    """A trace for each colour and class of weight, the weakest first."""
    level = np.minimum((links.weight / largest * len(OPACITIES)).astype(np.int64), len(OPACITIES) - 1)
    colour = links.head % len(LIGHT.heads)
    made: list[dict[str, object]] = []
    for step, (opacity, width) in enumerate(zip(OPACITIES, WIDTHS, strict=True)):
        for one in np.unique(colour[which & (level == step)]).tolist():
            chosen = which & (level == step) & (colour == one)
            start, end = (side[chosen].astype(np.float32) for side in (links.query, links.key))
            heads = np.unique(links.head[chosen]).tolist()
            made.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": f"head {', '.join(map(str, heads))}",
                    "showlegend": False,
                    "x": _with_gaps(np.zeros_like(start), np.ones_like(end)),
                    "y": _with_gaps(start, end),
                    "line": {"color": colour_of(one), "width": max(0.5, thickness * width)},
                    "opacity": strength * opacity,
                    "hoverinfo": "skip",
                }
            )
    return made


def _with_gaps(start: Float[np.ndarray, " link"], end: Float[np.ndarray, " link"]) -> Float[np.ndarray, " point"]:
    """Start, end and a gap for each link, in a row."""
    return np.stack([start, end, np.full_like(start, np.nan)], axis=1).ravel()


def _column(name: str, tokens: Tokens, side: float) -> dict[str, object]:
    """The tokens of one column as points; as a line through them where they are too many to be seen apart."""
    is_query = name == "query"
    is_dense = len(tokens) > MOST_DOTS
    some = range(len(tokens) if len(tokens) <= MOST_POINTS else 0)
    return {
        "type": "scatter",
        "mode": "lines" if is_dense else "markers",
        "name": name,
        "showlegend": False,
        "x": np.full(len(some), side, dtype=np.float32),
        "y": np.arange(len(some), dtype=np.float32),
        "yaxis": "y" if is_query else "y2",
        "cliponaxis": False,
        **({"line": {"color": LIGHT.muted, "width": 2}} if is_dense else {"marker": {"color": LIGHT.muted, "size": 6}}),
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
