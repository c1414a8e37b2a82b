"""Dropout on attention weights, as training has it."""

from __future__ import annotations

import numpy as np

from attnviz.errors import SettingError, broken_rule
from attnviz.shapes import KPositions, Weights

PHILOX_DRAWS = 4


def dropped(
    weights: Weights,
    p: float,
    seed: int,
    *,
    heads: range | None = None,
    rows: range | None = None,
    keys: KPositions | None = None,
    n_k: int | None = None,
) -> Weights:
    """Each weight is 0 with probability p, else divided by 1 - p, so that the mean stays the same.

    Parameters
    ----------
    weights
        Whole maps, or part of them.
    p
        Share of the weights that is dropped.
    seed
        Where the random numbers start; what is dropped depends on it, the head, the query and the key alone.
    heads, rows, keys, n_k
        Which part of the maps this is: its heads, queries and keys, and how many keys there are.

    Raises
    ------
    SettingError
        If p is not from 0 up to but not including 1.

    References
    ----------
    Srivastava et al. 2014, section 4; on attention weights: Vaswani et al. 2017, section 5.4. Numbers that can start at
    any row: Salmon et al. 2011, section 3.3 (Philox).

    Examples
    --------
    >>> sorted(set(dropped(np.full((1, 4, 4), 0.25), 0.2, seed=0).ravel().tolist()))
    [0.0, 0.3125]
    """
    if not 0 <= p < 1:
        raise SettingError(broken_rule("dropout", "must be from 0 to less than 1", f"dropout={p}", "Try 0.1."))
    wide = weights.shape[2] if n_k is None else n_k
    draws = -(-wide // PHILOX_DRAWS)
    chosen, wanted = heads or range(weights.shape[0]), rows or range(weights.shape[1])
    columns = slice(0, wide) if keys is None else slice(int(keys[0]), int(keys[-1]) + 1)
    after = np.empty_like(weights)
    for place, head in enumerate(chosen):
        stream = np.random.Philox(key=[seed, (0xD0 << 32) + head], counter=wanted.start * draws)
        raw = stream.random_raw(len(wanted) * draws * PHILOX_DRAWS).reshape(len(wanted), -1)
        after[place] = weights[place] * (raw[:, columns] >= p * 2.0**64)
    return after / weights.dtype.type(1 - p)
