"""How far tokens see through several layers of one mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from attnviz.core.trace import AttentionTrace
from attnviz.figures.colours import WeightScale
from attnviz.figures.mask import query_name
from attnviz.figures.meta import Cells, plain_labels
from attnviz.figures.pattern import MOST_SIDE, map_figure
from attnviz.figures.theme import LEGEND, LIGHT, axis, figure, layout
from attnviz.metrics.pooling import Window, pool_factor
from attnviz.metrics.reach import Reach
from attnviz.shapes import HasKeys, MapPart

LEAST_LAYERS = 16


@dataclass(frozen=True)
class LayersScale(WeightScale):
    """Colours from 0 layers, the strongest, to `top` layers; what is not reached has the forbidden tint."""

    name: str = "layers"
    top: float = 1.0
    has_forbidden: bool = True

    def colorscale(self) -> list[list[object]]:
        """Plotly colour scale from what is not reached to `top`."""
        zero = -self.lowest / (self.top - self.lowest)
        shades = LIGHT.weights[:1:-1]
        steps: list[list[object]] = [
            [zero + (1 - zero) * place / (len(shades) - 1), shade] for place, shade in enumerate(shades)
        ]
        return [[0.0, LIGHT.forbidden], [zero * 0.98, LIGHT.forbidden], *steps]

    def colorbar(self, title: str = "layers needed") -> dict[str, object]:
        """Colour bar from 0 layers on, and the entry for what is not reached."""
        bar = super().colorbar(title)
        ticks = [self.forbidden_value, 0.0, self.top]
        return bar | {"tickvals": ticks, "ticktext": ["not reached", "0", f"{self.top:g}"]}


def reach_map(
    trace: AttentionTrace, found: Reach, window: Window, *, depth: int, query: int, key: int, has_keys: HasKeys
) -> go.Figure:
    """Which tokens each one holds something of after `depth` layers, and how many layers that took.

    Parameters
    ----------
    trace
        The layer whose mask all layers have; as many queries as keys.
    found
        Layers needed for each pair.
    window
        What is shown of the map: where it has more than 256 a side, the least of each block.
    depth
        Number of layers.
    query, key
        The cell that is framed.
    has_keys
        Whether each query may attend to any key.
    """
    cells = Cells(
        value="layers needed",
        heads=(0,),
        roles=("",),
        rows=plain_labels(trace.query_tokens),
        columns=plain_labels(trace.key_tokens),
        map_name="",
        row_name="token",
        column_name="from token",
        below=f"not reached after {depth} layer{'' if depth == 1 else 's'}",
        click="cell",
    )
    shown = found.layers_needed[window.top : window.bottom, window.left : window.right]
    values = np.where((shown >= 0) & (shown <= depth), shown, np.nan)
    colours = LayersScale(top=float(depth))
    return map_figure(trace, _least(values), cells, colours, window, query=query, key=key, has_keys=has_keys)


def _least(values: MapPart) -> Float[np.ndarray, "block_row block_column"]:
    """The least of each block of pairs that share a cell; NaN where none has a number."""
    for side in (0, 1):
        step = pool_factor(values.shape[side], MOST_SIDE)
        if step > 1:
            values = np.fmin.reduceat(values, range(0, values.shape[side], step), axis=side)
    return values


def reach_line(found: Reach, trace: AttentionTrace, *, depth: int, query: int) -> go.Figure:
    """Share of the pairs, and of the tokens of one query, that are reached after 1, 2, 3... layers."""
    last = max(LEAST_LAYERS, depth, found.complete_after)
    layers = np.arange(1, last + 1)
    steps = np.minimum(layers, found.complete_after)
    n = found.n_tokens
    shares = {
        "all pairs": (LIGHT.mark, found.n_reached[steps] / n**2),
        query_name(trace, query): (LIGHT.accent, found.fields_of(query)[steps] / n),
    }
    lines: list[dict[str, object]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": label,
            "x": layers,
            "y": 100 * share,
            "line": {"color": colour, "width": 2},
            "hovertemplate": f"{label}, %{{x}} layers: %{{y:.3g}} %<extra></extra>",
        }
        for label, (colour, share) in shares.items()
    ]
    chosen: dict[str, object] = {
        "type": "scatter",
        "mode": "markers",
        "name": _layers(depth),
        "x": [depth, depth],
        "y": [100 * float(share[depth - 1]) for _, share in shares.values()],
        "marker": {"color": LIGHT.text, "size": 8},
        "hovertemplate": "%{x} layers: %{y:.3g} %<extra></extra>",
    }
    picture = layout(
        showlegend=True,
        legend=LEGEND,
        xaxis=axis("layers", range=[0.5, last + 0.5], nticks=9),
        yaxis=axis("reached (%)", range=[0, 105], showgrid=True, gridcolor=LIGHT.line, nticks=6),
        height=300,
    )
    return figure([*lines, chosen], picture)


def _layers(count: int) -> str:
    return f"{count} layer{'' if count == 1 else 's'}"
