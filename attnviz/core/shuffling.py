"""The same tokens in another order: how far the output of each token changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from attnviz.core.config import AttentionConfig
from attnviz.core.layer import attend
from attnviz.registries import POSITIONS
from attnviz.shapes import Output, Tokens

Order = Int[np.ndarray, " place"]
Change = Float[np.ndarray, " token"]


@dataclass(frozen=True, eq=False)
class Shuffled:
    """What another order of the tokens does to the output of each of them.

    Attributes
    ----------
    order
        Which token stands at each place.
    tokens, moved
        The tokens that are moved, and the same in the other order.
    outputs_of
        The tokens whose outputs are compared: in cross-attention the queries, which stay where they are.
    with_positions, without_positions, without_either
        Relative change of each output with positions and masks, with masks alone, and with neither.
    """

    order: Order
    tokens: Tokens
    moved: Tokens
    outputs_of: Tokens
    with_positions: Change
    without_positions: Change
    without_either: Change


def shuffled_order(n: int, seed: int, *, keep_ends: bool = False) -> Order:
    """Another order of n tokens, drawn from the seed; the same one only where there is no other.

    >>> shuffled_order(5, seed=0, keep_ends=True)
    array([0, 3, 1, 2, 4])
    """
    order = np.arange(n)
    inner = order[1:-1] if keep_ends else order
    drawn = np.random.default_rng([seed, 0x5F]).permutation(inner)
    inner[:] = np.roll(inner, 1) if np.array_equal(drawn, inner) else drawn
    return order


def relative_change(before: Output, after: Output) -> Change:
    """Length of the difference of two rows over the length of the longer one; 0 where both are 0.

    >>> relative_change(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[3.0, 0.0], [0.0, 0.0]]))
    array([0.8, 0. ])
    """
    one, other = before.astype(np.float64), after.astype(np.float64)
    size = np.maximum(np.linalg.norm(one, axis=1), np.linalg.norm(other, axis=1))
    return np.linalg.norm(one - other, axis=1) / np.where(size > 0, size, 1.0)


def put_back(rows: Output, order: Sequence[int] | Order) -> Output:
    """Rows of the shuffled tokens in the first order again."""
    return rows[np.argsort(order)]


def shuffled(config: AttentionConfig) -> Shuffled:
    """Run a layer with its tokens in another order, with and without positions and masks.

    In cross-attention the keys are moved, and the outputs are those of the queries.

    References
    ----------
    Vaswani et al. 2017, section 3.5: without positions attention cannot make use of the order.
    """
    moved = config.key_tokens or config.tokens
    order = shuffled_order(len(moved), config.seed)

    def change(setting: AttentionConfig) -> Change:
        before, after = attend(setting).output, attend(setting, order=order.tolist()).output
        return relative_change(before, after if config.key_tokens else put_back(after, order))

    without = replace(config, position=POSITIONS["none"].spec())
    return Shuffled(
        order,
        moved,
        tuple(moved[place] for place in order),
        config.tokens,
        with_positions=change(config),
        without_positions=change(without),
        without_either=change(replace(without, masks=())),
    )
