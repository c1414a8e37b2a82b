"""How much of what a layer adds comes from each head; a value for each query."""

from __future__ import annotations

import numpy as np

from attnviz.core.rows import Rows
from attnviz.registries import METRICS
from attnviz.shapes import PerQuery


@METRICS.register(
    label="Share of the output",
    group="Output",
    source="Kobayashi et al. 2020, section 3 (norm-based attention)",
    formula="‖Σ w v W_O‖ / the same summed over all heads",
)
def output_share(rows: Rows) -> PerQuery:
    """How much of what the heads write for a query comes from this one, by length of the vectors, from 0 to 1.

    Notes
    -----
    A head's part of the output is its context times its rows of W_O. The baseline lets this head be uniform, and the
    others as they are. Not defined where no head writes anything.
    """
    own, real = rows.written, (rows.real or rows).written
    total = own + (real.sum(axis=0) - real)
    share = np.divide(own, total, out=np.full(total.shape, np.nan), where=total > 0)
    return np.where(np.broadcast_to(rows.n_allowed > 0, share.shape), share, np.nan)
