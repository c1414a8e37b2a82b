"""What is said of a view of the weights: a line on the picture, how to read it, and what hiding keys takes away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool

from attnviz.core.trace import AttentionTrace
from attnviz.figures.answers import quoted
from attnviz.figures.colours import power_of_ten
from attnviz.figures.labels import short
from attnviz.figures.pattern import NOTHING_LEFT
from attnviz.figures.viewed import Seen
from attnviz.metrics import Survey
from attnviz.metrics.viewing import DECADES, View, Viewed
from attnviz.numbers import counted, percent
from attnviz.shapes import Tokens

MOST_NAMED = 3
THEMSELVES = "Numbers in sentences are of the weights themselves unless they say “of the rest”."


def badge(view: View, tokens: Tokens) -> str:
    """The line on a picture that says in what view it is; empty where weights are shown as they are.

    >>> badge(View((0,), log_scale=True), ("[CLS]", "cat"))
    'key 0 [CLS] hidden, rows renormalised · log colours'
    """
    parts = []
    if view.hidden:
        parts.append(f"{_named(view.hidden, (short(tokens[key]) for key in view.hidden))} hidden, rows renormalised")
    if view.row_scale:
        parts.append("each row its own scale")
    if view.log_scale:
        parts.append("log colours")
    return " · ".join(parts)


def _named(keys: Sequence[int], tokens: Iterable[str]) -> str:
    if len(keys) > MOST_NAMED:
        return counted(len(keys), "key")
    names = ", ".join(f"{key} {token}" for key, token in zip(keys, tokens, strict=True))
    return f"key{'s' if len(keys) > 1 else ''} {names}"


def caption(view: View, *, has_empty: bool = False) -> str:
    """How to read a picture in this view."""
    parts = []
    if view.hidden:
        parts.append("shown = weight / Σ of the row’s weights on keys that are not hidden, so that a row sums to 1.")
    if has_empty:
        parts.append(f"{NOTHING_LEFT.strip()} marks a query without any weight on them.")
    if view.row_scale:
        again = "that" if view.hidden else "weight"
        parts.append(f"Colour = {again} / largest of its row, from 0 to 1.")
    if view.log_scale:
        least = power_of_ten(-DECADES)
        parts.append(f"Colours follow log₁₀ of it, over {DECADES} decades or more (1 to {least}); less looks like 0.")
    if parts:
        parts.append(THEMSELVES)
    return "".join(f" {part}" for part in parts)


def hidden_answer(
    trace: AttentionTrace, found: Survey, seen: Viewed, view: View, heads: range, *, after: str = ""
) -> str:
    """How much of the attention the hidden keys get, beside a uniform head, and how many rows are left empty.

    `after` is the sentence before, which may have said so already.
    """
    chosen = slice(heads.start, heads.stop)
    keys = list(view.hidden)
    has_keys = np.broadcast_to(found.small.has_keys, (trace.n_heads, trace.n_q))[chosen]
    n_rows = np.maximum(has_keys.sum(axis=1), 1)
    shares = found.received[chosen][:, keys].sum(axis=1) / n_rows
    uniform = np.broadcast_to(found.uniform_received, (trace.n_heads, trace.n_k))[chosen][:, keys].sum(axis=1) / n_rows
    name = _named(keys, (quoted(trace.key_tokens[key]) for key in keys))
    emptied = _emptied(seen.is_empty[chosen])
    if f" to {name};" in after:
        return f" That key is hidden.{emptied}"
    verb = "get" if len(keys) > 1 else "gets"
    most = int(shares.argmax())
    whose = f"its attention; a uniform head gives {percent(float(uniform[0]))}."
    if len(heads) > 1:
        whose = (
            f"the attention, a mean over {counted(len(heads), 'head')} (most in head {heads[most]}: "
            f"{percent(float(shares[most]))}); a uniform head gives {percent(float(uniform.mean()))}."
        )
    return f" Hidden {name} {verb} {percent(float(shares.mean()))} of {whose}{emptied}"


def _emptied(is_empty: Bool[np.ndarray, "head q"]) -> str:
    count = int(is_empty.sum())
    over = f", counted over {len(is_empty)} heads," if len(is_empty) > 1 else ""
    verb = "has" if count == 1 else "have"
    return f" {counted(count, 'row')}{over} {verb} no weight left." if count else ""


def rest_answer(trace: AttentionTrace, seen: Viewed, has_keys: Bool[np.ndarray, "#head q"], head: int) -> str:
    """Where most of what is left of a head's attention goes, beside a uniform head."""
    n_rows = int((has_keys[head if len(has_keys) > 1 else 0] & ~seen.is_empty[head]).sum())
    if not n_rows:
        return " Nothing is left."
    key = int(seen.received[head].argmax())
    uniform = seen.uniform_received[head, key]
    return (
        f" Of the rest most goes to key {key} {quoted(trace.key_tokens[key])}: "
        f"{percent(float(seen.received[head, key]) / n_rows)}; a uniform head gives {percent(float(uniform) / n_rows)}."
    )


def seen_as(alt: str, seen: Seen | None) -> str:
    """An alt text with the view that the picture is in."""
    return f"{alt} Shown with {seen.badge}." if seen and seen.badge else alt


def without_effect(settings: Sequence[str]) -> str:
    """Sentence for settings of the view that change nothing in a view of the heads; empty where there are none.

    >>> without_effect(["log colours"])
    'Log colours: no effect here, where all is of the weights themselves; see the Playground.'
    """
    if not settings:
        return ""
    *first, last = settings
    names = f"{', '.join(first)} and {last}" if first else last
    lines = " and, for hidden keys, the lines across layers" if "hidden keys" in settings else ""
    begins = f"{names[:1].upper()}{names[1:]}"
    return f"{begins}: no effect here, where all is of the weights themselves; see the Playground{lines}."


def past_the_last(asked: Sequence[int], n_k: int) -> str:
    """Sentence for hidden keys that there are not; empty where there are all."""
    beyond = [key for key in asked if key >= n_k]
    if not beyond:
        return ""
    name, verb = (
        (f"Key {beyond[0]} is", "it is") if len(beyond) == 1 else (f"{len(beyond)} hidden keys are", "they are")
    )
    return f" {name} past the last, {n_k - 1}: {verb} ignored."
