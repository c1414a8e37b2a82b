"""A trained model reading the same tokens in another order."""

from __future__ import annotations

from attnviz.core.shuffling import Change, Shuffled, put_back, relative_change, shuffled_order
from attnviz.models.encoder import Gater
from attnviz.models.minilm import Encoder, encode, tokenize
from attnviz.registry import Spec


def shuffled_text(
    encoder: Encoder, text: str, *, masks: tuple[Spec, ...], sharpness: float, seed: int, gates: Gater | None = None
) -> tuple[Shuffled, ...]:
    """What another order of the tokens does to the output of each layer's attention.

    The first and the last token, `[CLS]` and `[SEP]`, stay where they are. Without positions every place has the vector
    of the first.

    Parameters
    ----------
    encoder, text, masks, sharpness, gates
        As for `encode`.
    seed
        Where the order is drawn from.

    Raises
    ------
    NothingYetError, SettingError, UnknownNameError
        If the text has no token, or a mask breaks its rule.
    """
    tokens, _ = tokenize(encoder, text)
    order = shuffled_order(len(tokens), seed, keep_ends=True)

    def changes(chosen: tuple[Spec, ...], *, has_positions: bool) -> list[Change]:
        first, other = (
            encode(
                encoder,
                text,
                masks=chosen,
                sharpness=sharpness,
                order=places,
                has_positions=has_positions,
                gates=gates,
            ).traces
            for places in (None, order.tolist())
        )
        return [relative_change(one.output, put_back(two.output, order)) for one, two in zip(first, other, strict=True)]

    layers = zip(
        changes(masks, has_positions=True),
        changes(masks, has_positions=False),
        changes((), has_positions=False),
        strict=True,
    )
    moved = tuple(tokens[place] for place in order)
    return tuple(Shuffled(order, tokens, moved, tokens, *layer) for layer in layers)
