"""What is lost without a head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.figures import layer_map, pruning_lines, removal_bars, removal_words
from attnviz.figures.overview_map import cell_texts
from attnviz.figures.removal import MOST_BARS
from attnviz.metrics.contribution import (
    Change,
    Written,
    check_removable,
    leave_one_out,
    pruning,
    shares,
    written,
)
from attnviz.metrics.gated import change_of_output
from attnviz.metrics.takeover import takeover
from attnviz.metrics.together import together
from attnviz.numbers import THIN_SPACE, percent
from attnviz.picks import HeadAt
from attnviz.scenario import Scenario
from attnviz.shapes import PerHead
from attnviz.tables import role_names
from attnviz.ui import compute, controls, head_switches, panels, progress, sentences, session, show
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.live import Words

INSTEAD = {"zero": "Nothing in its place", "mean": "Its mean in its place"}
FEW_TOKENS = 24


@dataclass(frozen=True, eq=False)
class Removed:
    """What each head writes, and each of them removed alone."""

    made: Written
    alone: tuple[Change, ...]

    @property
    def changes(self) -> PerHead:
        """Relative change of the output without each head."""
        return np.array([change.relative for change in self.alone])


def removal(scenario: Scenario, shown: Shown, head: int) -> None:
    """Each head removed alone, all of them one after the other, and those that are switched off."""
    intact = compute.with_all_heads(scenario, shown)
    layer, stand_in = intact.layer, scenario.stand_in
    controls.view_picker("stand_in", INSTEAD)
    found = removed(layer, stand_in)
    left, right = st.columns(2, gap="medium")
    with left:
        _alone(found, shown, head, stand_in)
    with right:
        _one_by_one(found, layer, stand_in)
    head_switches.switches(scenario, shown)
    _switched_off(scenario, shown, intact)
    if scenario.input == "trained":
        _in_the_model(scenario, shown, intact, head)
    _table(found, layer, head, stand_in)


def removed(layer: Layer, stand_in: str) -> Removed:
    """What a layer loses with each head, kept with the layer."""
    made = written_by(layer, stand_in)
    return layer.kept.once(("removed", stand_in), lambda: Removed(made, leave_one_out(made)))


def written_by(layer: Layer, stand_in: str = "zero") -> Written:
    """What the heads of a layer write, kept with the layer; a long one with a bar.

    Raises
    ------
    SettingError
        If the layer is too large for it.
    """
    check_removable(layer.trace)
    context = progress.context(layer)
    return layer.kept.once(("written", stand_in), lambda: written(layer.trace, stand_in, context=context))


def _alone(found: Removed, shown: Shown, head: int, stand_in: str) -> None:
    roles, off = shown.layer.roles, shown.layer.trace.removed
    instead, equal = removal_words.STAND_INS[stand_in], removal_words.equal_heads(together(found.made), len(roles))
    part = removal_words.PARTS[stand_in]
    show.figure(
        removal_bars(
            found.changes,
            equal,
            roles,
            selected=head,
            off=off,
        ),
        key="removal_bars",
        words=Words(
            "What changes without a head?",
            removal_words.removal_answer(found.changes, equal, roles),
            f"Each head removed alone, {instead} instead: ‖output without it − output‖ / ‖output‖ over all queries, "
            f"in % (Michel et al. 2019, section 3.2). Dotted: ‖Σ{part}‖ / ‖output‖ / √heads, for heads of equal length "
            f"at right angles that together are as long as what goes with these, Σ{part}: of each head "
            f"{removal_words.WHAT_GOES[stand_in]}. "
            f"Click a {'bar' if len(roles) <= MOST_BARS else 'point'} to choose its head.",
            removal_words.removal_alt(found.changes, roles),
        ),
        on_click=session.row_setter("removal_bars", [{"head": one} for one in range(len(roles)) if one != head]),
    )


def _one_by_one(found: Removed, layer: Layer, stand_in: str) -> None:
    order, whole = pruning(found.made), together(found.made)
    has_bias = layer.trace.origin.to_output.b is not None
    ends = removal_words.none_left_words(whole, stand_in, has_bias=has_bias)
    why = (
        "The output counts with its bias b_O, which no head takes with it." if has_bias else "",
        removal_words.above_words(order),
        removal_words.agreement_words(whole, layer.trace.n_heads, stand_in),
    )
    show.figure(
        pruning_lines(order),
        key="pruning_lines",
        words=Words(
            "How many heads can go?",
            " ".join(filter(None, (removal_words.pruning_answer(order), ends))),
            "‖output without them − output‖ / ‖output‖ in %; each step removes the head whose absence changes the "
            f"output least. “shortest first”: by ‖{removal_words.PARTS[stand_in]}‖, the length of "
            f"{removal_words.WHAT_GOES[stand_in]}; “at random”: root of the mean square over all sets of as many heads "
            "(pruning: Michel et al. 2019, section 4). "
            f"{' '.join(filter(None, why))} Click a point of “least change first” to choose the head that goes there.",
            removal_words.pruning_alt(order),
        ),
        on_click=session.row_setter("pruning_lines", [{}, *({"head": int(one)} for one in order.order)]),
    )


def _switched_off(scenario: Scenario, shown: Shown, intact: Shown) -> None:
    """What the sentence at the top of the page does not say of the heads that are off."""
    trace = shown.layer.trace
    words: list[str] = []
    if trace.removed and trace.kept is None:
        change = change_of_output(trace, context=progress.context(intact.layer))
        words.append(removal_words.off_words(change, sentences.those_off(shown)))
    if scenario.input == "trained" and any(one.gates is not None for one in shown.run.traces):
        words.append(
            f"All heads that are off together change the embedding of the text by {_embedding_change(shown, intact)} "
            f"(1 − cosine; 0{THIN_SPACE}% with all heads)."
        )
    if words:
        show.sentence(" ".join(words))


def _embedding_change(shown: Shown, intact: Shown) -> str:
    from attnviz.models import load_minilm
    from attnviz.models.importance import embedding_change, last_hidden

    network = load_minilm().network
    return percent(embedding_change(*(last_hidden(network, run.traces) for run in (intact.run, shown.run))))


def _in_the_model(scenario: Scenario, shown: Shown, intact: Shown, head: int) -> None:
    """The map of all heads of the model; of a longer text when it is asked for."""
    from attnviz.models import load_minilm
    from attnviz.models.importance import importance

    name = ("importance", scenario.stand_in)
    kept, traces = intact.run.kept, intact.run.traces
    if not kept.has(name) and traces[0].n_q > FEW_TOKENS:
        count = sum(trace.n_heads for trace in traces)
        if not st.button(
            f"Measure all {count} heads", help="Each is removed alone, and the layers after it run again."
        ):
            return
    room = st.empty()
    with progress.steps(room, "of the heads removed and the layers after them run") as tell:
        found = kept.once(
            name,
            lambda: importance(load_minilm().network, traces, stand_in=scenario.stand_in, on_progress=tell),
        )
    off = [HeadAt(layer, one) for layer, trace in enumerate(shown.run.traces) for one in trace.removed]
    per_cent = 100 * found.embedding
    show.figure(
        layer_map(
            per_cent,
            None,
            selected=HeadAt(shown.index, head),
            name="1 − cosine (%)",
            scale=scenario.scale,
            off=off,
            is_log=True,
            texts=cell_texts(per_cent),
        ),
        key="importance_map",
        words=Words(
            "Which heads does the model need for this text?",
            removal_words.importance_answer(found.embedding),
            "Each head of the model removed alone and every later layer run again: 1 − cosine of the text’s embedding "
            "(mean of the last vectors; Reimers & Gurevych 2019) with and without it, in %; 0: the same direction, "
            "100: at right angles. Colours follow the logarithm; cells have the number where it fits. Click a cell for "
            "its layer and head; × is switched off.",
            removal_words.importance_alt(found.embedding),
        ),
        on_click=session.head_setter("importance_map", found.embedding.shape[1]),
    )


def _table(found: Removed, layer: Layer, head: int, stand_in: str) -> None:
    n_heads = layer.trace.n_heads
    others = [takeover(found.made, one) for one in range(n_heads)]
    columns: dict[str, object] = {
        "head": range(n_heads),
        "role": role_names(layer.roles),
        "written_share": 100 * shares(written_by(layer)),
        "change_percent": 100 * found.changes,
        "output_cosine": [change.cosine for change in found.alone],
        "taken_over_by_head": [pd.NA if other is None else other.head for other in others],
        "factor": [float("nan") if other is None else other.factor for other in others],
        "then_left_percent": [float("nan") if other is None else 100 * other.left for other in others],
    }
    frame = pd.DataFrame({name: values for name, values in columns.items() if name != "role" or any(layer.roles)})
    rows, note = panels.heads_in_table(head, n_heads)
    words = removal_words.takeover_words(others[head], head, float(found.changes[head]), stand_in)
    show.table(
        frame,
        rows,
        title="Each head removed alone",
        caption=f"{words} Share: ‖p_h‖ / Σ‖p_h‖ over all queries, p_h all that head h writes, whatever takes its place "
        f"(Kobayashi et al. 2020, section 2); even: {percent(1 / n_heads)}. Cosine: of the outputs before and after, "
        "mean over the queries. Taken over by: the other head that leaves least with "
        f"{removal_words.WHAT_GOES[stand_in]} multiplied by the factor (least squares).{note}",
        labels={
            "head": "Head",
            "role": layer.role_title,
            "written_share": "Share of what is written (%)",
            "change_percent": "Change without it (%)",
            "output_cosine": "Cosine",
            "taken_over_by_head": "Taken over by",
            "factor": "Factor",
            "then_left_percent": "Change then (%)",
        },
        file_name="attnviz-removal.csv",
        strong=head,
    )
