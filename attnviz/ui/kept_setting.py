"""In which settings a kept scenario differs from the one on screen, in words."""

from __future__ import annotations

from attnviz.menu import Menu
from attnviz.numbers import MINUS
from attnviz.registry import Spec, format_value
from attnviz.scenario import DOMAINS, Scenario
from attnviz.ui.sentences import inside_a_sentence

MOST_NAMED, MOST_LETTERS = 6, 48
WORDS = {
    "input": "input",
    "text": "sentence",
    "n_tokens": "length",
    "cross": "cross-attention",
    "key_text": "sentence of the keys",
    "n_keys": "number of keys",
    "d_model": "d_model",
    "n_heads": "heads",
    "n_kv_heads": "key/value heads",
    "d_value": "columns of a value",
    "mask": "mask",
    "sparsity": "sparsity",
    "padding": "padding",
    "position": "positions",
    "weights": "weights",
    "sharpness": "sharpness",
    "is_scaled": "scaled by √d_head",
    "softcap": "soft cap",
    "sinks": "sinks",
    "seed": "seed",
    "removed": "heads off",
    "stand_in": "instead of heads that are off",
}
"""Settings that weights depend on, in the order of their controls."""
TRAINED = ("input", "text", "mask", "sparsity", "padding", "sharpness", "removed", "stand_in")
NO_TEXT = ("text", "key_text")
NO_VECTORS = ("n_tokens", "n_keys")


def apart(kept: Scenario, now: Scenario) -> str:
    """What is different in a kept setting, each with the value there and the one on screen.

    Parameters
    ----------
    kept, now
        The setting that was kept, and the one on screen.

    Returns
    -------
    str
        A sentence; empty where nothing is different that weights depend on.

    Examples
    --------
    >>> apart(Scenario(), Scenario(n_heads=4, sharpness=2.0))
    'The kept setting has heads 8 (now 4) and sharpness 1 (now 2).'
    """
    changed = [name for name in _settings(kept, now) if getattr(kept, name) != getattr(now, name)]
    if not changed:
        return ""
    parts = [
        f"{WORDS[name]} {_value(name, getattr(kept, name))} (now {_value(name, getattr(now, name))})"
        for name in changed[:MOST_NAMED]
    ]
    if len(changed) > MOST_NAMED:
        parts.append(f"{len(changed) - MOST_NAMED} more")
    *first, last = parts
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"The kept setting has {listed}."


def _settings(kept: Scenario, now: Scenario) -> list[str]:
    """Settings that the weights of one of the two depend on."""
    return [name for name in WORDS if any(_counts(name, scenario) for scenario in (kept, now))]


def _counts(name: str, scenario: Scenario) -> bool:
    if scenario.input == "trained":
        return name in TRAINED
    unused = {
        *(NO_TEXT if scenario.input == "vectors" else NO_VECTORS),
        *(() if scenario.cross else ("key_text", "n_keys")),
        *(() if scenario.removed else ("stand_in",)),
    }
    return name not in unused


def _value(name: str, value: object) -> str:
    domain = DOMAINS[name]
    if isinstance(value, Spec) and isinstance(domain, Menu):
        entry = domain.registry[value.name]
        usual = dict(entry.spec().params)
        chosen = [f"{key.replace('_', ' ')} {format_value(to)}" for key, to in value.params if to != usual[key]]
        return ", ".join((f"“{inside_a_sentence(entry.label)}”", *chosen))
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        shown = value if len(value) <= MOST_LETTERS else f"{value[: MOST_LETTERS - 1].rstrip()}…"
        return (f"“{shown}”" if name in NO_TEXT else value) or "none"
    if isinstance(value, float):
        return f"{value:g}".replace("-", MINUS)
    return str(value) if value or name == "seed" else "as usual"
