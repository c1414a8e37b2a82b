"""What each head of each layer does, all of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.meta import Cells
from attnviz.figures.overview_map import layer_names, layout_by_layer
from attnviz.figures.theme import LIGHT, figure
from attnviz.metrics.roles import ROLES, Role
from attnviz.picks import HeadAt

MOST_WRITTEN = 16
NEARBY, WORDS, PARKING, EVEN, NOTHING = (
    *("a place nearby", "words", "parking places"),
    *("all places alike", "nothing that has a name"),
)
KINDS: Mapping[str, str] = {
    NEARBY: LIGHT.weights[1],
    WORDS: LIGHT.weights[3],
    PARKING: LIGHT.signed[2],
    EVEN: LIGHT.forbidden,
    NOTHING: LIGHT.background,
}
"""What a head looks at, and its colour."""


class Shown(NamedTuple):
    """How a role is drawn: what it looks at, and its name in a few letters."""

    kind: str
    short: str


SHOWN: Mapping[str, Shown] = {
    "previous token": Shown(NEARBY, "prev"),
    "own place": Shown(NEARBY, "own"),
    "next token": Shown(NEARBY, "next"),
    "local": Shown(NEARBY, "local"),
    "same word": Shown(WORDS, "same"),
    "induction": Shown(WORDS, "ind"),
    "one word": Shown(WORDS, "word"),
    "sink": Shown(PARKING, "sink"),
    "broad": Shown(EVEN, "all"),
    "mixed": Shown(NOTHING, "mix"),
    "too short to tell": Shown(NOTHING, "?"),
}


def role_overview(roles: Sequence[Sequence[Role]], *, selected: HeadAt) -> go.Figure:
    """Layer by head: the name of each head in a few letters, its colour by what it looks at; a click chooses a head.

    Parameters
    ----------
    roles
        Of every head of each layer.
    selected
        Head that is framed.
    """
    n_layers, n_heads = len(roles), max(map(len, roles))
    codes = np.full((n_layers, n_heads), np.nan, dtype=np.float32)
    for layer, heads in enumerate(roles):
        codes[layer, : len(heads)] = [ROLES.index(role.name) for role in heads]
    cells = Cells(
        value="role",
        heads=(),
        roles=(),
        rows=layer_names(n_layers),
        columns=tuple(f"head {head}" for head in range(n_heads)),
        row_name="",
        column_name="",
        names=ROLES,
        click="cell",
    )
    kinds = list(KINDS)
    heatmap: dict[str, object] = {
        "type": "heatmap",
        "z": codes,
        "zmin": -0.5,
        "zmax": len(ROLES) - 0.5,
        "colorscale": _colorscale(),
        "colorbar": {
            "title": {"text": ""},
            "tickmode": "array",
            "tickvals": [next(code for code, role in enumerate(ROLES) if SHOWN[role].kind == kind) for kind in kinds],
            "ticktext": kinds,
            "tickfont": {"size": 11, "color": LIGHT.text},
            "thickness": 10,
            "outlinewidth": 0,
        },
        "hoverinfo": "none",
        "hoverongaps": False,
        "xgap": 1,
        "ygap": 1,
    }
    written = [HeadAt(*map(int, place)) for place in np.argwhere(~np.isnan(codes))] if n_heads <= MOST_WRITTEN else []
    names: dict[str, object] = {
        "type": "scatter",
        "mode": "text",
        "name": "role",
        "x": np.array([at.head for at in written], dtype=np.float32),
        "y": np.array([at.layer for at in written], dtype=np.float32),
        "text": [SHOWN[roles[at.layer][at.head].name].short for at in written],
        "textposition": "middle center",
        "textfont": {"size": 11, "color": LIGHT.text},
        "hoverinfo": "skip",
    }
    picture = layout_by_layer(cells, n_heads, selected)
    return figure([heatmap, *([names] if written else [])], picture)


def _colorscale() -> list[list[object]]:
    """A flat colour for each role."""
    edges = ((code, edge) for code in range(len(ROLES)) for edge in (code, code + 1))
    return [[edge / len(ROLES), KINDS[SHOWN[ROLES[code]].kind]] for code, edge in edges]
