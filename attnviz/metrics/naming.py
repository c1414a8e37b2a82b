"""What a measure is called, with its parameters where it has some."""

from __future__ import annotations

from attnviz.registries import METRICS
from attnviz.registry import Spec, format_value


def measure_label(spec: Spec) -> str:
    """Name of a measure for titles and headings.

    >>> measure_label(METRICS["top_mass"].spec(top=7)), measure_label(METRICS["entropy"].spec())
    ('Top mass, top 7', 'Entropy')
    """
    chosen = [f"{name.replace('_', ' ')} {format_value(value)}" for name, value in spec.params]
    return ", ".join((METRICS[spec.name].label, *chosen))
