"""Pictures: a trace or a table in, a `plotly.graph_objects.Figure` out.

What a picture's cells are is written in its `layout.meta` (`cells`), so that whoever shows it can name the cell under
the pointer without text for each cell in the data; `figures.meta` says how.
"""

from __future__ import annotations

from attnviz.figures.alike_matrix import alike_matrix
from attnviz.figures.arrays import array_pictures
from attnviz.figures.difference import difference_map
from attnviz.figures.flow import flow_bars
from attnviz.figures.gates import cost_lines, gate_map, layer_bars
from attnviz.figures.grid import head_grid
from attnviz.figures.groups import group_picture
from attnviz.figures.head_map import head_map
from attnviz.figures.lines import attention_lines
from attnviz.figures.mask import keys_allowed, mask_heatmap, mask_row
from attnviz.figures.measure import measure_panel
from attnviz.figures.offsets import offset_bars
from attnviz.figures.overview_map import layer_map
from attnviz.figures.pair_map import pair_map
from attnviz.figures.paths import path_picture
from attnviz.figures.pattern import attention_heatmap
from attnviz.figures.received import received_map
from attnviz.figures.redundancy import similarity_matrix
from attnviz.figures.removal import pruning_lines, removal_bars
from attnviz.figures.role_overview import role_overview
from attnviz.figures.roles import role_map
from attnviz.figures.rollout import rollout_map
from attnviz.figures.row import query_bars
from attnviz.figures.rows import changed_bars, gradient_lines, score_bars, variance_lines
from attnviz.figures.terms import term_bars

__all__ = [
    "alike_matrix",
    "array_pictures",
    "attention_heatmap",
    "attention_lines",
    "changed_bars",
    "cost_lines",
    "difference_map",
    "flow_bars",
    "gate_map",
    "gradient_lines",
    "group_picture",
    "head_grid",
    "head_map",
    "keys_allowed",
    "layer_bars",
    "layer_map",
    "mask_heatmap",
    "mask_row",
    "measure_panel",
    "offset_bars",
    "pair_map",
    "path_picture",
    "pruning_lines",
    "query_bars",
    "received_map",
    "removal_bars",
    "role_map",
    "role_overview",
    "rollout_map",
    "score_bars",
    "similarity_matrix",
    "term_bars",
    "variance_lines",
]
