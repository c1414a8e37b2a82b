"""Words and tables as Streamlit gets them."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.ui.show import marked
from tests.ui.drawn import table_rows


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("`seed` must be even; got 3.", "`seed` must be even; got 3."),
        ("run `pip install --no-deps a-b==0.1`, or *not*", "run `pip install --no-deps a-b==0.1`, or &#42;not&#42;"),
        ("`<b>` is not a setting.", "&lt;b&gt; is not a setting."),
        ("`` is not a setting.", " is not a setting."),
        ("one ` alone", "one &#96; alone"),
        ("`$x$` and `a`b`", "&#36;x&#36; and `a`b&#96;"),
    ],
)
def test_names_are_code_and_everything_else_is_literal(text: str, markdown: str) -> None:
    assert marked(text) == markdown


def test_a_table_shows_numbers_with_the_digits_of_a_sentence_and_nothing_in_it_is_markup() -> None:
    def script() -> None:
        import pandas as pd

        from attnviz.ui import show

        frame = pd.DataFrame({"name": ["<b>x</b>", "y"], "share": [0.0714285, float("nan")]})
        labels = {"name": "Name", "share": "<i>Share</i>"}
        show.table(frame, slice(0, 2), title="T", caption="C", labels=labels, file_name="t.csv", strong=1)

    app = AppTest.from_function(script).run()

    assert not app.exception
    assert table_rows(app) == [["Name", "<i>Share</i>"], ["<b>x</b>", "0.0714"], ["y", "–"]]
    assert "<b>" not in app.get("html")[0].proto.body
