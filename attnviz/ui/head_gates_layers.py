"""How many heads each layer of a trained model needs, and what all of them off together change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.figures import gate_words, layer_bars, layer_map
from attnviz.figures.overview_map import cell_texts
from attnviz.metrics.adaptive import Adaptive, GatedModel, adaptive
from attnviz.picks import HeadAt
from attnviz.scenario import Scenario
from attnviz.ui import progress, session, show
from attnviz.ui.head_removal import written_by
from attnviz.ui.layer import Layer, Run, Shown
from attnviz.ui.live import Words


def adapted_layer(layer: Layer, scenario: Scenario) -> Adaptive:
    """The fewest heads of a layer that hold the chosen share, kept with the layer."""
    share, gate_by = scenario.kept_share, scenario.gate_by
    made = written_by(layer)
    return layer.kept.once(("adaptive", share, gate_by), lambda: adaptive(made, share, gate_by))


def every_layer(scenario: Scenario, intact: Shown, head: int) -> None:
    """The gates of every layer, measured with all heads on; what each costs its layer, and all together the model."""
    found = [adapted_layer(layer, scenario) for layer in intact.run.layers]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _gates(scenario, found, HeadAt(intact.index, head))
    with right:
        _lost(found, intact.index)
    count = sum(trace.n_heads for trace in intact.run.traces)
    show.sentence(gate_words.model_words(_in_the_model(scenario, intact.run, found), count))


def _gates(scenario: Scenario, found: Sequence[Adaptive], selected: HeadAt) -> None:
    on = 100 * np.stack([np.broadcast_to(one.keeps, one.shares.shape).mean(axis=1) for one in found])
    show.figure(
        layer_map(
            on,
            None,
            selected=selected,
            name="on for so many tokens (%)",
            scale=scenario.scale,
            texts=cell_texts(on),
        ),
        key="gates_of_layers",
        words=Words(
            "How many heads does each layer need?",
            gate_words.layers_answer(found, scenario.kept_share),
            "Share of the tokens for which a head is among the fewest that hold the chosen share ‖p_h‖ / Σ‖p_g‖ of "
            "what its layer writes (Kobayashi et al. 2020, section 2). Every layer is measured in the model with all "
            "heads on. Click a cell for its layer and head.",
            gate_words.layers_alt(found),
        ),
        on_click=session.head_setter("gates_of_layers", on.shape[1]),
    )


def _lost(found: Sequence[Adaptive], selected: int) -> None:
    show.figure(
        layer_bars(
            np.array([one.change.relative for one in found]),
            np.array([one.at_random for one in found]),
            [gate_words.heads_on([one]) for one in found],
            selected=selected,
        ),
        key="lost_in_layers",
        words=Words(
            "What does each layer lose?",
            gate_words.lost_answer(found),
            "‖output with these heads − output‖ / ‖output‖ of each layer alone, in %, where its input is that of the "
            "model with all heads on. “At random”: root of the mean square over all sets of as many heads. Beside each "
            "layer: heads on, mean over the tokens. Click a bar to choose its layer.",
            gate_words.lost_alt(found),
        ),
        on_click=session.row_setter("lost_in_layers", [{"layer": layer} for layer in range(len(found))]),
    )


def _in_the_model(scenario: Scenario, run: Run, found: Sequence[Adaptive]) -> GatedModel:
    """The model run with all these gates, kept with the run."""
    from attnviz.models import load_minilm
    from attnviz.models.gated import gated_model

    share, gate_by = scenario.kept_share, scenario.gate_by
    with progress.steps(st.empty(), "of the model’s runs with fewer heads done") as tell:
        return run.kept.once(
            ("gated model", share, gate_by),
            lambda: gated_model(
                load_minilm(),
                scenario.text,
                run.traces,
                [one.keeps for one in found],
                kept_share=share,
                gate_by=gate_by,
                masks=scenario.masks,
                sharpness=scenario.sharpness,
                on_progress=tell,
            ),
        )
