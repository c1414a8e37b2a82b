"""Which token looks at which: the strongest links of one layer, those of the chosen query first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from attnviz.core.trace import AttentionTrace
from attnviz.figures import attention_lines, line_words, viewing_words
from attnviz.figures.grid import heads_shown
from attnviz.figures.labels import short, visible
from attnviz.metrics.links import DRAWN_SHARE_OF_QUERY, Links, drawn_share, strongest_links
from attnviz.metrics.viewing import PLAIN, View
from attnviz.scenario import Scenario
from attnviz.ui import progress, session, show, viewing
from attnviz.ui.layer import Shown
from attnviz.ui.live import Words

MOST_OF_QUERY = 200
MOST_ROWS = 12


def lines(scenario: Scenario, shown: Shown, head: int, query: int) -> None:
    """The strongest links of the chosen head or of all heads, between two columns of tokens."""
    layer = shown.layer
    trace = layer.trace
    heads = range(head, head + 1) if scenario.drawn == "head" else heads_shown(head, trace.n_heads)
    view = (viewing.view_of(scenario, trace.n_k) or PLAIN).of_weights
    links = progress.links(layer, heads, view).holding(drawn_share(heads))
    rows = range(query, query + 1)
    of_query = layer.kept.once(
        ("links", heads, view, query),
        lambda: strongest_links(trace, heads, MOST_OF_QUERY, rows=rows, view=view).holding(DRAWN_SHARE_OF_QUERY),
    )
    answer = line_words.lines_answer(links, of_query, query, trace.query_tokens, trace.key_tokens, view)
    answer += viewing_words.past_the_last(viewing.asked_for(scenario), trace.n_k)
    badge = viewing_words.badge(view, trace.key_tokens)
    left, right = st.columns([4, 3])
    with left:
        show.figure(
            attention_lines(
                links,
                of_query,
                trace.query_tokens,
                trace.key_tokens,
                heads=heads,
                head=head,
                query=query,
                view=view,
            ),
            key="attention_lines",
            words=Words(
                line_words.lines_question(heads, query, trace.query_tokens),
                answer,
                line_words.lines_caption(heads, trace.n_heads, head, view),
                line_words.lines_alt(links, of_query, heads, trace.query_tokens, trace.key_tokens, badge),
            ),
            on_click=session.click_setter("attention_lines"),
        )
    with right:
        _table(links, of_query, trace, query, view, has_heads=len(heads) > 1)


def _table(links: Links, of_query: Links, trace: AttentionTrace, query: int, view: View, *, has_heads: bool) -> None:
    few = min(of_query.count, MOST_ROWS)
    keys = of_query.key[:few].tolist()
    frame = pd.DataFrame(
        {
            **({"head": of_query.head[:few]} if has_heads else {}),
            "key": [f"{key} {short(trace.key_tokens[key])}" for key in keys],
            "weight": of_query.weight[:few],
            "uniform": of_query.uniform[:few],
        }
    )
    others = links.without(query)
    show.table(
        frame,
        slice(0, few),
        title=line_words.table_title(query, trace.query_tokens),
        caption=line_words.table_caption(few, of_query, of_query.count + others.count, view),
        labels={"head": "Head", "key": "Key", "weight": "Weight", "uniform": "uniform"},
        file_name="attnviz-links.csv",
        strong=-1,
        file=drawn_links(of_query, others, trace, view),
    )


def drawn_links(of_query: Links, others: Links, trace: AttentionTrace, view: View) -> pd.DataFrame:
    """All links that are drawn, those of the chosen query first."""
    parts = (of_query, others)
    queries, keys = (np.concatenate([getattr(part, side) for part in parts]) for side in ("query", "key"))
    return pd.DataFrame(
        {
            "head": np.concatenate([part.head for part in parts]),
            "query": queries,
            "query_token": [visible(trace.query_tokens[place]) for place in queries.tolist()],
            "key": keys,
            "key_token": [visible(trace.key_tokens[place]) for place in keys.tolist()],
            "renormalised_weight" if view.hidden else "weight": np.concatenate([part.weight for part in parts]),
            "uniform": np.concatenate([part.uniform for part in parts]),
        }
    )
