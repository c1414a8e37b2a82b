"""A sum, term by term."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.meta import Ticks
from attnviz.figures.theme import LEGEND, LIGHT, around_zero, axis, figure, layout
from attnviz.steps import Terms

MOST_TERMS = 64


def terms_in_order(terms: Terms, *, is_sorted: bool, most: int = MOST_TERMS) -> np.ndarray:
    """Places of the terms that are drawn: the largest where there are many, the chosen one among them."""
    values = np.abs(terms.values)
    largest = np.argsort(-values, kind="stable")[:most]
    if terms.chosen not in largest:
        largest[-1] = terms.chosen
    return largest[np.argsort(-terms.values[largest], kind="stable")] if is_sorted else np.sort(largest)


def term_bars(terms: Terms, *, is_sorted: bool) -> go.Figure:
    """A bar for each term, and the sum so far; of many terms the 64 largest, the others in the last bar.

    Parameters
    ----------
    terms
        The sum.
    is_sorted
        From the largest to the most negative term, instead of in the order of the sum.
    """
    shown = terms_in_order(terms, is_sorted=is_sorted)
    values = terms.values[shown]
    names = [str(place if terms.numbered is None else terms.numbered[place]) for place in shown]
    rest = float(terms.values.sum() - values.sum())
    is_chosen = shown == terms.chosen
    if len(shown) < len(terms.values):
        values, names, is_chosen = np.append(values, rest), [*names, "rest"], np.append(is_chosen, False)
    if terms.constant:
        values, names = np.append(values, terms.constant), [*names, terms.constant_name]
        is_chosen = np.append(is_chosen, False)
    places = np.arange(len(values), dtype=np.float32)
    series = (("term", ~is_chosen, LIGHT.mark), ("the equations follow it", is_chosen, LIGHT.accent))
    bars: list[dict[str, object]] = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": np.where(which, values, np.nan).astype(np.float32),
            "customdata": names,
            "marker": {"color": colour},
            "hovertemplate": f"{terms.name} %{{customdata}}: %{{y:.4g}}<extra></extra>",
        }
        for name, which, colour in series
    ]
    total: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "sum so far",
        "x": places,
        "y": np.cumsum(values).astype(np.float32),
        "line": {"color": LIGHT.baseline, "width": 2, "shape": "hvh"},
        "hovertemplate": "sum so far %{y:.4g}<extra></extra>",
    }
    picture = layout(
        meta=Ticks(x=tuple(names)).to_meta(),
        showlegend=True,
        legend=LEGEND,
        bargap=0.25,
        barmode="overlay",
        xaxis=axis(
            terms.name,
            range=[-0.6, len(values) - 0.4],
            tickmode="array",
            tickvals=places.tolist(),
            ticktext=names,
            type="linear",
        ),
        yaxis=axis(
            "term",
            range=around_zero(values, np.cumsum(values)),
            showgrid=True,
            gridcolor=LIGHT.line,
            zeroline=True,
            zerolinecolor=LIGHT.muted,
            nticks=6,
        ),
        height=250,
    )
    return figure([*bars, total], picture)
