"""From what a person chose to one boolean array."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import overload

import numpy as np

from attnviz.registries import MASKS
from attnviz.registry import Spec
from attnviz.shapes import HeadMask, Mask, PositionIds

EVERY_ROW = slice(None)
ALLOW_ALL = ("full", "dense", "no_padding")


@lru_cache(maxsize=64)
def indices_of(function: Callable[..., object]) -> tuple[str, ...]:
    """What a mask function asks for after q and k.

    Returns
    -------
    tuple[str, ...]
        `h`, the index of the heads, where the mask may differ from head to head; `n_q`, the number of all queries,
        where it matters.
    """
    return tuple(name for name in inspect.signature(function).parameters if name in ("h", "n_q"))


@overload
def build_mask(specs: Iterable[Spec], n_q: int, n_k: int, *, rows: slice = ...) -> Mask: ...


@overload
def build_mask(specs: Iterable[Spec], n_q: int, n_k: int, *, n_heads: int, rows: slice = ...) -> HeadMask: ...


def build_mask(
    specs: Iterable[Spec], n_q: int, n_k: int, *, n_heads: int | None = None, rows: slice = EVERY_ROW
) -> Mask | HeadMask:
    """What all these masks allow together; True = may attend.

    Parameters
    ----------
    specs
        The masks; a pair must be allowed by each.
    n_q, n_k
        How many queries and keys there are; fewer queries than keys stand at the end of the keys.
    n_heads
        How many heads there are, for masks that differ from head to head.
    rows
        Queries whose rows are built; all of them where it is left out.

    Returns
    -------
    Mask or HeadMask
        `(q, k)` without a number of heads, which is the mask of the first head; with it `(1, q, k)` where all heads
        share the mask, else `(head, q, k)`.

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
    >>> build_mask([MASKS["strided"].spec(heads="alternating")], 3, 3, n_heads=4).shape
    (4, 3, 3)
    """
    q = np.arange(n_k - n_q, n_k)[rows, None]
    k = np.arange(n_k)[None, :]
    h = np.arange(n_heads or 1)[:, None, None]
    given: dict[str, object] = {"h": h, "n_q": n_q}
    allowed = np.ones((1, len(q), n_k), dtype=bool)
    for spec in specs:
        function, params = MASKS[spec.name].function, dict(MASKS.check(spec).params)
        one = function(q, k, *(given[name] for name in indices_of(function)), **params)
        allowed = allowed & (one if one.ndim == 3 else one[None])
    return allowed[0] if n_heads is None else allowed


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
