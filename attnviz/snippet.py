"""What is on screen as a short Python program that computes it again."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from attnviz.core.config import AttentionConfig
from attnviz.core.layer import MOST_KEPT
from attnviz.core.text import Numbered
from attnviz.picks import heads_as_text, heads_in, heads_within
from attnviz.registries import MASKS, METRICS, POSITIONS, SIMILARITIES
from attnviz.registry import Registry, Spec
from attnviz.scenario import Scenario

REGISTRIES: dict[str, Registry[..., Any]] = {
    "MASKS": MASKS,
    "METRICS": METRICS,
    "POSITIONS": POSITIONS,
    "SIMILARITIES": SIMILARITIES,
}
OF_ALL_HEADS = ("removal", "adaptive")
"""Views that show what the layer is with all heads on."""
FUNCTIONS = {
    "attnviz.metrics": ("roles_of", "survey"),
    "attnviz.metrics.adaptive": ("adaptive",),
    "attnviz.metrics.contribution": ("leave_one_out", "written"),
    "attnviz.metrics.flow": ("flow",),
    "attnviz.metrics.links": ("strongest_links",),
    "attnviz.metrics.rollout": ("mean_maps", "rollout"),
    "attnviz.metrics.spectra": ("layer_spectra",),
    "attnviz.metrics.sweep": ("sweep",),
    "attnviz.models": ("heads_off", "load_minilm", "run_encoder"),
    "attnviz.picks": ("heads_in",),
}


def snippet(scenario: Scenario, view: str = "") -> str:
    """A program that computes what is on screen, with the public functions of attnviz.

    Parameters
    ----------
    scenario
        What is on screen.
    view
        View of the Heads page whose numbers are computed too; the weights alone where it is left out.

    Returns
    -------
    str
        Source that leaves `trace`, `weights` or, of a long trace, `row` and `allowed`, and for a view `found`.

    Raises
    ------
    NothingYetError, SettingError
        If there is no word in the text or the setting is too large.
    """
    shown = replace(scenario, removed="") if view in OF_ALL_HEADS else scenario
    body = _trained(shown) if shown.input == "trained" else _made(shown)
    if view:
        body.append(f"found = {_found(shown, view)}")
    text = "\n".join(body)
    names = [name for name in REGISTRIES if re.search(rf"\b{name}\b", text)]
    names += [name for name in ("AttentionConfig", "attend", "measured") if f"{name}(" in text]
    imports = [f"from attnviz import {', '.join(names)}"] if names else []
    for module, functions in FUNCTIONS.items():
        used = [name for name in functions if f"{name}(" in text]
        if used:
            imports.append(f"from {module} import {', '.join(used)}")
    return "\n".join([*imports, "", text]) + "\n"


def _found(scenario: Scenario, view: str) -> str:
    is_trained = scenario.input == "trained"
    layers = "traces" if is_trained and scenario.scope == "all" else "[trace]"
    maps = f"[mean_maps(one).weights for one in {f'traces[: {scenario.layer + 1}]' if is_trained else '[trace]'}]"
    measure = _spec("METRICS", scenario.measure)
    lines = {
        "alike": f'SIMILARITIES["{scenario.similarity.name}"].function({layers})  # .pairs (head, head), .uniform',
        "measure": f"measured(trace, {measure})  # .values (head, query), .uniform"
        if layers == "[trace]"
        else f"[measured(one, {measure}) for one in traces]  # one a layer",
        "roles": "roles_of(trace, survey(trace))  # one a head",
        "rank": "layer_spectra(trace)  # .scores, .weights, .uniform",
        "removal": f"leave_one_out(written(trace, {scenario.stand_in!r}))  # .relative, .cosine of each head",
        "adaptive": f"adaptive(written(trace), {scenario.kept_share!r}, {scenario.gate_by!r})  # .keeps (head, query)",
        "number": "sweep(config)  # .points",
        "lines": "strongest_links(trace, range(trace.n_heads), 2000)  # .head, .query, .key, .weight",
        "rollout": f"rollout({maps})[-1]  # (query, input token)",
        "flow": f"flow({maps}, {scenario.query})  # of each input token",
        "table": "[measured(trace, entry.spec()) for entry in METRICS]",
    }
    return lines[scenario.layers_view if view == "layers" else view]


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
