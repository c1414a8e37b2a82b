"""Every picture of a trace, and the names of its axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go

from attnviz import AttentionTrace, build_mask
from attnviz.figures import (
    alike_matrix,
    array_pictures,
    attention_heatmap,
    attention_lines,
    changed_bars,
    cost_lines,
    difference_map,
    flow_bars,
    gate_map,
    gradient_lines,
    group_picture,
    head_grid,
    head_map,
    keys_allowed,
    layer_bars,
    layer_map,
    mask_heatmap,
    mask_row,
    measure_panel,
    offset_bars,
    pair_map,
    path_picture,
    pruning_lines,
    query_bars,
    received_map,
    removal_bars,
    role_map,
    role_overview,
    rollout_map,
    score_bars,
    similarity_matrix,
    term_bars,
    variance_lines,
)
from attnviz.figures.gates import queries_shown
from attnviz.figures.mask_gallery import Example, mask_gallery
from attnviz.figures.mask_rows import row_sums, two_rows
from attnviz.figures.meta import plain_labels
from attnviz.figures.overview_map import cell_texts
from attnviz.figures.pattern import MOST_SIDE, map_part
from attnviz.figures.reach import reach_line, reach_map
from attnviz.figures.received import received_beyond
from attnviz.figures.spectrum import rank_panel, spectrum_lines
from attnviz.figures.sweep import Series, sweep_lines
from attnviz.figures.theme import LIGHT, SINGLE_HUE
from attnviz.metrics import mean_over_queries, overview, roles_of, survey
from attnviz.metrics.adaptive import adaptive, costs
from attnviz.metrics.clustering import plane_of, tree_of
from attnviz.metrics.contrast import by_pair
from attnviz.metrics.contribution import leave_one_out, pruning, written
from attnviz.metrics.difference import Side, difference_part
from attnviz.metrics.links import strongest_links
from attnviz.metrics.offsets import offsets_of
from attnviz.metrics.paths import strongest_routes
from attnviz.metrics.pooling import Window
from attnviz.metrics.ranks import effective_rank
from attnviz.metrics.reach import reach
from attnviz.metrics.spectra import layer_spectra
from attnviz.metrics.viewing import View
from attnviz.picks import HeadAt
from attnviz.registries import MASKS, SIMILARITIES
from attnviz.steps import Focus, Shot, Terms
from attnviz.steps.row import row_of
from attnviz.steps.what_if import spread_of_products
from tests.figures.seen import viewed_grid, viewed_part
from tests.figures.traces import NASTY, random_trace, sentence_trace, trace_of

CAUSAL = MASKS["causal"].spec()
HIDING = View((0,), row_scale=True, log_scale=True)
NOTHING = np.zeros((1, 3, 3), dtype=bool)
TRACES: dict[str, Callable[[], AttentionTrace]] = {
    "sentence": lambda: sentence_trace(["the", "cat", "sat", "on", "the", "mat"], CAUSAL),
    "one token": lambda: sentence_trace(["alone"], CAUSAL, n_heads=2),
    "one head": lambda: sentence_trace("abc", CAUSAL, n_heads=1),
    "nothing allowed": lambda: trace_of(np.zeros((2, 3, 3)), NOTHING),
    "nasty tokens": lambda: sentence_trace(NASTY, MASKS["full"].spec()),
    "40 heads": lambda: random_trace(40, 6),
    "300 tokens": lambda: random_trace(2, 300, build_mask([CAUSAL], 300, 300)),
}
FIGURES: dict[str, Callable[[AttentionTrace], go.Figure]] = {
    "attention_heatmap": lambda trace: attention_heatmap(
        trace, survey(trace), head=0, role="", query=0, key=0, scale=SINGLE_HUE, top=1.0
    ),
    "head_grid": lambda trace: head_grid(
        trace, overview(trace), roles(trace), selected=0, scale=SINGLE_HUE, shared_scale=True
    ),
    "head_grid per head": lambda trace: head_grid(
        trace, overview(trace), roles(trace), selected=0, scale="viridis", shared_scale=False
    ),
    "head_grid viewed": lambda trace: viewed_grid(trace, View((0,)), roles=roles(trace)),
    "attention_heatmap viewed": lambda trace: attention_heatmap(
        trace,
        survey(trace),
        head=0,
        role="",
        query=0,
        key=0,
        scale=SINGLE_HUE,
        top=1.0,
        seen=viewed_part(trace, HIDING),
    ),
    "mask_heatmap": lambda trace: mask_heatmap(
        trace,
        map_part(trace, 0, Window(0, trace.n_q, 0, trace.n_k)),
        Window(0, trace.n_q, 0, trace.n_k),
        head=0,
        query=0,
        key=0,
        has_keys=overview(trace).has_keys[0],
    ),
    "array_pictures": lambda trace: array_pictures(
        [
            Shot("<query> $x$", trace.query[0][:64], 0, 0),
            Shot(
                "weights",
                trace.weights[0][:64, :64],
                0,
                0,
                allowed=np.broadcast_to(trace.mask, trace.weights.shape)[0][:64, :64],
            ),
        ],
        kind="signed",
        scale=SINGLE_HUE,
        across=2,
    ),
    "term_bars": lambda trace: term_bars(
        Terms("key", [str(key) for key in range(trace.n_k)], None, None, trace.weights[0, 0].astype(float), 0, 0.5),
        is_sorted=True,
    ),
    "score_bars": lambda trace: score_bars(row_of(Focus(trace, 0, 0, 0, ())), list(range(min(trace.n_k, 24))), key=0),
    "changed_bars": lambda trace: changed_bars(
        row_of(Focus(trace, 0, 0, 0, ())), trace.weights[0, 0], list(range(min(trace.n_k, 24))), key=0
    ),
    "group_picture": lambda trace: group_picture(trace.n_heads, 1, head=0),
    "variance_lines": lambda trace: variance_lines(spread_of_products(0), spread_of_products(1, (8,))),
    "gradient_lines": lambda trace: gradient_lines(spread_of_products(0), None),
    "mask_row": lambda trace: mask_row({"<one>": trace.mask[0], "both": trace.mask[0]}, trace),
    "keys_allowed": lambda trace: keys_allowed(overview(trace).n_allowed[0], trace, query=0),
    "mask_gallery": lambda trace: mask_gallery(
        [
            Example("<Structure>", "<one> $x$", trace.mask[0], is_chosen=True),
            Example("Sparsity", "Another with a long name", trace.mask[0]),
        ],
        plain_labels(trace.query_tokens),
        plain_labels(trace.key_tokens),
    ),
    "reach_map": lambda trace: reach_map(
        trace,
        reach(trace.mask[0]),
        Window(0, trace.n_q, 0, trace.n_k),
        depth=2,
        query=0,
        key=0,
        has_keys=overview(trace).has_keys[0],
    ),
    "reach_line": lambda trace: reach_line(reach(trace.mask[0]), trace, depth=2, query=0),
    "two_rows": lambda trace: two_rows(
        {"right": trace.weights[0, 0], "wrong": trace.weights[0, 0]}, trace, trace.mask[0, 0], [0], key=0
    ),
    "row_sums": lambda trace: row_sums(
        {"right": trace.weights[0].sum(axis=1), "wrong": trace.weights[0].sum(axis=1)}, trace, query=0
    ),
    "attention_lines": lambda trace: attention_lines(
        strongest_links(trace, range(trace.n_heads), 200),
        strongest_links(trace, range(trace.n_heads), 50, rows=range(1)),
        trace.query_tokens,
        trace.key_tokens,
        heads=range(trace.n_heads),
        head=0,
        query=0,
        view=View((0,)),
    ),
    "rollout_map": lambda trace: rollout_map(
        trace.weights[0],
        trace.query_tokens,
        query=0,
        key=0,
        scale=SINGLE_HUE,
        top=1.0,
        value="share",
        column="input token",
    ),
    "flow_bars": lambda trace: flow_bars(
        trace.weights[0, 0], trace.weights[0, -1], trace.key_tokens, range(trace.n_k), key=0
    ),
    "path_picture": lambda trace: path_picture(
        strongest_routes([np.tril(np.ones((trace.n_q, trace.n_q)))] * 3, trace.n_q - 1),
        trace.query_tokens,
        query=trace.n_q - 1,
        n_layers=3,
    ),
    "query_bars": lambda trace: query_bars(trace, head=0, query=0, key=0),
    "similarity_matrix": lambda trace: similarity_matrix(
        SIMILARITIES["cosine"].function((trace,)).pairs, roles(trace), selected=0, scale=SINGLE_HUE, value="cosine"
    ),
    "alike_matrix": lambda trace: alike_matrix(
        SIMILARITIES["cosine"].function((trace,)),
        tree_of(SIMILARITIES["cosine"].function((trace,)).distances),
        roles(trace),
        selected=0,
        scale=SINGLE_HUE,
        value="cosine of maps",
        cut=0.1,
    ),
    "head_map": lambda trace: head_map(
        plane_of(SIMILARITIES["js_divergence"].function((trace,)).distances),
        np.zeros(trace.n_heads, dtype=np.int64),
        roles(trace),
        selected=0,
        labelled=range(min(trace.n_heads, 30)),
        unit="bits",
    ),
    "pair_map": lambda trace: pair_map(
        by_pair(*(SIMILARITIES[name].function((trace,)) for name in ("cosine", "linear_cka"))),
        [HeadAt(0, head) for head in range(trace.n_heads)],
        selected=0,
    ),
    "difference_map": lambda trace: difference_map(
        Side(trace, 0),
        difference_part(Side(trace, 0), Side(trace, trace.n_heads - 1), Window(0, trace.n_q, 0, trace.n_k), MOST_SIDE),
        Window(0, trace.n_q, 0, trace.n_k),
        query=0,
        key=0,
        largest=0.5,
        names=("head 0", "head 1"),
    ),
    "removal_bars": lambda trace: removal_bars(
        np.array([change.relative for change in leave_one_out(written(trace))]),
        0.3,
        roles(trace),
        selected=0,
        off=(0,),
    ),
    "pruning_lines": lambda trace: pruning_lines(pruning(written(trace))),
    "gate_map": lambda trace: gate_map(
        (found := adaptive(written(trace), 0.8, "query")).shares,
        found.keeps,
        found.n_kept,
        trace.query_tokens,
        queries_shown(0, trace.n_q),
        head=0,
        query=0,
        scale=SINGLE_HUE,
    ),
    "layer_bars": lambda trace: layer_bars(np.array([0.4, np.nan]), np.array([0.5, np.nan]), ["7.25", "8"], selected=1),
    "layer_map in log": lambda trace: layer_map(
        np.stack([mean_over_queries(survey(trace).measures["mean_distance"])] * 2),
        None,
        selected=HeadAt(1, 0),
        name="1 − cosine (%)",
        scale=SINGLE_HUE,
        off=[HeadAt(1, 0)],
        is_log=True,
        texts=cell_texts(np.ones((2, trace.n_heads))),
    ),
    "cost_lines": lambda trace: cost_lines(costs(written(trace), "query"), trace.n_heads, chosen=0.8),
    "role_map": lambda trace: role_map(
        roles_of(trace, survey(trace)), range(trace.n_heads), selected=0, scale=SINGLE_HUE
    ),
    "role_overview": lambda trace: role_overview(
        [roles_of(trace, survey(trace))] * 3, selected=HeadAt(1, trace.n_heads - 1)
    ),
    "layer_map": lambda trace: layer_map(
        np.stack([mean_over_queries(survey(trace).measures["mean_distance"])] * 2),
        np.zeros(2),
        selected=HeadAt(1, 0),
        name="Mean distance (tokens)",
        scale=SINGLE_HUE,
        off=[HeadAt(1, 0)],
    ),
    "offset_bars": lambda trace: offset_bars(offsets_of(trace, 0)),
    "received_map": lambda trace: received_map(
        received_beyond(survey(trace))[0], trace.key_tokens, roles(trace), range(trace.n_heads), selected=0
    ),
    "measure_panel": lambda trace: measure_panel(
        survey(trace).measures["mean_distance"],
        survey(trace).uniform["mean_distance"],
        roles(trace),
        selected=0,
        name="Mean distance",
        unit="tokens",
    ),
}
FIGURES |= {
    "spectrum_lines": lambda trace: spectrum_lines(
        layer_spectra(trace).scores.shares()[0],
        layer_spectra(trace).weights.shares()[0],
        layer_spectra(trace).uniform.shares()[0],
        most=trace.d_head,
        most_name="d_head",
    ),
    "rank_panel": lambda trace: rank_panel(
        effective_rank(layer_spectra(trace).scores),
        effective_rank(layer_spectra(trace).weights),
        effective_rank(layer_spectra(trace).uniform),
        roles(trace),
        most=trace.d_head,
        most_name="d_head",
        selected=0,
    ),
    "sweep_lines": lambda trace: sweep_lines(
        [1, trace.n_heads + 1],
        {"heads": Series(np.array([np.nan, 8.0]), LIGHT.mark), "uniform": Series(np.ones(2), LIGHT.baseline, True)},
        present=1,
        name="rank (directions)",
        is_doubling=trace.n_heads > 1,
    ),
}
AXES = {
    "spectrum_lines": ("place of the singular value", "share of the largest"),
    "rank_panel": ("effective rank (directions)", "head"),
    "sweep_lines": ("number of heads", "rank (directions)"),
    "attention_heatmap": ("key (column)", "query (row)"),
    "head_grid": ("key (column)", "query (row)"),
    "head_grid per head": ("key (column)", "query (row)"),
    "head_grid viewed": ("key (column)", "query (row)"),
    "attention_heatmap viewed": ("key (column)", "query (row)"),
    "mask_heatmap": ("key (column)", "query (row)"),
    "mask_row": ("key (column)", "query (row)"),
    "keys_allowed": ("query", "allowed keys"),
    "mask_gallery": ("key (column)", "query (row)"),
    "reach_map": ("key (column)", "query (row)"),
    "reach_line": ("layers", "reached (%)"),
    "two_rows": ("weight", "key"),
    "row_sums": ("query", "sum of the weights"),
    "query_bars": ("weight", "key"),
    "attention_lines": ("a line leads from a query", "query (left)"),
    "rollout_map": ("input token (column)", "query (row)"),
    "flow_bars": ("flow", "input token"),
    "path_picture": ("input, then after each layer", "token"),
    "similarity_matrix": ("head (column)", "head (row)"),
    "removal_bars": ("change of the output (%)", "head"),
    "pruning_lines": ("heads left", "change of the output (%)"),
    "gate_map": ("head (column)", "query (row)"),
    "cost_lines": ("share to be held (%)", "per cent (%)"),
    "role_map": ("role (column)", "head (row)"),
    "alike_matrix": ("head (column)", "head (row)"),
    "head_map": ("first direction (bits)", "second direction (bits)"),
    "difference_map": ("key (column)", "query (row)"),
    "pair_map": ("cosine of maps", "CKA of outputs"),
    "measure_panel": ("Mean distance (tokens)", "head"),
    "role_overview": ("head (column)", "layer (row)"),
    "layer_map": ("head (column)", "layer (row)"),
    "layer_map in log": ("head (column)", "layer (row)"),
    "layer_bars": ("change of the layer’s output (%)", "layer · heads on"),
    "offset_bars": ("offset", "share of the attention (%)"),
    "received_map": ("key (column)", "head (row)"),
    "array_pictures": ("column", "token (row)"),
    "term_bars": ("key", "term"),
    "score_bars": ("key", "score"),
    "changed_bars": ("key", "weight"),
    "group_picture": ("query head", "key/value, query"),
    "variance_lines": ("d_head", "variance"),
    "gradient_lines": ("d_head", "p (1 − p)"),
}


def roles(trace: AttentionTrace) -> tuple[str, ...]:
    return tuple(f"role <{head}>" for head in range(trace.n_heads))
