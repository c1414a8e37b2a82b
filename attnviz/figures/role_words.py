"""What heads are called, the evidence for it and why not something else, in words computed from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attnviz.figures.answers import quoted
from attnviz.figures.labels import visible
from attnviz.metrics.parking import FIRST, PUNCTUATION, SEVERAL
from attnviz.metrics.roles import BESIDE, BROAD, ENOUGH, LEAST_TOKENS, PARKED, SHARPEST, TOO_SHORT, Evidence, Role
from attnviz.numbers import counted, grouped, percent, significant
from attnviz.shapes import Tokens

LEAST_WAY = 0.0005
GOES_TO = {
    "previous token": "to the token before",
    "own place": "to the token itself",
    "next token": "to the token after",
    "same word": "to places with the query’s own word (its own place included)",
    "induction": "to what followed the query’s word earlier",
}
THAT_HAVE = "that have such a place"
COUNTED = dict.fromkeys((*BESIDE, "induction"), THAT_HAVE) | {"broad": "that may look at several keys"}


def roles_answer(roles: Sequence[Role]) -> str:
    """How many heads there are of each kind, the most frequent first."""
    names = [role.name for role in roles]
    if set(names) == {TOO_SHORT}:
        return f"Too short to tell: heads can be told apart from {LEAST_TOKENS} tokens on."
    words = [f"{count} {name}" for name, count in Counter(names).most_common()]
    return f"{counted(len(names), 'head')}: {', '.join(words)}."


def evidence_words(role: Role, key_tokens: Tokens) -> str:
    """What the head does that it is named for, beside the uniform head."""
    if role.reason is not None:
        return _seen(role.reason, key_tokens)
    broad = next((one for one in role.evidence if one.role == "broad"), None)
    if broad is not None:
        entropy = f"its entropy is {percent(broad.value)} of the largest{of_queries(broad)}"
        below = "just below" if percent(broad.value) == percent(BROAD) else "less than"
        least = f"{below} the {percent(BROAD)} of a broad one"
        halfway = f"Nothing takes it half of the way from a uniform head ({percent(PARKED)} for a sink)"
        return f"{halfway}, and {entropy}, {least}."
    return ""


def why_not(role: Role, key_tokens: Tokens) -> str:
    """The strongest other role, and what keeps the head from it."""
    other = role.runner_up
    if other is None:
        return ""
    seen = _seen(other, key_tokens)
    way = other.way if other.way >= LEAST_WAY else 0.0
    how_far = f"that is {percent(way)} of the way from a uniform head"
    if other.way < other.needed:
        needed = "half" if other.needed == ENOUGH else percent(other.needed)
        return f"Not {other.role}: {seen[0].lower()}{seen[1:-1]}; {how_far}, and {needed} is needed."
    reason = role.reason
    is_further = other.role in SHARPEST and reason is not None and reason.role != "broad" and reason.way > other.way
    more = "is further" if is_further else "says more"
    return f"Not {other.role}: {seen[0].lower()}{seen[1:-1]}; {how_far}, but {role.name} {more}."


def _seen(one: Evidence, key_tokens: Tokens) -> str:
    over = of_queries(one)
    if one.role == "local":
        away = f"It looks {significant(one.value)} tokens away on average{over}"
        return f"{away}; a uniform head {significant(one.uniform)}."
    if one.role == "broad":
        return f"Its entropy is {percent(one.value)} of the largest{over}; a uniform head’s is all of it."
    key = f"to key {one.key} {quoted(key_tokens[one.key or 0])}"
    if one.kinds and one.of_key is not None:
        return (
            f"{percent(one.value)} of its attention goes to {kinds_in_words(one.kinds)} (a uniform head: "
            f"{percent(one.uniform)}), {percent(one.of_key)} {key} alone{over}."
        )
    where = GOES_TO.get(one.role) or key
    return f"{percent(one.value)} of its attention goes {where}{over}; a uniform head gives {percent(one.uniform)}."


def of_queries(one: Evidence) -> str:
    """Over how many queries it is the mean, where it leaves out a tenth of them or more; else nothing.

    >>> of_queries(Evidence("induction", 0.5, 0.1, 0.44, counted=4, queries=13))
    ', over the 4 of 13 queries that have such a place'
    """
    if not one.is_of_some:
        return ""
    which = COUNTED.get(one.role, "that may look at any key")
    return f", over the {grouped(one.counted)} of {grouped(one.queries)} queries {which}"


def kinds_in_words(kinds: Sequence[str]) -> str:
    """Kinds of places in a sentence.

    >>> kinds_in_words(["[CLS]", "[SEP]", "punctuation"])
    '[CLS], [SEP] and punctuation'
    """
    *first, last = (visible(kind) if kind not in (PUNCTUATION, FIRST, SEVERAL) else kind for kind in kinds)
    return f"{', '.join(first)} and {last}" if first else last


def how_named() -> str:
    """How heads come by their names, for the caption."""
    return (
        "A head is named after what it is at least half of the way to doing alone, from what a head uniform over the "
        "allowed keys does: one place beside the query, the query's word (its own place and, where it comes again, "
        "others), what followed it earlier (induction; Olsson et al. 2022), one word, or a sink: the first place, "
        "special tokens and punctuation, together or one alone (Clark et al. 2019, section 3.2; Xiao et al. 2024). "
        "Else it is local (mean distance at most half of the uniform head's), broad (entropy at least "
        f"{percent(BROAD)} of the largest), a sink from {percent(PARKED)} of the way on where nothing else is further "
        "(Gu et al. 2025, section 3.2), or mixed. Of places that fewer than three queries have nothing is said."
    )


def roles_alt(roles: Sequence[Role], heads: range) -> str:
    """Alt text of the picture of roles."""
    words = ", ".join(f"head {head} {roles[head].name}" for head in heads[:16])
    return f"How far each head is on the way to each role: {words}{', …' if len(heads) > 16 else ''}."
