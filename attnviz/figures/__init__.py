"""Pictures: a trace or a table in, a `plotly.graph_objects.Figure` out.

What a picture's cells are is written in its `layout.meta` (`cells`), so that whoever shows it can name the cell under
the pointer without text for each cell in the data; `figures.meta` says how.
"""

from __future__ import annotations

from attnviz.figures.distance import distance_panel
from attnviz.figures.grid import head_grid
from attnviz.figures.mask import keys_allowed, mask_heatmap, mask_row
from attnviz.figures.pattern import attention_heatmap
from attnviz.figures.redundancy import similarity_matrix
from attnviz.figures.row import query_bars

__all__ = [
    "attention_heatmap",
    "distance_panel",
    "head_grid",
    "keys_allowed",
    "mask_heatmap",
    "mask_row",
    "query_bars",
    "similarity_matrix",
]
