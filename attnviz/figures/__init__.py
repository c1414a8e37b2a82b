"""Pictures: a trace or a table in, a `plotly.graph_objects.Figure` out.

What a picture's cells are is written in its `layout.meta` (`cells`), so that whoever shows it can name the cell under
the pointer without text for each cell in the data; `figures.meta` says how.
"""

from __future__ import annotations

from attnviz.figures.arrays import array_pictures
from attnviz.figures.grid import head_grid
from attnviz.figures.groups import group_picture
from attnviz.figures.mask import keys_allowed, mask_heatmap, mask_row
from attnviz.figures.measure import measure_panel
from attnviz.figures.pattern import attention_heatmap
from attnviz.figures.redundancy import similarity_matrix
from attnviz.figures.roles import role_map
from attnviz.figures.row import query_bars
from attnviz.figures.rows import changed_bars, gradient_lines, score_bars, variance_lines
from attnviz.figures.terms import term_bars

__all__ = [
    "array_pictures",
    "attention_heatmap",
    "changed_bars",
    "gradient_lines",
    "group_picture",
    "head_grid",
    "keys_allowed",
    "mask_heatmap",
    "mask_row",
    "measure_panel",
    "query_bars",
    "role_map",
    "score_bars",
    "similarity_matrix",
    "term_bars",
    "variance_lines",
]
