"""The sentence that states what is on screen and what it costs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnviz.cost import attention_cost
from attnviz.numbers import counted, duration, scaled
from attnviz.registries import MASKS, POSITIONS
from attnviz.scenario import Scenario
from attnviz.ui.compute import Shown
from attnviz.ui.show import marked


def ignored(problems: Sequence[str]) -> str:
    """The parts of a link that were ignored, by name and then with the reason for each, as Markdown.

    >>> ignored(["`seed` must be a number; got seed=x. Try 0."])
    'Ignored in this link&#58; seed. `seed` must be a number; got seed=x. Try 0.'
    """
    names = dict.fromkeys(name for problem in problems for name in re.findall(r"`([^`]*)`", problem)[:1])
    return marked(f"Ignored in this link: {', '.join(names)}. {' '.join(problems)}")


def inside_a_sentence(label: str) -> str:
    """A label with a small first letter, unless it is written in capitals.

    >>> inside_a_sentence("Rotary (RoPE)"), inside_a_sentence("ALiBi")
    ('rotary (RoPE)', 'ALiBi')
    """
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def setting(scenario: Scenario, shown: Shown) -> str:
    """Heads, sizes, mask, positions, operations and measured time, in one sentence."""
    trace = shown.layer.trace
    d_model = trace.x.shape[1]
    cost = attention_cost(trace.n_q, trace.n_k, d_model, trace.n_heads)
    masks = [inside_a_sentence(MASKS[spec.name].label) for spec in scenario.masks]
    usual = ("no sparsity", "no padding")
    words = [f"{masks[0]} mask", *(mask for mask in masks[1:] if mask not in usual)]
    if scenario.input == "trained":
        from attnviz.models import MINILM

        words.append("learned positions")
        where = f"Layer {shown.index} of {MINILM.label}: "
    else:
        label = POSITIONS[scenario.position.name].label
        words.append("no positions" if label == "None" else f"{inside_a_sentence(label)} positions")
        where = ""
    operations, time = scaled(cost.flops, "FLOP", digits=3), duration(shown.layer.seconds)
    return (
        f"{where}{counted(trace.n_heads, 'head')} of {counted(trace.d_head, 'dimension')} over "
        f"{counted(trace.n_k, 'token')}, {', '.join(words)}: {operations}, {time}."
    )
