"""The two classic mistakes with a mask: True read the wrong way round, and a mask after the softmax."""

from __future__ import annotations

from html import escape

import numpy as np
import streamlit as st

from attnviz.figures import mistake_words
from attnviz.figures.answers import quoted
from attnviz.figures.mask import reading_heatmap
from attnviz.figures.mask_rows import row_sums, two_rows
from attnviz.figures.pattern import fitting_window, is_exact
from attnviz.figures.row import MOST_KEYS, keys_to_show
from attnviz.metrics.mistakes import misread, row_masked_after, row_under, sums_masked_after
from attnviz.scenario import Scenario
from attnviz.shapes import Mask, MaskRow, PerKey
from attnviz.ui import session, show
from attnviz.ui.layer import Layer
from attnviz.ui.live import Words
from attnviz.ui.mask_panels import MOST_TOKENS, is_cross

ATTEND, IGNORE = "True = may attend", "True = ignore"
READINGS = {"attend": "may attend", "ignore": "ignore"}
READING = "misread_mask"
BEFORE, AFTER = "mask before the softmax", "mask after the softmax"
CONVENTIONS = (
    (
        ATTEND,
        "this app and the code it exports; PyTorch scaled_dot_product_attention (attn_mask) and FlexAttention "
        "(mask_mod); ONNX Attention; JAX and Flax dot_product_attention; Keras MultiHeadAttention (attention_mask)",
    ),
    ("1 = may attend", "Hugging Face Transformers (attention_mask from a tokenizer, for padding)"),
    (
        IGNORE,
        "PyTorch nn.MultiheadAttention (attn_mask, key_padding_mask) and nn.Transformer (src_mask, tgt_mask, "
        "src_key_padding_mask …)",
    ),
)


def polarity(scenario: Scenario, layer: Layer, head: int, query: int, key: int) -> None:
    """The mask as the chosen reading has it, the chosen query's weights under both, and who uses which."""
    trace = layer.trace
    reading = session.keep_view("true_means", "attend")
    st.segmented_control(
        "True means",
        list(READINGS),
        key="true_means",
        format_func=READINGS.__getitem__,
        required=True,
        help="The same array of True and False, read in the two ways that libraries have.",
    )
    weights, allowed = trace.row(head, query)
    wrong = row_under(trace, head, query, ~allowed)
    large, beside = st.columns(2, gap="medium")
    with large:
        if max(trace.n_q, trace.n_k) > MOST_TOKENS:
            st.caption(f"The mask as each reading has it is shown up to {MOST_TOKENS} tokens.")
        else:
            _reading(scenario, layer, head, query, key, is_misread=reading == "ignore")
    with beside:
        show.figure(
            two_rows(
                {ATTEND: weights, IGNORE: wrong},
                trace,
                allowed,
                _keys(weights, wrong, np.ones_like(allowed), key),
                key=key,
            ),
            key="misread_row",
            words=Words(
                f"What do the two readings make of query {query} {quoted(trace.query_tokens[query])}?",
                mistake_words.misread_row_answer(weights, wrong, trace, query),
                "Softmax of the same scores over the keys that each reading allows, as weights from 0 to 1."
                + _some(trace.n_k),
                mistake_words.rows_alt((ATTEND, IGNORE), (weights, wrong), query),
            ),
        )
    _conventions()


