"""Words and tables as Streamlit gets them."""

from __future__ import annotations

import json

import pytest

from attnviz.numbers import significant
from attnviz.ui.show import marked
from tests.ui.conftest import Opener


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


def test_a_number_has_at_least_the_digits_of_a_sentence_and_all_of_a_column_the_same_decimals(
    open_app: Opener,
) -> None:
    table = open_app().dataframe[0]
    formats = {
        name: column["type_config"]["format"]
        for name, column in json.loads(table.proto.columns).items()
        if "format" in column.get("type_config", {})
    }

    assert formats["largest_weight"] == "%.4f"
    assert formats["entropy_bits_uniform"] == "%.2f"
    assert formats["most_alike_cosine"] == "%.3f"
    for name, form in formats.items():
        for value in table.value[name]:
            assert significant(float(form % value)) == significant(value), (name, value)
