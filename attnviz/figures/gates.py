"""Which heads each token keeps, and what fewer heads cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Int

from attnviz.core.gating import Keeps
from attnviz.figures.colours import WeightScale, with_forbidden
from attnviz.figures.labels import escaped, short
from attnviz.figures.meta import Cells, Ticks, plain_labels
from attnviz.figures.theme import LEGEND, LIGHT, around_zero, axis, figure, layout, rectangle
from attnviz.metrics.adaptive import Costs
from attnviz.shapes import PerQuery, Tokens

MOST_QUERIES = 64
MOST_TICKS = 32
ROW_PIXELS = 20
LAYER_PIXELS = 34


def queries_shown(query: int, n_q: int) -> range:
    """The block of at most 64 queries that holds this one.

    >>> queries_shown(70, 100)
    range(64, 100)
    """
    first = query // MOST_QUERIES * MOST_QUERIES
    return range(first, min(first + MOST_QUERIES, n_q))


def gate_map(
    shares: PerQuery,
    keeps: Keeps,
    n_kept: Int[np.ndarray, " q"],
    tokens: Tokens,
    queries: range,
    *,
    head: int,
    query: int,
    scale: str,
) -> go.Figure:
    """Token by head: how much of what is written each head holds where it is on, a flat tint where it is off.

    Parameters
    ----------
    shares
        Share of each head in what is written for each query.
    keeps
        Which heads are on.
    n_kept
        How many they are, which is said beside each token.
    tokens
        Of the queries.
    queries
        Which of them are drawn.
    head, query
        What is chosen: the query is set in bold, the head framed.
    scale
        Name of the colour scale.
    """
    n_heads = len(shares)
    drawn = shares[:, queries.start : queries.stop].T
    on = np.broadcast_to(keeps, shares.shape)[:, queries.start : queries.stop].T
    colours = WeightScale(scale, float(shares.max(initial=0.0)) or 1.0, has_forbidden=True)
    bar = colours.colorbar("share of what is written")
    bar["ticktext"] = ["off", *list(bar["ticktext"])[1:]] if isinstance(bar["ticktext"], list) else bar["ticktext"]
    labels = {row: f"{short(tokens[row])} · {n_kept[row]}" for row in queries}
    numbers = tuple(map(str, range(n_heads)))
    cells = Cells(
        value="share",
        heads=(),
        roles=(),
        rows=plain_labels(tokens),
        columns=numbers,
        row_name="query",
        column_name="head",
        first_row=queries.start,
        below="off for this query",
        click="cell",
    )
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": with_forbidden(drawn, on, colours),
        "y0": queries.start,
        **colours.trace_options(),
        "colorbar": bar,
        "hoverinfo": "none",
        "xgap": 1,
        "ygap": 1,
    }
    columns = list(range(0, n_heads, max(1, -(-n_heads // MOST_TICKS))))
    picture = layout(
        meta=cells.to_meta(Ticks(x=numbers, y=tuple(labels.get(row, "") for row in range(queries.stop)), strong=query)),
        shapes=[rectangle(head - 0.5, head + 0.5, queries.start - 0.5, queries.stop - 0.5)],
        xaxis=axis(
            "head (column)",
            range=[-0.5, n_heads - 0.5],
            tickmode="array",
            tickvals=columns,
            ticktext=[numbers[column] for column in columns],
        ),
        yaxis=axis(
            "query (row) · heads on",
            range=[queries.stop - 0.5, queries.start - 0.5],
            tickmode="array",
            tickvals=list(queries),
            ticktext=[escaped(labels[row]) for row in queries],
        ),
        height=max(260, ROW_PIXELS * len(queries) + 110),
    )
    return figure([heatmap], picture)


def cost_lines(found: Costs, n_heads: int, *, chosen: float) -> go.Figure:
    """Heads on and change of the output against the share that is to be held.

    Parameters
    ----------
    found
        For shares of 5, 10... 100 %.
    n_heads
        How many there are.
    chosen
        The share that is set.
    """
    series = (
        ("heads on, of all heads", found.n_kept / n_heads, LIGHT.mark),
        ("change of the output", found.relative, LIGHT.baseline),
    )
    traces: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": (100 * found.kept_share).astype(np.float32),
            "y": np.nan_to_num(100 * values).astype(np.float32),
            "line": {"color": colour, "width": 2},
            "marker": {"size": 6, "color": colour},
            "hovertemplate": f"to hold %{{x:.3g}} %: %{{y:.3g}} %<extra>{name}</extra>",
        }
        for name, values, colour in series
    ]
    top = max(100.0, *(float(np.nan_to_num(100 * values).max()) for _, values, _ in series))
    ticks = [0, 20, 40, 60, 80, 100]
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        shapes=[
            {
                "type": "line",
                "x0": 100 * chosen,
                "x1": 100 * chosen,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": LIGHT.accent, "width": 1.5},
            }
        ],
        xaxis=axis(
            "share to be held (%)",
            range=[0, 103],
            tickmode="array",
            tickvals=ticks,
            ticktext=[str(place) for place in ticks],
        ),
        yaxis=axis("per cent (%)", range=[0, 1.05 * top], showgrid=True, gridcolor=LIGHT.line),
        height=340,
    )
    return figure(traces, picture)


def layer_bars(
    changes: Float[np.ndarray, " layer"],
    at_random: Float[np.ndarray, " layer"],
    on: Sequence[str],
    *,
    selected: int,
) -> go.Figure:
    """Change of the output of each layer with the fewest heads on, beside as many heads at random.

    Parameters
    ----------
    changes, at_random
        Relative changes; NaN where the output is 0.
    on
        How many heads are on, which is said beside each layer.
    selected
        Layer whose name is set in bold.

    Notes
    -----
    A click on a bar tells its layer.
    """
    layers = np.arange(len(changes), dtype=np.float32)
    drawn, random = (np.nan_to_num(100 * values).astype(np.float32) for values in (changes, at_random))
    names = tuple(f"layer {layer} · {count}" for layer, count in enumerate(on))
    traces: list[dict[str, object]] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": "fewest heads that hold the share",
            "x": drawn,
            "y": layers,
            "width": 0.7,
            "marker": {"color": LIGHT.mark},
            "meta": {"click": "head"},
            "hovertemplate": "layer %{y}: %{x:.3g} %<extra></extra>",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "as many at random",
            "x": random,
            "y": layers,
            "marker": {
                "color": LIGHT.baseline,
                "symbol": "line-ns-open",
                "size": 16,
                "line": {"width": 2, "color": LIGHT.baseline},
            },
            "hovertemplate": "layer %{y}: %{x:.3g} %<extra>as many at random</extra>",
        },
    ]
    picture = layout(
        meta=Ticks(y=names, strong=selected).to_meta(),
        showlegend=True,
        legend=LEGEND,
        xaxis=axis(
            "change of the layer’s output (%)",
            range=around_zero(drawn, random),
            showgrid=True,
            gridcolor=LIGHT.line,
        ),
        yaxis=axis(
            "layer · heads on",
            range=[len(changes) - 0.5, -0.5],
            tickmode="array",
            tickvals=list(range(len(changes))),
            ticktext=[escaped(name) for name in names],
        ),
        height=max(220, LAYER_PIXELS * len(changes) + 110),
    )
    return figure(traces, picture)
