"""Designed heads: W_Q and W_K built so that a head does work one can name.

Each recipe reads content and position from the same x as any head. Their strength is set so that the key a head
is made for scores `SHARP` above the next best one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attnviz.core.columns import Columns
from attnviz.registries import RECIPES
from attnviz.registry import Entry
from attnviz.shapes import Matrix

SHARP = 6.0
SOFT = 0.8


@dataclass(frozen=True, eq=False)
class DesignedHead:
    """Columns of W_Q and of W_K for one head, `(d_model, d_head)` each."""

    query: Matrix
    key: Matrix


def _empty(columns: Columns) -> tuple[Matrix, Matrix]:
    shape = (columns.d_model, columns.d_head)
    return np.zeros(shape), np.zeros(shape)


def _shifted(columns: Columns, shift: int, contrast: float) -> DesignedHead:
    """A head whose score peaks where the key's place is the query's place plus `shift`.

    Notes
    -----
    Turning the pair (sin wp, cos wp) by w * shift gives the pair of place p + shift, so that query times key is
    the sum of cos(w (p + shift - p')) over the pairs: 1 each at the wanted place, less next to it.
    """
    query, key = _empty(columns)
    w = columns.frequencies
    strength = contrast / (1 - np.cos(w)).sum() * np.sqrt(columns.d_head)
    for place, (pair, angle) in enumerate(zip(columns.pairs, w * shift, strict=True)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        room = min(2, columns.d_head - 2 * place, columns.d_model - 2 * pair)
        read, write = slice(2 * pair, 2 * pair + room), slice(2 * place, 2 * place + room)
        query[read, write] = strength * turn[:room, :room]
        key[read, write] = np.eye(room)
    return DesignedHead(query, key)


@RECIPES.register(label="same word", group="Content", source="Vig & Belinkov 2019, section 4")
def same_word(columns: Columns) -> DesignedHead:
    """Looks for the word it stands on, wherever it occurs.

    Notes
    -----
    Query and key are the word's own signs in a few content columns; each sign that differs costs `SHARP`.
    """
    query, key = _empty(columns)
    for place, column in enumerate(columns.still):
        query[column, place] = SHARP / 2 * np.sqrt(columns.d_head)
        key[column, place] = 1.0
    return DesignedHead(query, key)


@RECIPES.register(label="previous token", group="Position", source="Clark et al. 2019, section 3.1")
def previous_token(columns: Columns) -> DesignedHead:
    """Looks at the token just before."""
    return _shifted(columns, -1, SHARP)


@RECIPES.register(label="next token", group="Position", source="Clark et al. 2019, section 3.1")
def next_token(columns: Columns) -> DesignedHead:
    """Looks at the token just after; a causal mask forbids exactly that."""
    return _shifted(columns, 1, SHARP)


@RECIPES.register(label="first token", group="Position", source="Xiao et al. 2023, section 3.1")
def first_token(columns: Columns) -> DesignedHead:
    """Looks at the first token from wherever it stands.

    Notes
    -----
    The query is the same everywhere (the mean of the slow cosines, which stay near 1); the key is the cosine of
    each fast pair, which all are 1 only at place 0.
    """
    query, key = _empty(columns)
    w = columns.frequencies
    strength = SHARP / (1 - np.cos(w)).sum() * np.sqrt(columns.d_head)
    for place, pair in enumerate(columns.pairs[: columns.d_head]):
        query[columns.constant, place] = strength / columns.constant.size
        key[min(2 * pair + 1, columns.d_model - 1), place] = 1.0
    return DesignedHead(query, key)


@RECIPES.register(label="near neighbours", group="Position", source="Vig & Belinkov 2019, section 4")
def near_neighbours(columns: Columns) -> DesignedHead:
    """Looks at a few tokens around its own, the nearest most."""
    return _shifted(columns, 0, SOFT)


@RECIPES.register(label="uniform", group="Baseline", source="Vaswani et al. 2017, section 3.2.1")
def uniform(columns: Columns) -> DesignedHead:
    """Knows nothing: every allowed key gets the same weight."""
    return DesignedHead(*_empty(columns))


def recipe_of(head: int) -> tuple[Entry[..., DesignedHead], int]:
    """Recipe of a head and which turn of it this is: the recipes follow each other, over and over."""
    recipes = list(RECIPES)
    return recipes[head % len(recipes)], head // len(recipes)


def role_of(head: int) -> str:
    """Name of what a designed head does.

    >>> role_of(1), role_of(7)
    ('previous token', 'previous token (2)')
    """
    recipe, turn = recipe_of(head)
    return f"{recipe.label} ({turn + 1})" if turn else recipe.label


def _designed(d_model: int, n_heads: int) -> Iterator[DesignedHead]:
    for head in range(n_heads):
        recipe, turn = recipe_of(head)
        yield recipe.function(Columns(d_model, d_model // n_heads, turn))


def design_heads(d_model: int, n_heads: int) -> tuple[Matrix, Matrix]:
    """W_Q and W_K, `(d_model, d_model)` each in float32, one recipe a head."""
    heads = list(_designed(d_model, n_heads))
    return (
        np.concatenate([head.query for head in heads], axis=1).astype(np.float32),
        np.concatenate([head.key for head in heads], axis=1).astype(np.float32),
    )
