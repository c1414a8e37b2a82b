"""One query, all keys: its scores, its weights under two settings; and how products spread with d_head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.labels import escaped, short
from attnviz.figures.meta import Ticks
from attnviz.figures.theme import LEGEND, LIGHT, around_zero, axis, figure, layout
from attnviz.shapes import PerKey
from attnviz.steps.row import QueryRow
from attnviz.steps.what_if import Spread


def score_bars(row: QueryRow, keys: Sequence[int], *, key: int) -> go.Figure:
    """Scores of one query, the bias on top of them, and what the softmax gets.

    Parameters
    ----------
    row
        All keys of the query.
    keys
        Which of them are drawn.
    key
        The chosen one.
    """
    places = np.arange(len(keys), dtype=np.float32)
    chosen = list(keys)
    allowed = row.allowed[chosen]
    series = (("score", allowed, LIGHT.mark), ("score of a forbidden key", ~allowed, LIGHT.line))
    traces: list[dict[str, object]] = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": np.where(which, row.before_bias[chosen], np.nan).astype(np.float32),
            "marker": {"color": colour},
            "hovertemplate": "score %{y:.4g}<extra></extra>",
        }
        for name, which, colour in series
        if which.any()
    ]
    if row.bias.any():
        traces.append(
            {
                "type": "bar",
                "name": "bias",
                "x": places,
                "y": row.bias[chosen].astype(np.float32),
                "base": row.before_bias[chosen].astype(np.float32),
                "marker": {"color": LIGHT.soft},
                "hovertemplate": "bias %{y:.4g}<extra></extra>",
            }
        )
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "name": "what the softmax gets",
            "x": places,
            "y": row.masked[chosen].astype(np.float32),
            "marker": {"symbol": "line-ew-open", "size": 14, "color": LIGHT.accent, "line": {"width": 2}},
            "hovertemplate": "%{y:.4g}<extra>softmax gets</extra>",
        }
    )
    shown = [values[chosen] for values in (row.before_bias, row.before_bias + row.bias)]
    picture = _over_keys(row, keys, key, "score", around_zero(*shown))
    return figure(traces, picture | {"barmode": "overlay"})


def _over_keys(row: QueryRow, keys: Sequence[int], key: int, title: str, span: list[float]) -> dict[str, object]:
    names = tuple(f"{place} {short(row.tokens[place])}" + ("" if row.allowed[place] else " ⊘") for place in keys)
    places = list(range(len(keys)))
    return layout(
        meta=Ticks(x=names).to_meta(),
        showlegend=True,
        legend=LEGEND,
        bargap=0.3,
        shapes=[
            {
                "type": "rect",
                "x0": keys.index(key) - 0.5,
                "x1": keys.index(key) + 0.5,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": LIGHT.accent, "width": 1},
            }
        ],
        xaxis=axis(
            "key",
            range=[-0.6, len(keys) - 0.4],
            tickmode="array",
            tickvals=places,
            ticktext=[escaped(name) for name in names],
            type="linear",
        ),
        yaxis=axis(
            title, range=span, showgrid=True, gridcolor=LIGHT.line, zeroline=True, zerolinecolor=LIGHT.muted, nticks=6
        ),
        height=300,
    )


def changed_bars(row: QueryRow, changed: PerKey, keys: Sequence[int], *, key: int) -> go.Figure:
    """Weights of one query as they are, beside those under a change."""
    places, chosen = np.arange(len(keys), dtype=np.float32), list(keys)
    series = (("as set", row.weights, LIGHT.soft), ("what if", changed, LIGHT.mark))
    traces: list[dict[str, object]] = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": weights[chosen].astype(np.float32),
            "marker": {"color": colour},
            "hovertemplate": f"{name} %{{y:.4g}}<extra></extra>",
        }
        for name, weights, colour in series
    ]
    picture = _over_keys(row, keys, key, "weight", around_zero(row.weights[chosen], changed[chosen]))
    return figure(traces, picture | {"barmode": "group"})


def variance_lines(spread: Spread, measured: Spread | None) -> go.Figure:
    """Variance of products against d_head, as they are and scaled; and of the head on screen.

    Parameters
    ----------
    spread
        Measured on random queries and keys.
    measured
        The same of the head on screen.
    """
    points = [] if measured is None else _points(measured, measured.plain_variance, measured.scaled_variance)
    return _over_widths(
        spread, spread.plain_variance, spread.scaled_variance, "variance of the scores", points, is_log=True
    )


def gradient_lines(spread: Spread, measured: Spread | None) -> go.Figure:
    """What is left of the gradient of the softmax against d_head, with and without the scale."""
    points = [] if measured is None else _points(measured, measured.plain_gradient, measured.scaled_gradient)
    return _over_widths(spread, spread.plain_gradient, spread.scaled_gradient, "largest p (1 − p) of a row", points)


def _points(measured: Spread, plain: np.ndarray, scaled: np.ndarray) -> list[dict[str, object]]:
    marks = (("this head, not scaled", plain, "circle"), ("this head, divided", scaled, "square"))
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": list(measured.widths),
            "y": np.maximum(values, 1e-9),
            "marker": {"color": LIGHT.accent, "size": 10, "symbol": symbol},
            "hovertemplate": f"d_head %{{x}}: %{{y:.3g}}<extra>{name}</extra>",
        }
        for name, values, symbol in marks
    ]


def _over_widths(
    spread: Spread,
    plain: np.ndarray,
    scaled: np.ndarray,
    title: str,
    more: list[dict[str, object]],
    *,
    is_log: bool = False,
) -> go.Figure:
    series = (("not scaled", plain, LIGHT.baseline), ("divided by √d_head", scaled, LIGHT.mark))
    traces: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": list(spread.widths),
            "y": values.astype(np.float32),
            "line": {"color": colour, "width": 2},
            "hovertemplate": f"d_head %{{x}}: %{{y:.3g}}<extra>{name}</extra>",
        }
        for name, values, colour in series
    ]
    ticks = {"tickmode": "array", "tickvals": list(spread.widths), "ticktext": [str(width) for width in spread.widths]}
    ends = [spread.widths[0] / 1.15, spread.widths[-1] * 1.15]
    if is_log:
        seen = [plain, scaled, *(np.asarray(trace["y"]) for trace in more)]
        low, high = (float(end(np.concatenate(seen))) for end in (np.min, np.max))
        kind: dict[str, object] = {
            "type": "log",
            "dtick": 1,
            "range": [float(np.log10(low)) - 0.2, float(np.log10(high)) + 0.2],
        }
    else:
        kind = {"range": around_zero(plain, scaled, *(np.asarray(trace["y"]) for trace in more))}
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("d_head (columns)", type="log", range=[float(np.log10(end)) for end in ends], **ticks),
        yaxis=axis(title, showgrid=True, gridcolor=LIGHT.line, **kind),
        height=290,
    )
    return figure([*traces, *more], picture)
