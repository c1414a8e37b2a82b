"""Ways to a text in which words come again: in others nobody can tell whether a head looks for them."""

from __future__ import annotations

import streamlit as st

from attnviz.scenario import MAX_CHARACTERS, Scenario
from attnviz.ui import session, show

NOTHING = "No query has an earlier place of its own word that it may look at."
TWICE, RANDOM = "Say the sentence twice", "Say random words twice"
HELP = {
    TWICE: "Every word comes again, in the same order.",
    RANDOM: "Neither grammar nor meaning says what comes next: a head that finds it has matched what came before. "
    "Olsson et al. 2022, section 2.",
}


def ways(scenario: Scenario, *, comes_again: bool, missing: str = NOTHING) -> None:
    """Buttons that say the sentence twice, where no word comes again, and random words to the trained model.

    Parameters
    ----------
    scenario
        What is on screen.
    comes_again
        Whether some query has another place of its word that it may look at.
    missing
        What is said where none has.
    """
    twice, random = f"{scenario.text.strip()} {scenario.text.strip()}", random_words(scenario)
    choices: dict[str, str] = {}
    is_twice = _is_said_twice(scenario.text)
    if not comes_again and not is_twice and scenario.input != "vectors" and len(twice) <= MAX_CHARACTERS:
        choices[TWICE] = twice
    if random and random != scenario.text:
        choices[RANDOM] = random
    if not comes_again and choices:
        show.sentence(missing)
    elif not comes_again and is_twice:
        show.sentence(f"{missing} All words come again here: the mask forbids it.")
    elif not comes_again and scenario.input == "vectors":
        show.sentence("No word comes again here. Choose a sentence in which one does.")
    elif not comes_again:
        show.sentence(f"{missing} Choose a shorter text, or one in which words come again.")
    if choices:
        with st.container(horizontal=True, gap="small"):
            for label, text in choices.items():
                st.button(label, on_click=session.setter(text=text), help=HELP[label])


def _is_said_twice(text: str) -> bool:
    words = text.split()
    half = len(words) // 2
    return half > 0 and words[:half] == words[half:]


def random_words(scenario: Scenario) -> str:
    """Random words said twice, for the trained model; empty for other input."""
    if scenario.input != "trained":
        return ""
    from attnviz.models.random_words import random_words_twice

    return random_words_twice(scenario.seed)
