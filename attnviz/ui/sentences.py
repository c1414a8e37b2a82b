"""The sentence that states what is on screen and what it costs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attnviz.cost import attention_cost
from attnviz.figures import removal_words
from attnviz.figures.head_names import head_name
from attnviz.link import Changed
from attnviz.metrics.gated import change_of_output
from attnviz.numbers import counted, duration, scaled
from attnviz.picks import HeadAt
from attnviz.registries import MASKS, POSITIONS
from attnviz.scenario import Scenario
from attnviz.ui.layer import Shown
from attnviz.ui.show import marked

MOST_NAMED = 8


def ignored(problems: Sequence[str]) -> str:
    """The parts of a link that were ignored, then those shown with another value: names and reasons, as Markdown.

    >>> ignored(["`seed` must be a number; got seed=x. Try 0."])
    'Ignored in this link&#58; seed. `seed` must be a number; got seed=x. Try 0.'
    """
    left_out = [problem for problem in problems if not isinstance(problem, Changed)]
    changed = [problem for problem in problems if isinstance(problem, Changed)]
    said = [_told("Ignored", left_out), _told("Changed", changed)]
    return marked(" ".join(words for words in said if words))


def _told(what: str, problems: Sequence[str]) -> str:
    names = dict.fromkeys(name for problem in problems for name in re.findall(r"`([^`]*)`", problem)[:1])
    return f"{what} in this link: {', '.join(names)}. {' '.join(problems)}" if problems else ""


def inside_a_sentence(label: str) -> str:
    """A label with a small first letter, unless its first word has another capital.

    >>> inside_a_sentence("Rotary (RoPE)"), inside_a_sentence("ALiBi"), inside_a_sentence("BigBird")
    ('rotary (RoPE)', 'ALiBi', 'BigBird')
    """
    first = label.split(" ")[0]
    return label if any(letter.isupper() for letter in first[1:]) else label[:1].lower() + label[1:]


def setting(scenario: Scenario, shown: Shown) -> str:
    """Heads, sizes, mask, positions, variants, operations and measured time, in one sentence."""
    trace = shown.layer.trace
    kv_heads, value_columns = trace.key.shape[0], trace.value.shape[2]
    cost = attention_cost(
        trace.n_q, trace.n_k, trace.x.shape[1], trace.n_heads, n_kv_heads=kv_heads, d_value=value_columns
    )
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
        words += _variants(scenario, kv_heads)
        where = ""
    words += _switched_off(shown)
    operations, time = scaled(cost.flops, "FLOP", digits=3), duration(shown.layer.seconds)
    other = scenario.cross and scenario.input != "trained"
    over = f"from {counted(trace.n_q, 'query', 'queries')} to " if other else "over "
    tokens = counted(trace.n_k, "key") if other else counted(trace.n_k, "token")
    return (
        f"{where}{counted(trace.n_heads, 'head')} of {counted(trace.d_head, 'dimension')} {over}{tokens}, "
        f"{', '.join(words)}: {operations}, {time}.{_alone(shown, is_cross=other)}{_without(shown)}"
    )


def _alone(shown: Shown, *, is_cross: bool) -> str:
    """Why one token tells nothing of its heads; empty for more of them, and where a sink takes a part."""
    trace = shown.layer.trace
    if trace.n_k > 1 or is_cross or trace.sinks is not None:
        return ""
    return " One token can only attend to itself, so heads cannot be told apart by where they look."


def _without(shown: Shown) -> str:
    """What the heads of this layer that are off change, and that pictures still show them."""
    trace = shown.layer.trace
    if not trace.removed or trace.gates is None:
        return ""
    still = f"Pictures and measures of heads still show what {'it does' if len(trace.removed) == 1 else 'they do'}."
    if trace.kept is None:
        return f" {still}"
    name = ("off", trace.removed, trace.gates.stand_in)
    change = shown.layer.kept.once(name, lambda: change_of_output(trace))
    return f" {removal_words.off_words(change, those_off(shown))} {still}"


def those_off(shown: Shown) -> str:
    """What the heads of the layer on screen that are off are called, after all that are off have been named.

    Notes
    -----
    Of several layers others may have heads that are off too.
    """
    removed = shown.layer.trace.removed
    if sum(len(trace.removed) for trace in shown.run.traces) == len(removed):
        return "it" if len(removed) == 1 else "them"
    if len(removed) == 1:
        return f"head {head_name(HeadAt(shown.index, removed[0]), shown.count)}"
    return f"the {len(removed)} of this layer"


def _switched_off(shown: Shown) -> list[str]:
    """Which heads are off, in any layer, and what takes their place."""
    off = [HeadAt(layer, head) for layer, trace in enumerate(shown.run.traces) for head in trace.removed]
    if not off:
        return []
    stand_ins = {trace.gates.stand_in for trace in shown.run.traces if trace.gates is not None}
    instead = " (its mean instead)" if len(off) == 1 else " (their means instead)"
    if len(off) > MOST_NAMED:
        named = f"{counted(len(off), 'head')} off"
    else:
        *first, last = (head_name(at, shown.count) for at in off)
        names = f"{', '.join(first)} and {last}" if first else last
        named = f"{'head' if len(off) == 1 else 'heads'} {names} off"
    return [named + (instead if stand_ins == {"mean"} else "")]


def _variants(scenario: Scenario, kv_heads: int) -> list[str]:
    """What is not plain attention, in a few words each."""
    said = {
        counted(kv_heads, "key/value head"): scenario.n_kv_heads not in (0, scenario.n_heads),
        f"values of {counted(scenario.d_value, 'column')}": scenario.d_value,
        "unscaled": not scenario.is_scaled,
        f"soft cap {scenario.softcap:g}": scenario.softcap,
        "sinks": scenario.sinks,
        f"dropout {scenario.dropout:g}": scenario.dropout,
    }
    return [words for words, is_on in said.items() if is_on]
