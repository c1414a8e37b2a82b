"""Dropout on attention weights, as training has it."""

from __future__ import annotations

import numpy as np

from attnviz.errors import SettingError, broken_rule
from attnviz.shapes import Weights


def dropped(weights: Weights, p: float, seed: int) -> Weights:
    """Each weight is 0 with probability p, else divided by 1 - p, so that the mean stays the same.

    Raises
    ------
    SettingError
        If p is not from 0 up to but not including 1.

    References
    ----------
    Srivastava et al. 2014, section 4; on attention weights: Vaswani et al. 2017, section 5.4.

    Examples
    --------
    >>> sorted(set(dropped(np.full((1, 4, 4), 0.25), 0.2, seed=0).ravel().tolist()))
    [0.0, 0.3125]
    """
    if not 0 <= p < 1:
        raise SettingError(broken_rule("dropout", "must be from 0 to less than 1", f"dropout={p}", "Try 0.1."))
    kept = np.random.default_rng([seed, 0xD0]).random(weights.shape, dtype=np.float32) >= p
    return weights * kept / weights.dtype.type(1 - p)
