"""What each head does, with the evidence."""

from __future__ import annotations

import pandas as pd

from attnviz.figures import role_map, role_words
from attnviz.figures.grid import heads_shown
from attnviz.scenario import Scenario
from attnviz.ui import panels, session, show
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words


def roles(scenario: Scenario, shown: Shown, head: int) -> None:
    """What each head turns out to do, the evidence, and why it is not called what it is second most like."""
    trace, found = shown.layer.trace, shown.layer.found_roles()
    heads = heads_shown(head, len(found))
    show.figure(
        role_map(found, heads, selected=head, scale=scenario.scale),
        key="role_map",
        words=Words(
            "What does each head do?",
            role_words.roles_answer(found),
            "0: no more than a head uniform over the allowed keys; 1: nothing else (broad: share of the largest "
            "entropy). Blank: the text has no such places. Click a head to choose it.",
            role_words.roles_alt(found, heads),
        ),
        on_click=session.click_setter("role_map"),
    )
    frame = pd.DataFrame(
        {
            "head": range(len(found)),
            "role": [role.name for role in found],
            "evidence": [role_words.evidence_words(role, trace.key_tokens) for role in found],
            "why_not": [role_words.why_not(role, trace.key_tokens) for role in found],
        }
    )
    rows, caption = panels.heads_in_table(head, len(found))
    show.table(
        frame,
        rows,
        title="Why is it called that?",
        caption="A head is named after what it is at least half of the way to doing alone, from what a head uniform "
        "over the allowed keys does: one place beside the query, the query's word, what followed it earlier "
        "(induction; Olsson et al. 2022), or one key: a sink (Xiao et al. 2024) where that is the first place, a "
        "special token or punctuation, else one word. Else it is local (mean distance at most "
        f"half of the uniform head's), broad (entropy at least 90 % of the largest), or mixed.{caption}",
        labels={"head": "Head", "role": "Role", "evidence": "Evidence", "why_not": "Why not another"},
        file_name="attnviz-roles.csv",
        strong=head,
    )
