"""A parameter that is typed: it is used where it means something, and else stays as typed with the reason below."""

from __future__ import annotations

from html import unescape

from tests.ui.conftest import Opener, errors, link_of, ran, toasts

GOOD, BETTER, BAD = "k == q", "k <= q", "k <= q & k < 2"
PROBLEM = (
    '`rule` must be true or false for each q and k; got "q" at column 6, a number where a comparison should be. '
    "Write each comparison in parentheses, as in (k <= q) & (k < 2)."
)


def test_a_rule_is_typed_and_is_in_the_link(open_page: Opener) -> None:
    app = open_page("heads", {"mask": "rule"})
    control = app.sidebar.text_input(key="mask.rule")
    assert (control.label, control.value) == ("Rule", "(k <= q) & ((q - k < 4) | (k < 2))")
    assert control.max_chars == 200

    ran(control.set_value(GOOD).run())

    assert link_of(app) == {"mask": "rule", "mask.rule": GOOD}
    assert errors(app) == []


def test_a_bad_rule_stays_as_typed_with_the_reason_below_and_the_last_good_one_is_used(open_page: Opener) -> None:
    app = open_page("heads", {"mask": "rule", "mask.rule": GOOD})

    ran(app.sidebar.text_input(key="mask.rule").set_value(BAD).run())

    assert app.sidebar.text_input(key="mask.rule").value == BAD
    assert [unescape(error.value) for error in app.sidebar.error] == [PROBLEM]
    assert link_of(app) == {"mask": "rule", "mask.rule": GOOD}

    ran(app.sidebar.text_input(key="mask.rule").set_value(BETTER).run())

    assert errors(app) == []
    assert link_of(app) == {"mask": "rule", "mask.rule": BETTER}


def test_a_bad_rule_in_a_link_is_told_once_and_the_usual_one_shown(open_page: Opener) -> None:
    app = open_page("heads", {"mask": "rule", "mask.rule": BAD})

    assert app.sidebar.text_input(key="mask.rule").value == "(k <= q) & ((q - k < 4) | (k < 2))"
    assert PROBLEM in toasts(app)[0]
    assert errors(app) == []
    assert link_of(app) == {"mask": "rule"}
