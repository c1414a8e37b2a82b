"""What the heads of all layers do, in words computed from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from attnviz.figures.head_names import head_name
from attnviz.figures.role_words import of_queries
from attnviz.metrics.roles import ENOUGH, LEAST_TOKENS, MIXED, TOO_SHORT, Role
from attnviz.numbers import counted, grouped, percent
from attnviz.picks import HeadAt

RolesByLayer = Sequence[Sequence[Role]]
FEW = 3
DOES: Mapping[str, tuple[str, str]] = {
    "previous token": ("looks at the token before", "look at the token before"),
    "own place": ("looks at the token itself", "look at the token itself"),
    "next token": ("looks at the token after", "look at the token after"),
    "same word": ("looks at the query’s own word", "look at the query’s own word"),
    "induction": ("looks at what followed its word", "look at what followed their word"),
    "sink": ("parks its attention", "park their attention"),
    "one word": ("looks at one word", "look at one word"),
    "local": ("looks at places nearby", "look at places nearby"),
    "broad": ("spreads its attention over all keys", "spread their attention over all keys"),
    "mixed": ("does nothing that has a name", "do nothing that has a name"),
}


def overview_answer(roles: RolesByLayer) -> str:
    """How many heads of all layers do what, the most frequent first, and where the most frequent stand."""
    names = [role.name for heads in roles for role in heads]
    if set(names) == {TOO_SHORT}:
        return f"Too short to tell: heads can be told apart from {LEAST_TOKENS} tokens on."
    counts = Counter(names).most_common()
    words = [
        f"{grouped(count)} {DOES[name][count > 1]} ({name}{_few(roles, name) if count <= FEW else ''})"
        for name, count in counts
    ]
    *first, last = words
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"Of {counted(len(names), 'head')} {listed}.{_most(roles, counts)} A uniform head is called broad."


def _few(roles: RolesByLayer, name: str) -> str:
    """The names of the few heads with a role."""
    found = [
        head_name(HeadAt(layer, head), len(roles))
        for layer, heads in enumerate(roles)
        for head, role in enumerate(heads)
        if role.name == name
    ]
    return f": {', '.join(found)}"


def _most(roles: RolesByLayer, counts: Sequence[tuple[str, int]]) -> str:
    """The layer with most heads of the most frequent role that says something, where it is one layer."""
    name = next((name for name, count in counts if name != MIXED and count > FEW), None)
    if name is None or len(roles) == 1:
        return ""
    of_layer = [sum(role.name == name for role in heads) for heads in roles]
    layer = of_layer.index(max(of_layer))
    if of_layer.count(of_layer[layer]) > 1:
        return ""
    return f" Layer {layer} has most of the {name} heads: {of_layer[layer]} of {len(roles[layer])}."


def overview_alt(roles: RolesByLayer) -> str:
    """Alt text of the picture of the roles of all layers."""
    counts = [Counter(role.name for role in heads).most_common() for heads in roles]
    lines = [
        f"layer {layer}: {', '.join(f'{count} {name}' for name, count in found)}" for layer, found in enumerate(counts)
    ]
    return f"Role of each head, layers as rows and heads as columns. {'; '.join(lines)}."


def induction_answer(roles: RolesByLayer) -> str:
    """Which head goes on as before most, in a text of random words said twice, beside the uniform head."""
    found = [
        (one, HeadAt(layer, head))
        for layer, heads in enumerate(roles)
        for head, role in enumerate(heads)
        for one in role.evidence
        if one.role == "induction"
    ]
    if not found:
        return "The mask lets no query look at what followed its word before: induction cannot be told."
    most, at = max(found, key=lambda pair: pair[0].way)
    verdict = "so one does" if most.way >= ENOUGH else "so none does"
    return (
        "Random words said twice: only a head that matches what came before can know what comes next. Head "
        f"{head_name(at, len(roles))} gives most to what followed the query’s word before: {percent(most.value)}"
        f"{of_queries(most)}; a uniform head gives {percent(most.uniform)}, {verdict} (Olsson et al. 2022, section 2)."
    )
