"""Where a head's attention lies, seen from the query."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.offsets import Offsets

MOST_BARS = 128
MOST_POINTS = 512
NOTHING = 1e-9


def offset_bars(found: Offsets) -> go.Figure:
    """Share of a head's attention at each offset of the key from the query, beside the uniform head.

    Parameters
    ----------
    found
        Shares at each offset. What lies beyond the offsets that any of the two heads uses is left out; of more than
        512 offsets some neighbours are summed.
    """
    used = np.flatnonzero(np.maximum(found.share, found.uniform) > NOTHING)
    part = slice(int(used[0]), int(used[-1]) + 1) if used.size else slice(0, 1)
    offsets, share, uniform = found.offsets[part], found.share[part], found.uniform[part]
    step = -(-len(offsets) // MOST_POINTS)
    starts = np.arange(0, len(offsets), step)
    at = offsets[starts] + (step - 1) / 2
    heights = [np.add.reduceat(values, starts).astype(np.float32) for values in (share, uniform)]
    each = f"{step} offsets from about" if step > 1 else "offset"
    drawn: dict[str, object] = {
        "name": "this head",
        "x": at.astype(np.float32),
        "y": 100 * heights[0],
        "hovertemplate": f"{each} %{{x}}: %{{y:.3g}}\u202f%<extra></extra>",
    }
    if len(at) <= MOST_BARS:
        drawn |= {"type": "bar", "marker": {"color": LIGHT.mark}}
    else:
        drawn |= {"type": "scatter", "mode": "lines", "line": {"color": LIGHT.mark, "width": 1.5}}
    even: dict[str, object] = {
        "type": "scatter",
        "mode": "lines",
        "name": "uniform over the allowed keys",
        "x": at.astype(np.float32),
        "y": 100 * heights[1],
        "line": {"color": LIGHT.baseline, "width": 2, "shape": "hvh"},
        "hovertemplate": "uniform: %{y:.3g}\u202f%<extra></extra>",
    }
    top = 100 * max(float(height.max(initial=0.0)) for height in heights) or 1.0
    unit = f" per {step} offsets" if step > 1 else ""
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        bargap=0.25,
        xaxis=axis("offset: key − query (tokens)", range=[float(at[0]) - step, float(at[-1]) + step], nticks=9),
        yaxis=axis(
            f"share of the attention (%){unit}", range=[0, 1.05 * top], showgrid=True, gridcolor=LIGHT.line, nticks=6
        ),
        height=300,
    )
    return figure([drawn, even], picture)
