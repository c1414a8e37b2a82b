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
    "input": sum_of_parts,
    "projection": projection,
    "rotation": rotation,
    "dot": dot_product,
    "scale": scaling,
    "cap": soft_cap,
    "bias": bias,
    "mask": masking,
    "softmax": softmax,
    "dropout": dropout,
    "context": context,
    "output": output,
}


def stages_of(focus: Focus) -> list[Stage]:
    """Every stage that the setting has, from the tokens to the output."""
    return [stage for make in STAGES.values() if (stage := make(focus)) is not None]


__all__ = ["STAGES", "Equation", "Focus", "Number", "Shot", "Stage", "Terms", "number", "stages_of"]
