"""The views of the page about positions, of which one at a time is chosen, computed and drawn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from attnviz.figures import position_beyond_words as beyond_words
from attnviz.figures import position_words as words
from attnviz.figures.labels import visible
from attnviz.figures.position_bars import shuffled_bars
from attnviz.figures.position_lines import beyond_lines, distance_lines
from attnviz.figures.position_maps import USUAL_PAIRS, place_matrices, scale_end
from attnviz.masks import ALLOW_ALL
from attnviz.numbers import counted, grouped
from attnviz.positions.beyond import (
    MOST_STEPS,
    TIMES_LONGER,
    bias_beyond,
    far_scores,
    nearest_seen,
    pairs_at_new_angles,
)
from attnviz.positions.similarity import SAME_WORD_FORMULA, Method, by_distance, same_word_scores
from attnviz.scenario import Scenario
from attnviz.shapes import Tokens
from attnviz.tables import shuffled_table
from attnviz.ui import compute, controls, session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words
from attnviz.ui.position_effects import effect
from attnviz.ui.position_methods import (
    chosen_method,
    compared,
    comparison,
    has_effect,
    is_biased,
    longest_trained,
    places_shown,
    text_length,
)

VIEWS = {
    "effect": "What it does",
    "similarity": "How alike positions are",
    "shuffled": "Same tokens, shuffled",
    "beyond": "Beyond the trained length",
}
MOST_SPELT = 24
MOST_ROWS = 24


def chosen(scenario: Scenario, layer: Layer) -> None:
    """The control that chooses a view, and that view."""
    controls.view_picker("position_view", VIEWS)
    if scenario.position_view == "effect":
        effect(scenario, layer)
    elif scenario.position_view == "similarity":
        similarity(scenario, layer)
    elif scenario.position_view == "shuffled":
        shuffled(scenario, layer)
    else:
        beyond(scenario, layer)


def similarity(scenario: Scenario, layer: Layer) -> None:
    """How alike two places are to each of two methods: every pair of places, and against distance."""
    two = comparison(scenario, layer, text_length(layer))
    places = np.arange(places_shown(layer))
    matrices = {name: same_word_scores(method, places, places, head=two.head) for name, method in two.methods.items()}
    found = {name: by_distance(scores) for name, scores in matrices.items()}
    every = np.stack(list(matrices.values()))
    caption = _measured(two.methods, two.head, scenario)
    maps, curve = st.columns([3, 2], gap="medium")
    with maps:
        show.figure(
            place_matrices(matrices, fit=4 if session.fitting_maps("position_pairs") > 4 else 2),
            key="position_pairs",
            words=Words(
                "How alike are two positions?",
                words.matrices_answer(matrices),
                caption + words.clipped(scale_end(every, USUAL_PAIRS), every),
                words.matrices_alt(matrices),
            ),
        )
    with curve:
        show.figure(
            distance_lines(found),
            key="position_distance",
            words=Words(
                "And against their distance?",
                words.distance_answer(found),
                f"Mean over all pairs of the {len(places)} positions at each distance; 0 is the score at the own "
                "position.",
                f"Lines of the score against the distance. {words.distance_answer(found)}",
            ),
        )


def _measured(methods: Mapping[str, Method], head: int, scenario: Scenario) -> str:
    """How the score of the same word is measured."""
    biased = f" The bias is that of head {head}." if any(is_biased(method) for method in methods.values()) else ""
    words_and_weights = "Words of variance 1 a column, W_Q = W_K = identity, mean over the heads; no unit."
    if scenario.input == "trained":
        words_and_weights += " The model's vectors are divided by the root mean square of its word vectors."
    drawn = words.drawn_from_seed([name for name, method in methods.items() if method.is_drawn])
    return f"{SAME_WORD_FORMULA}. {words_and_weights}{biased}{drawn}"


def shuffled(scenario: Scenario, layer: Layer) -> None:
    """The same tokens in another order: what changes of each output, with positions and without."""
    found = compute.shuffled_tokens(scenario)
    has_positions = has_effect(chosen_method(scenario, layer, text_length(layer)))
    has_mask = any(spec.name not in ALLOW_ALL for spec in scenario.masks)
    show.sentence(_orders(found.tokens, found.moved), _cut(layer, found.outputs_of))
    moved = "Keys and values are moved, the outputs are those of the queries" if scenario.cross else "Tokens are moved"
    if scenario.input == "trained":
        moved = "The tokens between [CLS] and [SEP] are moved"
    show.figure(
        shuffled_bars(found, has_positions=has_positions, has_mask=has_mask),
        key="position_shuffled",
        words=Words(
            "Does the order of the tokens matter?",
            words.shuffled_answer(found, has_positions=has_positions, has_mask=has_mask),
            f"{moved}; the seed decides the order. Relative change of a token's output y: |y shuffled − y| / the "
            "longer of the two, from 0 (the output went along with its token) to 2; no unit.",
            words.shuffled_alt(found),
        ),
    )
    frame, labels = shuffled_table(found, has_positions=has_positions, has_mask=has_mask)
    frame["token"] = [visible(token) for token in found.outputs_of]
    few = (
        f"The first {MOST_ROWS} of {counted(len(frame), 'token')}; the file has all. " if len(frame) > MOST_ROWS else ""
    )
    show.table(
        frame,
        slice(0, MOST_ROWS),
        title="The changes in numbers",
        caption=f"{few}Relative change of each output; about 10⁻⁷ is rounding.",
        labels=labels,
        file_name="attnviz-shuffled.csv",
        strong=-1,
    )


def _orders(tokens: Tokens, moved: Tokens) -> str:
    return f"In order: “{_spelt(tokens)}” – shuffled: “{_spelt(moved)}”."


def _spelt(tokens: Tokens) -> str:
    more = " …" if len(tokens) > MOST_SPELT else ""
    return " ".join(visible(token) for token in tokens[:MOST_SPELT]) + more


def _cut(layer: Layer, used: Tokens) -> tuple[str, ...]:
    """That only some tokens are shuffled, where the text has more."""
    total = layer.trace.n_q
    return (f"Only the first {grouped(len(used))} of {counted(total, 'token')} are used.",) if len(used) < total else ()


def beyond(scenario: Scenario, layer: Layer) -> None:
    """What two methods do past the longest text that a model was trained on."""
    trained = longest_trained(scenario)
    length = TIMES_LONGER * trained
    two = comparison(scenario, layer, length + 1, has_length=True)
    before = compared(scenario, layer, trained)
    found = {name: far_scores(method, _reach(method, length), head=two.head) for name, method in two.methods.items()}
    said = [
        sentence
        for name, method in two.methods.items()
        for sentence in _beyond_words(name, before[name], method, trained, length, two.head)
    ]
    every = "" if length <= MOST_STEPS else f" {MOST_STEPS + 1} of the distances are drawn."
    show.figure(
        beyond_lines(found, trained_length=trained, length=length),
        key="position_beyond",
        words=Words(
            "What happens past the trained length?",
            " ".join(said),
            f"The query stands at the last position of a text {TIMES_LONGER} times as long as trained on, or at the "
            "last that the method knows, the key so many tokens before it. "
            f"{_measured(two.methods, two.head, scenario)}{every}",
            beyond_words.beyond_alt(found, trained),
        ),
    )


def _reach(method: Method, length: int) -> int:
    """The last place of the long text that the method knows."""
    return length if method.n_places is None else min(length, method.n_places - 1)


def _beyond_words(name: str, before: Method, method: Method, trained: int, length: int, head: int) -> list[str]:
    """A sentence for each effect of a method, and for a method without any."""
    reach, effects = _reach(method, length), method.effects
    said: list[str] = []
    if effects.add is not None and trained < reach:
        said.append(beyond_words.added_beyond(name, nearest_seen(method, trained, reach), trained))
    if method.n_places is not None and reach < length:
        said.append(beyond_words.ends_beyond(name, method.n_places))
    if effects.rotate is not None and before.effects.rotate is not None:
        n_new = pairs_at_new_angles(before.effects.rotate, effects.rotate, trained, reach)
        said.append(beyond_words.turned_beyond(name, n_new, effects.rotate.frequencies.size, trained))
    if effects.bias is not None:
        said.append(beyond_words.bias_past(name, bias_beyond(method, trained, reach, head=head), trained, reach, head))
    return said or [beyond_words.nothing_beyond(name)]
