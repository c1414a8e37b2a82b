"""The sentence that states what is on screen and what it costs."""

from __future__ import annotations

from attnviz.cost import attention_cost
from attnviz.numbers import THIN_SPACE, counted, scaled, significant
from attnviz.registries import MASKS, POSITIONS
from attnviz.scenario import Scenario
from attnviz.ui.compute import Shown


def setting(scenario: Scenario, shown: Shown) -> str:
    """Heads, sizes, mask, positions, operations and measured time, in one sentence."""
    trace = shown.layer.trace
    d_model = trace.x.shape[1]
    cost = attention_cost(trace.n_q, trace.n_k, d_model, trace.n_heads)
    masks = [MASKS[spec.name].label.lower() for spec in scenario.masks]
    usual = ("no sparsity", "no padding")
    words = [f"{masks[0]} mask", *(mask for mask in masks[1:] if mask not in usual)]
    if scenario.input == "trained":
        from attnviz.models import MINILM

        words.append("learned positions")
        where = f"Layer {shown.index} of {MINILM.label}: "
    else:
        words.append(f"{POSITIONS[scenario.position.name].label} positions".replace("None positions", "no positions"))
        where = ""
    time = f"{significant(1000 * shown.layer.seconds, 2)}{THIN_SPACE}ms"
    return (
        f"{where}{counted(trace.n_heads, 'head')} of {counted(trace.d_head, 'dimension')} over "
        f"{counted(trace.n_k, 'token')}, {', '.join(words)}: {scaled(cost.flops, 'FLOP')}, {time}."
    )
