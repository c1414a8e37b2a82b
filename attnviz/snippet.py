"""What is on screen as a short Python program that computes it again."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from attnviz.core.config import AttentionConfig
from attnviz.core.layer import MOST_KEPT
from attnviz.core.text import Numbered
from attnviz.picks import heads_as_text, heads_in, heads_within
from attnviz.registries import MASKS, METRICS, POSITIONS
from attnviz.registry import Registry, Spec
from attnviz.scenario import Scenario

REGISTRIES: dict[str, Registry[..., Any]] = {"MASKS": MASKS, "METRICS": METRICS, "POSITIONS": POSITIONS}


def snippet(scenario: Scenario, *, has_measure: bool) -> str:
    """A program that computes the weights that are on screen, with the public functions of attnviz.

    Parameters
    ----------
    scenario
        What is on screen.
    has_measure
        Whether the chosen measure is computed too.

    Returns
    -------
    str
        Source that leaves `trace`, `weights` or, of a long trace, `row` and `allowed`, and maybe `found`.

    Raises
    ------
    NothingYetError, SettingError
        If there is no word in the text or the setting is too large.
    """
    body = _trained(scenario) if scenario.input == "trained" else _made(scenario)
    if has_measure:
        body += [f"found = measured(trace, {_spec('METRICS', scenario.measure)})  # .values (head, query), .uniform"]
    text = "\n".join(body)
    names = [name for name in REGISTRIES if f"{name}[" in text]
    names += [name for name in ("AttentionConfig", "attend", "measured") if f"{name}(" in text]
    imports = [f"from attnviz import {', '.join(names)}"] if names else []
    if scenario.input == "trained":
        used = ", ".join(name for name in ("heads_off", "load_minilm", "run_encoder") if f"{name}(" in text)
        imports.append(f"from attnviz.models import {used}")
        if "heads_in(" in text:
            imports.append("from attnviz.picks import heads_in")
    return "\n".join([*imports, "", text]) + "\n"


def _made(scenario: Scenario) -> list[str]:
    config = scenario.config()
    plain = AttentionConfig(config.tokens)
    chosen = [
        f"    {item.name}={_written(item.name, getattr(config, item.name))},"
        for item in fields(config)
        if item.name == "tokens" or getattr(config, item.name) != getattr(plain, item.name)
    ]
    lines = ["config = AttentionConfig(", *chosen, ")", "trace = attend(config)"]
    if config.n_weights <= MOST_KEPT:
        return [*lines, "weights = trace.weights  # (head, query, key)"]
    head, query = min(scenario.head, config.n_heads - 1), min(scenario.query, config.n_q - 1)
    return [*lines, f"row, allowed = trace.row(head={head}, query={query})  # the map is too long to be kept"]


def _trained(scenario: Scenario) -> list[str]:
    from attnviz.models import MINILM

    masks = ", ".join(_spec("MASKS", spec) for spec in scenario.masks)
    removed = heads_within(heads_in(scenario.removed), MINILM.n_layers, MINILM.n_heads)
    chosen = [f"    masks=({masks}),"]
    if scenario.sharpness != 1:
        chosen.append(f"    sharpness={scenario.sharpness!r},")
    if removed:
        chosen.append(f"    gates=heads_off(heads_in({heads_as_text(removed)!r}), {scenario.stand_in!r}),")
    return [
        f"text = {scenario.text!r}",
        "traces = run_encoder(",
        "    load_minilm(),",
        "    text,",
        *chosen,
        ")",
        f"trace = traces[{min(scenario.layer, MINILM.n_layers - 1)}]  # one a layer",
        "weights = trace.weights  # (head, query, key)",
    ]


def _written(name: str, value: object) -> str:
    if isinstance(value, Numbered):
        return f'tuple(f"{value.letter}{{place}}" for place in range({len(value)}))'
    if name == "position":
        assert isinstance(value, Spec)
        return _spec("POSITIONS", value)
    if name == "masks":
        assert isinstance(value, tuple)
        return f"({', '.join(_spec('MASKS', spec) for spec in value)},)"
    return repr(value)


def _spec(registry: str, spec: Spec) -> str:
    """A choice as the call that makes it, its usual parameters left out.

    >>> _spec("MASKS", MASKS["causal"].spec()), _spec("POSITIONS", POSITIONS["alibi"].spec(slope=2.0))
    ('MASKS["causal"].spec()', 'POSITIONS["alibi"].spec(slope=2.0)')
    """
    usual = dict(REGISTRIES[registry][spec.name].spec().params)
    chosen = ", ".join(f"{name}={value!r}" for name, value in spec.params if value != usual[name])
    return f'{registry}["{spec.name}"].spec({chosen})'
