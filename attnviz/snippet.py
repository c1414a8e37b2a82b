"""What is on screen as a short Python program that computes it again."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from attnviz.core.config import AttentionConfig
from attnviz.core.layer import MOST_KEPT
from attnviz.core.text import Numbered
from attnviz.masks.lists import numbers_in
from attnviz.metrics.links import drawn_share
from attnviz.metrics.pooling import MOST_HEADS
from attnviz.named import names_in
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
    "attnviz.chosen_rows": ("Rows", "chosen_rows", "in_order", "table_of"),
    "attnviz.metrics": ("roles_of", "survey"),
    "attnviz.metrics.adaptive": ("adaptive",),
    "attnviz.metrics.contribution": ("leave_one_out", "written"),
    "attnviz.metrics.flow": ("flow",),
    "attnviz.metrics.links": ("strongest_links",),
    "attnviz.metrics.paths": ("strongest_routes",),
    "attnviz.metrics.rollout": ("mean_maps", "rollout"),
    "attnviz.metrics.spectra": ("layer_spectra",),
    "attnviz.metrics.sweep": ("sweep",),
    "attnviz.metrics.viewing": ("View",),
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
    if view == "layers" and shown.layers_view == "rollout" and shown.input == "trained":
        body.append(f"routes = strongest_routes({_maps(shown)}, {shown.query})  # .paths, .share")
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
    maps = _maps(scenario)
    measure = _spec("METRICS", scenario.measure)
    gate = f"{scenario.kept_share!r}, {scenario.gate_by!r}"
    lines = {
        "alike": f'SIMILARITIES["{scenario.similarity.name}"].function({layers})  # .pairs (head, head), .uniform',
        "measure": f"measured(trace, {measure})  # .values (head, query), .uniform"
        if layers == "[trace]"
        else f"[measured(one, {measure}) for one in traces]  # one a layer",
        "roles": "roles_of(trace, survey(trace))  # one a head"
        if layers == "[trace]"
        else "[roles_of(one, survey(one)) for one in traces]  # one a layer",
        "rank": "layer_spectra(trace)  # .scores, .weights, .uniform"
        if layers == "[trace]"
        else "[layer_spectra(one, len(traces) * one.n_heads) for one in traces]  # one a layer",
        "removal": f"leave_one_out(written(trace, {scenario.stand_in!r}))  # .relative, .cosine of each head",
        "adaptive": f"adaptive(written(trace), {gate})  # .keeps (head, query)"
        if layers == "[trace]"
        else f"[adaptive(written(one), {gate}) for one in traces]  # one a layer",
        "number": "sweep(config)  # .points",
        "lines": _links(scenario),
        "rollout": f"rollout({maps})[-1]  # (query, input token)",
        "flow": f"flow({maps}, {scenario.query})  # of each input token",
        "table": _table(scenario),
    }
    return lines[scenario.layers_view if view == "layers" else view]


def _table(scenario: Scenario) -> str:
    """The rows of the table of all measures that are asked for, in the order that is asked for."""
    is_all = scenario.input == "trained" and scenario.scope == "all"
    picked = {
        "layers": _numbers(scenario.table_layers) if is_all else (),
        "heads": _numbers(scenario.table_heads),
        "measures": names_in(scenario.table_measures),
        "roles": names_in(scenario.table_roles),
    }
    rows = ", ".join(f"{name}={values!r}" for name, values in picked.items() if values)
    layers = (
        "dict(enumerate(traces))" if is_all else f"{{{scenario.layer if scenario.input == 'trained' else 0}: trace}}"
    )
    table = f"chosen_rows(table_of({layers}), Rows({rows}))" if rows else f"table_of({layers})"
    order = f"{scenario.sort_by!r}{', is_descending=True' if scenario.is_descending else ''}"
    return f"in_order({table}, {order})  # a row a head and measure"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(set(numbers_in(text)))) if text.strip() else ()


def _maps(scenario: Scenario) -> str:
    layers = f"traces[: {scenario.layer + 1}]" if scenario.input == "trained" else "[trace]"
    return f"[mean_maps(one).weights for one in {layers}]"


def _links(scenario: Scenario) -> str:
    from attnviz.models import MINILM

    drawn = every = range(MINILM.n_heads if scenario.input == "trained" else scenario.n_heads)
    if scenario.drawn == "head":
        drawn = range(scenario.head, scenario.head + 1)
    elif len(every) > MOST_HEADS:
        first = scenario.head // MOST_HEADS * MOST_HEADS
        drawn = range(first, min(first + MOST_HEADS, len(every)))
    heads = "range(trace.n_heads)" if drawn is every else f"range({drawn.start}, {drawn.stop})"
    keys = tuple(sorted(set(numbers_in(scenario.hidden)))) if scenario.hidden else ()
    view = f", view=View({keys!r})" if keys else ""
    return f"strongest_links(trace, {heads}{view}).holding({drawn_share(drawn)})  # .head, .query, .key, .weight"


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
