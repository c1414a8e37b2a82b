"""From what a person chose to one boolean array."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attnviz.registries import MASKS
from attnviz.registry import Spec
from attnviz.shapes import HeadMask, Mask, PositionIds


def build_mask(specs: Iterable[Spec], n_q: int, n_k: int) -> Mask:
    """What all these masks allow together, as an array `(q, k)`; True = may attend.

    Raises
    ------
    UnknownNameError, SettingError
        If a spec names no registered mask or breaks a parameter's rule.

    Examples
    --------
    >>> build_mask([MASKS["causal"].spec(), MASKS["padding_left"].spec(padded=1)], 3, 3).astype(int)
    array([[0, 0, 0],
           [0, 1, 0],
           [0, 1, 1]])
    """
    q = np.arange(n_q)[:, None]
    k = np.arange(n_k)[None, :]
    allowed = np.ones((n_q, n_k), dtype=bool)
    for spec in specs:
        allowed &= MASKS[spec.name].function(q, k, **dict(MASKS.check(spec).params))
    return allowed


def rows_without_keys(mask: HeadMask) -> list[int]:
    """Queries that no head allows any key.

    >>> rows_without_keys(np.array([[[True, False], [False, False]]]))
    [1]
    """
    return [int(row) for row in np.flatnonzero(~mask.any(axis=(0, 2)))]


def padded_position_ids(specs: Iterable[Spec], n: int) -> PositionIds:
    """Position of each token, counted over the tokens that are not padding; padding itself stays at 0.

    Notes
    -----
    cumsum(is token) - 1, as language models count left-padded batches.

    Examples
    --------
    >>> padded_position_ids([MASKS["padding_left"].spec(padded=3)], 5)
    array([0, 0, 0, 0, 1])
    """
    padding = [spec for spec in specs if MASKS[spec.name].group == "Padding"]
    is_token = build_mask(padding, 1, n)[0]
    return np.maximum(np.cumsum(is_token) - 1, 0)