def _reading(scenario: Scenario, layer: Layer, head: int, query: int, key: int, *, is_misread: bool) -> None:
    """The mask as one reading has it, and what that allows."""
    trace, mask = layer.trace, _mask_of(layer, head)
    found, has_order = misread(mask), not is_cross(scenario)
    window = fitting_window(session.zoomed(READING, trace.n_q, trace.n_k), trace.n_q, trace.n_k)
    if is_misread:
        title = "What does the same array allow where True means “ignore”?"
        answer = mistake_words.misreading_answer(found, trace, has_order=has_order)
        caption = "The array of this mask, given to a library that takes True for “ignore”: every pair swaps."
    else:
        title = "What does this mask allow where True means “may attend”?"
        answer = mistake_words.meant_answer(found, has_order=has_order)
        caption = "The mask as it is meant here. Switch above to the other reading of the same array."
    if not is_exact(window):
        caption += " A cell is allowed where any pair of its block is."
    shown = ~mask if is_misread else mask
    if not shown.any(axis=1).all():
        caption += " ⊘ marks a query with no key allowed."
    show.figure(
        reading_heatmap(trace, shown, window, head=head, query=query, key=key),
        key=READING,
        words=Words(title, answer, caption, mistake_words.misreading_alt(found, is_misread=is_misread)),
        on_click=session.click_setter(READING),
    )


def _conventions() -> None:
    rows = "".join(
        f'<tr><td style="text-align:left;white-space:nowrap">{escape(meaning)}</td>'
        f'<td style="text-align:left;white-space:normal">{escape(who)}</td></tr>'
        for meaning, who in CONVENTIONS
    )
    st.html(
        '<h3>Who reads it which way?</h3><div class="av-table" tabindex="0"><table><thead><tr>'
        '<th scope="col" style="text-align:left">Boolean mask</th><th scope="col" style="text-align:left">Used by</th>'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
        "<p>A mask of floats has no such question: it is added to the scores, 0 where a pair may attend and −∞ where "
        "not.</p>"
    )


def order(layer: Layer, head: int, query: int, key: int) -> None:
    """The chosen query with the mask before the softmax and after it, and what the rows sum to."""
    trace = layer.trace
    weights, allowed = trace.row(head, query)
    after = row_masked_after(trace, head, query, allowed)
    large, beside = st.columns(2, gap="medium")
    with large:
        show.figure(
            two_rows({BEFORE: weights, AFTER: after}, trace, allowed, _keys(weights, after, allowed, key), key=key),
            key="order_row",
            words=Words(
                f"What do mask and softmax make of query {query} {quoted(trace.query_tokens[query])}?",
                mistake_words.order_answer(after, allowed, trace, query, weights),
                "Before: exp(score) over the sum of the allowed keys. After: exp(score) over the sum of all keys, then "
                "forbidden ones set to 0." + _some(trace.n_k),
                mistake_words.rows_alt((BEFORE, AFTER), (weights, after), query),
            ),
        )
    with beside:
        if max(trace.n_q, trace.n_k) > MOST_TOKENS:
            st.caption(f"The sums of all rows are shown up to {MOST_TOKENS} tokens.")
        else:
            _sums(layer, head, query)


def _sums(layer: Layer, head: int, query: int) -> None:
    trace, mask = layer.trace, _mask_of(layer, head)
    n_allowed = mask.sum(axis=1)
    before = trace.weights[head].sum(axis=1, dtype=np.float64)
    after = sums_masked_after(trace, head, mask)
    show.figure(
        row_sums({BEFORE: before, AFTER: after}, trace, query=query),
        key="row_sums",
        words=Words(
            "What does each row sum to?",
            mistake_words.sums_answer(before, after, n_allowed, trace.n_k),
            "Sum of a query's weights over all keys; an average of values needs 1. A row with no allowed key is 0 "
            "either way.",
            mistake_words.sums_alt(after),
        ),
    )


def _mask_of(layer: Layer, head: int) -> Mask:
    mask = layer.trace.mask
    return mask[head if len(mask) > 1 else 0]


def _keys(first: PerKey, second: PerKey, usable: MaskRow, key: int) -> list[int]:
    """All keys where they are few, else the usable ones with the largest weights in either version."""
    return keys_to_show(np.maximum(first, second), usable, key)


def _some(n_k: int) -> str:
    return f" Of many keys at most {MOST_KEYS} are shown, those with the largest weights." if n_k > MOST_KEYS else ""
