"""What the heads that are switched off change in the output of their own layer."""

from __future__ import annotations

import numpy as np

from attnviz.core.projections import merge_heads
from attnviz.core.trace import AttentionTrace


def change_of_output(trace: AttentionTrace) -> float:
    """‖output − output with all heads‖ / ‖output with all heads‖ over all queries; 0 where no head is off.

    Notes
    -----
    The input of the layer stays as it is.

    References
    ----------
    Michel et al. 2019, section 3.2.
    """
    whole = trace.origin.to_output(merge_heads(trace.context)).astype(np.float64)
    norm = float(np.linalg.norm(whole))
    return float(np.linalg.norm(trace.output - whole)) / norm if norm else 0.0
