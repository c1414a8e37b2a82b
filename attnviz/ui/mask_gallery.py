"""The gallery: every registered mask at the length on screen, one click from being chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.figures import mask_words
from attnviz.figures.mask_gallery import Example, mask_gallery
from attnviz.figures.meta import plain_labels
from attnviz.masks import build_mask
from attnviz.registries import MASKS
from attnviz.registry import Spec
from attnviz.scenario import Scenario
from attnviz.ui import compute, session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words
from attnviz.ui.mask_panels import MOST_TOKENS

KEY = "gallery"
SHOWN_OF_LONG = 128
FIELDS = {"Structure": "mask", "Sparsity": "sparsity", "Padding": "padding"}


def gallery(scenario: Scenario, layer: Layer) -> None:
    """Every mask; those on screen have their own parameters, the others their usual ones."""
    trace = layer.trace
    is_long = max(trace.n_q, trace.n_k) > MOST_TOKENS
    n_q, n_k = (min(n, SHOWN_OF_LONG) if is_long else n for n in (trace.n_q, trace.n_k))
    names = MASKS.names()
    examples = examples_of(scenario.masks, names, n_q, n_k)
    caption = "Click a mask to choose it; those on screen are framed and have their parameters, the others the usual."
    if is_long:
        caption += f" Drawn for {SHOWN_OF_LONG} tokens, so that their shapes can be seen."
    if trace.n_heads > 1:
        caption += " Of masks that differ from head to head: head 0."
    show.figure(
        mask_gallery(
            examples,
            plain_labels(trace.query_tokens[:n_q]),
            plain_labels(trace.key_tokens[:n_k]),
            fit=session.fitting_maps(KEY),
        ),
        key=KEY,
        words=Words(
            "Which masks are there?",
            mask_words.gallery_answer(examples),
            caption,
            mask_words.gallery_alt(examples),
        ),
        on_click=chooser(names),
    )


def examples_of(shown: Sequence[Spec], names: Sequence[str], n_q: int, n_k: int) -> list[Example]:
    """The named masks, those on screen as they are there, the others with their usual parameters."""
    usual = tuple(MASKS[name].spec() for name in names)
    on_screen = {spec.name: spec for spec in shown}
    alone = compute.masks_alone(usual, n_q, n_k)
    return [
        Example(
            MASKS[spec.name].group,
            MASKS[spec.name].label,
            mask if on_screen.get(spec.name, spec) == spec else build_mask([on_screen[spec.name]], n_q, n_k),
            spec.name in on_screen,
        )
        for spec, mask in zip(usual, alone, strict=True)
    ]


def chooser(names: Sequence[str]) -> Callable[[], None]:
    """A callback that chooses the mask that was clicked, in the menu of its group."""

    def choose() -> None:
        place = session.clicked_map(KEY)
        if place is not None and place < len(names):
            session.setter(**{FIELDS[MASKS[names[place]].group]: names[place]})()

    return choose
