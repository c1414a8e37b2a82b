"""Whether heads that look alike write the same, over all pairs of the heads that are compared."""

from __future__ import annotations

from math import isqrt

import streamlit as st

from attnviz.figures import pair_map, pair_words
from attnviz.numbers import counted, grouped
from attnviz.scenario import Scenario
from attnviz.ui import session, show
from attnviz.ui.head_scope import Scope
from attnviz.ui.live import Words
from attnviz.ui.show import marked

QUESTION = "Do heads that look alike write the same?"


def pairs(scenario: Scenario, scope: Scope) -> None:
    """Every pair of heads by how alike they look and how alike they write, or why there is none."""
    trace = scope.layers[0].trace
    if len(scope.at) < 2 or min(trace.n_q, trace.n_k) < 2:
        return
    if not scope.is_cheap:
        st.info(_too_many(scope))
        return
    found, choices = scope.pairs()
    if not len(found):
        st.info(marked(f"“{QUESTION}” needs two heads with a CKA. {pair_words.left_out_answer(found, scope.names)}"))
        return
    click = "head" if scenario.beside else "head, and the other one beside it"
    show.figure(
        pair_map(found, scope.at, selected=scope.selected, has_layers=len(scope.run.layers) > 1),
        key="pair_map",
        words=Words(
            QUESTION,
            pair_words.pair_answer(found, scope.names),
            "A dot for each pair: to the right they look at the same keys (cosine of maps; Bian et al. 2021), at the "
            "top what they take from the values tells the same queries apart (linear CKA; Kornblith et al. 2019). "
            "Dotted: the baselines, as means over the heads: the cosine with a head that is uniform over the allowed "
            "keys, and the CKA of a head's output with the same in random order. A and B: the pairs whose two ranks "
            "differ most; rank correlation: Spearman 1904. "
            f"Click a dot to choose its first {click}.",
            pair_words.pair_alt(found),
        ),
        on_click=session.row_setter("pair_map", choices),
    )


def _too_many(scope: Scope) -> str:
    """Why pairs are not drawn: the rule, what is here, and the way out."""
    trace, most = scope.layers[0].trace, scope.most_weights
    ways = "fewer tokens, fewer heads or one layer" if len(scope.layers) > 1 else "fewer tokens or fewer heads"
    return (
        f"“{QUESTION}” is drawn for {counted(len(scope.at), 'head')} of at most {grouped(most)} weights each (as with "
        f"{counted(isqrt(most), 'token')}); here they have {grouped(trace.n_q * trace.n_k)}. Choose {ways}."
    )
