"""What each head does, with the evidence, of one layer or of all."""

from __future__ import annotations

import pandas as pd

from attnviz.figures import role_layer_words, role_map, role_overview, role_words
from attnviz.figures.grid import heads_shown
from attnviz.metrics.roles import TOO_SHORT, Role
from attnviz.picks import HeadAt
from attnviz.scenario import Scenario
from attnviz.shapes import Tokens
from attnviz.ui import head_parts, head_repeated, panels, progress, session, show
from attnviz.ui.layer import Layer, Shown
from attnviz.ui.live import Words

FILE = "attnviz-roles.csv"
TITLE = "Why is it called that?"
CAPTION = (
    "How far on the way to each role: 0 no more than a head uniform over the allowed keys, 1 nothing else (broad: "
    "share of the largest entropy). “Does not apply”: fewer than three queries may look at such a place; or own place "
    "of a head that looks at its word elsewhere too, and same word of one that does not; or one word where the "
    "favourite key is a parking place, and sink where it is a word and only the first place is one. Click a head to "
    "choose it."
)
TOO_FEW = "Fewer than three queries have an earlier place of their own word to look at, so induction cannot be told."
LABELS = {"head": "Head", "role": "Role", "evidence": "Evidence", "why_not": "Why not another"}


def roles(scenario: Scenario, shown: Shown, head: int) -> None:
    """What each head turns out to do, the evidence, and why it is not called what it is second most like."""
    has_layers = head_parts.scope_picker(shown)
    if has_layers and scenario.scope == "all":
        _all_layers(scenario, shown, head)
    else:
        _one_layer(scenario, shown.layer, head)


def _one_layer(scenario: Scenario, layer: Layer, head: int) -> None:
    found, tokens = layer.found_roles(), layer.trace.key_tokens
    if _is_too_short(found):
        show.sentence(role_words.roles_answer(found))
        return
    heads = heads_shown(head, len(found))
    show.figure(
        role_map(found, heads, selected=head, scale=scenario.scale),
        key="role_map",
        words=Words(
            "What does each head do?",
            role_words.roles_answer(found),
            CAPTION,
            role_words.roles_alt(found, heads),
        ),
        on_click=session.click_setter("role_map"),
    )
    _repeated(scenario, [found])
    rows, caption = panels.heads_in_table(head, len(found))
    show.table(
        pd.DataFrame({"head": range(len(found)), **_reasons(found, tokens)}),
        rows,
        title=TITLE,
        caption=f"{role_words.how_named()}{caption}",
        labels=LABELS,
        file_name=FILE,
        strong=head,
    )


def _all_layers(scenario: Scenario, shown: Shown, head: int) -> None:
    for layer in shown.run.layers:
        progress.survey(layer)
    found = [layer.found_roles() for layer in shown.run.layers]
    if all(map(_is_too_short, found)):
        show.sentence(role_layer_words.overview_answer(found))
        return
    show.figure(
        role_overview(found, selected=HeadAt(shown.index, head)),
        key="role_overview",
        words=Words(
            "What do the heads of all layers do?",
            role_layer_words.overview_answer(found),
            "Each cell is a head, named for what it does and coloured by what it looks at; the table below has the "
            "evidence beside a head uniform over the allowed keys, and the rule. Click a head to choose it.",
            role_layer_words.overview_alt(found),
        ),
        on_click=session.head_setter("role_overview", max(map(len, found))),
    )
    _repeated(scenario, found)
    frame = pd.concat(
        [
            pd.DataFrame({"layer": index, "head": range(len(one)), **_reasons(one, layer.trace.key_tokens)})
            for index, (layer, one) in enumerate(zip(shown.run.layers, found, strict=True))
        ],
        ignore_index=True,
    )
    show.table(
        head_parts.with_head_names(frame, shown.count).drop(columns="layer"),
        slice(0, len(frame)),
        title=TITLE,
        caption=role_words.how_named(),
        labels=LABELS,
        file_name=FILE,
        file=frame,
        strong=sum(map(len, found[: shown.index])) + head,
    )


def _reasons(found: tuple[Role, ...], tokens: Tokens) -> dict[str, list[str]]:
    return {
        "role": [role.name for role in found],
        "evidence": [role_words.evidence_words(role, tokens) for role in found],
        "why_not": [role_words.why_not(role, tokens) for role in found],
    }


def _is_too_short(found: tuple[Role, ...]) -> bool:
    return all(role.name == TOO_SHORT for role in found)


def _repeated(scenario: Scenario, found: list[tuple[Role, ...]]) -> None:
    """Whether a head goes on as before, and the way to a text in which that can be told."""
    if scenario.input == "vectors":
        return
    has_words = any(one.role == "induction" for heads in found for role in heads for one in role.evidence)
    if scenario.text and scenario.text == head_repeated.random_words(scenario):
        show.sentence(role_layer_words.induction_answer(found))
    else:
        head_repeated.ways(scenario, comes_again=has_words, missing=TOO_FEW)
