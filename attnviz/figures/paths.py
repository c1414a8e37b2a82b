"""The strongest paths through all layers to one token: a column of tokens for the input and one after each layer."""

from __future__ import annotations

import itertools

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Bool, Float

from attnviz.figures.labels import escaped, short
from attnviz.figures.lines import with_gaps
from attnviz.figures.meta import Ticks
from attnviz.figures.row import key_axis
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.paths import Routes
from attnviz.numbers import percent
from attnviz.shapes import Tokens

LOOKS = ((0.45, 1.2), (0.65, 2.2), (0.8, 3.4), (1.0, 4.6))
"""Opacity and width in pixels of links, from the smallest quarter of the largest share to the largest."""
TOKEN_PIXELS = 24
LEAST_HEIGHT = 260
EDGE = 0.12


def path_picture(routes: Routes, tokens: Tokens, *, query: int, n_layers: int) -> go.Figure:
    """Links from the input on the left to the chosen token on the right, thicker with what passes over them.

    Tokens that are on none of the links are left out.

    Parameters
    ----------
    routes
        The links, and the paths that they are made of.
    tokens
        Names of all tokens; the same of them are in every column.
    query
        The token on the right that all paths lead to.
    n_layers
        Columns after that of the input.

    Notes
    -----
    Links of one colour that are in the same quarter of the largest share that passes are one line with gaps. The
    strongest path has a colour of its own.

    References
    ----------
    Abnar & Zuidema 2020, figure 1.
    """
    shown = routes.tokens(query)
    labels = tuple(f"{place} {short(tokens[place])}" for place in shown)
    rows = np.full(len(tokens), np.nan, dtype=np.float32)
    rows[shown] = np.arange(len(shown))
    strongest = _on_strongest(routes)
    traces = [_legend_entry("strongest path", LIGHT.accent), _legend_entry("other links", LIGHT.mark)]
    traces += _lines(routes, rows, ~strongest, "other links", LIGHT.mark)
    traces += _lines(routes, rows, strongest, "strongest path", LIGHT.accent)
    traces += [_column(routes, rows, tokens, column, n_layers) for column in range(n_layers + 1)]
    traces.append(_chosen(rows[query], n_layers))
    columns = ("input", *map(str, range(n_layers)))
    picture = layout(
        meta=Ticks(x=columns, y=labels, strong=shown.index(query)).to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=axis(
            "input, then after each layer",
            range=[-EDGE, n_layers + EDGE],
            fixedrange=True,
            type="linear",
            tickmode="array",
            tickvals=list(range(n_layers + 1)),
            ticktext=list(columns),
        ),
        yaxis=key_axis(labels) | {"title": axis("token")["title"]},
        height=max(LEAST_HEIGHT, 70 + TOKEN_PIXELS * len(shown)),
    )
    return figure(traces, picture)


def _on_strongest(routes: Routes) -> Bool[np.ndarray, " link"]:
    """Which links the strongest path runs over."""
    tokens = routes.paths[0].tokens if routes.paths else ()
    steps = set(enumerate(itertools.pairwise(tokens)))
    places = zip(routes.layer.tolist(), routes.start.tolist(), routes.end.tolist(), strict=True)
    return np.array([(layer, (start, end)) in steps for layer, start, end in places], dtype=np.bool_)


def _legend_entry(name: str, colour: str) -> dict[str, object]:
    nothing = np.array([np.nan], dtype=np.float32)
    line = {"color": colour, "width": 3}
    return {"type": "scatter", "mode": "lines", "name": name, "x": nothing, "y": nothing, "line": line}


def _lines(
    routes: Routes, rows: Float[np.ndarray, " token"], which: Bool[np.ndarray, " link"], name: str, colour: str
) -> list[dict[str, object]]:
    """A trace for each class of share, the smallest first; `rows` says where each token stands."""
    largest = float(routes.passing.max(initial=0.0)) or 1.0
    level = np.minimum((routes.passing / largest * len(LOOKS)).astype(np.int64), len(LOOKS) - 1)
    made: list[dict[str, object]] = []
    for step, (opacity, width) in enumerate(LOOKS):
        chosen = which & (level == step)
        if chosen.any():
            left = routes.layer[chosen].astype(np.float32)
            start, end = (rows[side[chosen]] for side in (routes.start, routes.end))
            made.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": name,
                    "showlegend": False,
                    "x": with_gaps(left, left + 1),
                    "y": with_gaps(start, end),
                    "line": {"color": colour, "width": width},
                    "opacity": 1.0 if colour == LIGHT.accent else opacity,
                    "hoverinfo": "skip",
                }
            )
    return made


def _column(
    routes: Routes, rows: Float[np.ndarray, " token"], tokens: Tokens, column: int, n_layers: int
) -> dict[str, object]:
    """The tokens at one depth as points, those that nothing drawn passes through paler.

    Tokens that are not shown have no place, so that the number of a point is that of its token.
    """
    side, layer = (routes.start, column) if column < n_layers else (routes.end, column - 1)
    here = routes.layer == layer
    shares = np.bincount(side[here], weights=routes.passing[here], minlength=len(tokens))
    when = f"after layer {column - 1}" if column else "in the input"
    return {
        "type": "scatter",
        "mode": "markers",
        "name": when,
        "showlegend": False,
        "x": np.full(len(tokens), column, dtype=np.float32),
        "y": rows,
        "cliponaxis": False,
        "marker": {"size": 6, "color": [LIGHT.muted if share > 0 else LIGHT.line for share in shares.tolist()]},
        "text": [
            f"token {place} {escaped(short(token))} {when}: {percent(share)}" if rows[place] >= 0 else ""
            for place, (token, share) in enumerate(zip(tokens, shares.tolist(), strict=True))
        ],
        "hovertemplate": "%{text}<extra></extra>",
        "meta": {"click": "query"},
    }


def _chosen(row: np.float32, n_layers: int) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "chosen query",
        "showlegend": False,
        "x": np.array([n_layers], dtype=np.float32),
        "y": np.array([row], dtype=np.float32),
        "cliponaxis": False,
        "marker": {"color": LIGHT.accent, "size": 9},
        "hoverinfo": "skip",
    }
