"""All masks at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from attnviz.figures.colours import MaskScale, with_forbidden
from attnviz.figures.labels import escaped
from attnviz.figures.mask import pooled_mask
from attnviz.figures.meta import Cells, Labels
from attnviz.figures.montage import USUAL_SIDE, arranged, montage_figure, placed
from attnviz.metrics.pooling import pool_factor
from attnviz.shapes import Mask

MOST_SIDE = 64
USUAL_FIT = 8
WIDEST = 11
LONGEST_TITLE = 15
TITLE_ROOM = 0.42
NO_GROUP = "\u200b"
GAP = -1


@dataclass(frozen=True, eq=False)
class Example:
    """One mask of the gallery.

    Attributes
    ----------
    group, label
        What it is called in the menu, and under which heading.
    mask
        True = may attend, `(q, k)`.
    is_chosen
        Whether it is one of the masks on screen.
    """

    group: str
    label: str
    mask: Mask
    is_chosen: bool = False


def mask_gallery(examples: Sequence[Example], rows: Labels, columns: Labels, *, fit: int = USUAL_FIT) -> go.Figure:
    """Small masks, those of each group from a new row on, with the chosen ones framed; a click gives the place of one.

    Parameters
    ----------
    examples
        The masks, those of a group one after the other.
    rows, columns
        Labels of queries and keys.
    fit
        How many maps of the usual size fit side by side.

    Notes
    -----
    Of long masks a cell is allowed where any pair of its block is.
    """
    is_wide = fit >= USUAL_FIT
    slots = _slots([example.group for example in examples], WIDEST if is_wide else fit)
    across = len(slots[0])
    places = [place for row in slots for place in row]
    n_q, n_k = examples[0].mask.shape
    step = pool_factor(max(n_q, n_k), MOST_SIDE)
    maps = np.stack([pooled_mask(example.mask, step, step) for example in examples])
    colours = MaskScale()
    drawn = with_forbidden(np.where(maps, 1.0, np.nan), maps, colours)
    values = np.full((len(places), *maps.shape[1:]), np.nan, dtype=np.float32)
    is_map = [place != GAP for place in places]
    values[is_map] = drawn
    montage = arranged(values.shape, across)
    room = max(4, round(TITLE_ROOM * montage.map_columns))
    montage = replace(montage, rows=len(slots), columns=across, title_room=room)
    cells = Cells(
        value="",
        heads=tuple(places),
        roles=tuple("" if place == GAP else f"{examples[place].group}: {examples[place].label}" for place in places),
        rows=rows,
        columns=columns,
        map_name="",
        click="head",
    )
    titles = ["" if place == GAP else _title(examples, place) for place in places]
    chosen = [slot for slot, place in enumerate(places) if place != GAP and examples[place].is_chosen]
    picture = montage_figure(
        montage,
        values,
        titles,
        placed(cells, montage, step_q=step, step_k=step),
        colours,
        colours.colorbar(),
        selected=chosen,
    )
    side = USUAL_SIDE * (USUAL_FIT / WIDEST if is_wide else 1)
    picture.layout.height = round(len(slots) * side * (montage.map_rows + room) / montage.map_columns) + 40
    picture.update_traces(hoverongaps=False, selector={"type": "heatmap"})
    return picture


def _slots(groups: Sequence[str], most: int) -> list[list[int]]:
    """Places of the maps in rows of equal length, each group from a new row on; -1 where there is none."""
    rows: list[list[int]] = []
    for group in dict.fromkeys(groups):
        members = [place for place, other in enumerate(groups) if other == group]
        n_rows = -(-len(members) // most)
        per_row = -(-len(members) // n_rows)
        rows += [members[start : start + per_row] for start in range(0, len(members), per_row)]
    across = max(len(row) for row in rows)
    return [row + [GAP] * (across - len(row)) for row in rows]


def _title(examples: Sequence[Example], place: int) -> str:
    """Two lines: the group above the first of its maps, and the mask's name, shortened where it is long."""
    example = examples[place]
    is_first = place == 0 or examples[place - 1].group != example.group
    label = example.label.removeprefix(f"{example.group} ")
    short = label if len(label) <= LONGEST_TITLE else f"{label[: LONGEST_TITLE - 1].rstrip()}…"
    return f"{escaped(example.group) if is_first else NO_GROUP} <br>\n{escaped(short[:1].upper() + short[1:])}"
