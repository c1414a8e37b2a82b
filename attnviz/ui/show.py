"""Showing a figure or a table with its question, answer, caption, alt text and downloads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from attnviz.figures.theme import recoloured
from attnviz.numbers import significant
from attnviz.ui import live
from attnviz.ui.live import Words

LONG_WORDS = 32
NAME = re.compile(r"\w[\w .=-]*")


def figure(picture: go.Figure, *, key: str, words: Words, on_click: Callable[[], None] | None = None) -> None:
    """A live figure, or a plain Plotly chart where that cannot be served."""
    if live.is_available() and live.draw(picture, key=key, words=words, on_click=on_click):
        return
    st.markdown(f"### {plain(words.title)}")
    st.markdown(plain(words.answer))
    chart = go.Figure(recoloured(picture.to_plotly_json())) if st.context.theme.type == "dark" else picture
    hover = "row %{y}, column %{x}: %{z:.4g}<extra></extra>"
    chart.update_traces(hoverinfo="all", hovertemplate=hover, selector={"type": "heatmap"})
    st.plotly_chart(chart, key=f"{key}.plain", theme=None, alt=words.alt)
    st.caption(plain(words.caption))


def sentence(text: str, notes: Sequence[str] = ()) -> None:
    """What is on screen, and what the reader should know of it."""
    st.markdown(plain(" ".join((text, *notes))))


def plain(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> plain("<b>*x*</b> $y$")
    '&lt;b&gt;&#42;x&#42;&lt;/b&gt; &#36;y&#36;'
    """
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return "".join(
        named.get(character, f"&#{ord(character)};" if character in "\\`*_{}[]#|$~:" else character)
        for character in text
    )


def marked(text: str) -> str:
    """Text that Markdown shows as it is, names between backticks as code.

    >>> marked("`seed` must be a number; got seed=`*x*`.")
    '`seed` must be a number; got seed=&#42;x&#42;.'
    """
    parts = re.split(r"`([^`]*)`", text)
    return "".join(
        f"`{part}`" if place % 2 and NAME.fullmatch(part) else plain(part) for place, part in enumerate(parts)
    )


def table(
    frame: pd.DataFrame,
    shown: slice | list[int],
    *,
    title: str,
    caption: str,
    labels: Mapping[str, str],
    file_name: str,
    strong: int,
    bars: str = "",
    file: pd.DataFrame | None = None,
) -> None:
    """Rows of a table with the digits of the sentences, and all its numbers as CSV.

    Parameters
    ----------
    frame
        The whole table.
    shown
        Rows that are shown.
    title, caption
        What is said above and below.
    labels
        Headings of the columns.
    file_name
        Name of the CSV file.
    strong
        Row that is set in bold.
    bars
        Column of shares whose cells have a bar behind the number.
    file
        What the file holds, where that is another table.
    """
    head = "".join(_heading(labels[str(name)], frame.iloc[shown][name]) for name in frame.columns)
    has_bar = [str(name) == bars for name in frame.columns]
    values = frame.iloc[shown].itertuples(index=False, name=None)
    rows = "".join(
        f"<tr{' class=av-strong' if row == strong else ''}>{''.join(map(_cell, cells, has_bar))}</tr>"
        for row, cells in zip(frame.index[shown], values, strict=True)
    )
    st.html(
        f'<h3>{escape(title)}</h3><div class="av-table" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div><p>{escape(caption)}</p>"
    )
    st.download_button(
        "Download CSV",
        data=lambda: (frame if file is None else file).to_csv(index=False).encode(),
        file_name=file_name,
        mime="text/csv",
        on_click="ignore",
    )


def _heading(label: str, column: pd.Series) -> str:
    kind = max((_kind(value) for value in column), default="")
    return f'<th scope="col"{f" class={kind}" if kind else ""}>{escape(label)}</th>'


def _kind(value: object) -> str:
    """The class of a cell of words, which starts at the left; long ones break into lines."""
    if not isinstance(value, str):
        return ""
    return "av-words" if len(value) > LONG_WORDS else "av-word"


def _cell(value: object, has_bar: bool) -> str:
    text = significant(value) if isinstance(value, float) else "–" if value is pd.NA else escape(str(value))
    if kind := _kind(value):
        return f"<td class={kind}>{text}</td>"
    if not has_bar or not isinstance(value, float):
        return f"<td>{text}</td>"
    return f'<td class="av-share" style="background-size: {100 * value:.1f}% 70%">{text}</td>'
