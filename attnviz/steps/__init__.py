"""Where a number comes from: the arithmetic of one weight, stage by stage, as it is shown."""

from __future__ import annotations

from attnviz.steps.carrying import context, output
from attnviz.steps.equation import Equation, Number, number
from attnviz.steps.focus import Focus
from attnviz.steps.making import dot_product, projection, rotation, sum_of_parts
from attnviz.steps.stage import Shot, Stage
from attnviz.steps.terms import Terms
from attnviz.steps.weighing import bias, dropout, masking, scaling, soft_cap, softmax

STAGES = {
    "input": ("x", sum_of_parts),
    "projection": ("q, k, v", projection),
    "rotation": ("Rotation", rotation),
    "dot": ("q · k", dot_product),
    "scale": ("Scale", scaling),
    "cap": ("Soft cap", soft_cap),
    "bias": ("Bias", bias),
    "mask": ("Mask", masking),
    "softmax": ("Softmax", softmax),
    "dropout": ("Dropout", dropout),
    "context": ("Context", context),
    "output": ("Output", output),
}


def labels_of(focus: Focus) -> dict[str, str]:
    """The stages that the setting has, from the tokens to the output, with what each is called on the page."""
    trace = focus.trace
    optional = {
        "rotation": trace.origin.rotation is not None,
        "cap": trace.softcap > 0,
        "bias": trace.has_bias,
        "dropout": trace.dropout > 0,
    }
    return {name: label for name, (label, _) in STAGES.items() if optional.get(name, True)}


def stage_of(focus: Focus, name: str) -> Stage:
    """One stage of those that the setting has."""
    return STAGES[name][1](focus)


def stages_of(focus: Focus) -> list[Stage]:
    """Every stage that the setting has."""
    return [stage_of(focus, name) for name in labels_of(focus)]


__all__ = [
    "STAGES",
    "Equation",
    "Focus",
    "Number",
    "Shot",
    "Stage",
    "Terms",
    "labels_of",
    "number",
    "stage_of",
    "stages_of",
]
