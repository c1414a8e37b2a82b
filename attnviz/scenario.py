"""The scenario: everything that is on screen, and its form as a link.

A field's name, type, default, range and unit are written once, below; the controls and the link come from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from attnviz import named, picks
from attnviz.core.config import AttentionConfig, check_groups, check_heads, divisors
from attnviz.core.text import numbered, words_of
from attnviz.errors import NothingYetError, SettingError, broken_rule
from attnviz.masks.lists import LONGEST_TEXT, whole_numbers
from attnviz.menu import Menu
from attnviz.metrics.roles import ROLES
from attnviz.registries import MASKS, METRICS, POSITIONS, SIMILARITIES
from attnviz.registry import Annotated, Choice, Param, Range, Spec, Text, format_value
from attnviz.shapes import Tokens

DEFAULT_TEXT = "The cat sat on the mat because it was tired."
DEFAULT_KEY_TEXT = "The mat was red and the cat was old."
MAX_CHARACTERS = 20_000
LONGEST = 32_768
STAGES = (
    "input",
    "projection",
    "rotation",
    "dot",
    "scale",
    "cap",
    "bias",
    "mask",
    "softmax",
    "dropout",
    "context",
    "output",
)
STEP_VIEWS = ("row", "what_if", "scaling")
MASK_VIEWS = ("together", "gallery", "depth", "polarity", "order", "code")
HEADS_VIEWS = ("alike", "measure", "roles", "rank", "removal", "adaptive", "number", "layers", "table")
LAYERS_VIEWS = ("lines", "rollout", "flow")
TABLE_COLUMNS = ("layer", "head", "role", "measure", "value", "baseline", "unit", "source")
POSITION_VIEWS = ("effect", "similarity", "shuffled", "beyond")
D_MODELS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
DOMAINS: dict[str, Range | Choice | Text | Menu | None] = {}


@dataclass(frozen=True)
class Scenario:
    """One input and one attention setting, with what is looked at.

    Attributes
    ----------
    input
        `sentence`: the words of `text`. `vectors`: `n_tokens` random vectors. `trained`: `text` through
        all-MiniLM-L6-v2, which fixes width, heads and positions.
    cross, key_text, n_keys
        Whether keys and values come from another text, `key_text`, or for vectors from `n_keys` others.
    n_kv_heads, d_value
        Key/value heads, and columns of a head's value; 0 for as many as heads, and as columns of its query.
    mask, sparsity, padding
        Three masks that must all allow a pair.
    weights
        How W_Q and W_K are made.
    sharpness, is_scaled, softcap, sinks, dropout
        See `AttentionConfig`.
    layer, head, query, key
        What is looked at.
    stage, step_view
        Stage of the arithmetic of one weight, and what is shown of its row.
    mask_view, depth
        What is shown of the mask, and through how many layers of it tokens may look.
    position_view, compared, trained_length
        What is shown of the positions, the method beside them, and the longest text that a model was trained on.
    heads_view, scope, measure, similarity
        What is shown of the heads, of the chosen layer or of all of them, and which measure of heads and of pairs.
    other_layer, other, beside
        The head beside the chosen one, −1 for the one most like it, and the link of a setting beside the present one;
        empty for none.
    removed, stand_in
        Heads that are switched off, and whether nothing or their mean over the queries takes their place.
    kept_share, gate_by
        Share of the output that the fewest heads are to hold, for each query or for all together.
    layers_view, drawn
        What is shown across layers, and whose lines: `head`, the chosen one, or `all` of its layer.
    table_layers, table_heads, table_measures, table_roles
        Which rows of the table of all measures are shown, each of these empty for all.
    sort_by, is_descending
        The column that it is sorted by, and whether from the last to the first.
    scale, shared_scale
        Colours, and whether all heads share one range.
    hidden, row_scale, log_scale
        Keys left out of the pictures of weights, and whether each row has its own range and colours follow the
        logarithm of the weights.

    Raises
    ------
    SettingError, UnknownNameError
        If a value breaks its rule.
    """

    input: Annotated[str, Choice(("sentence", "vectors", "trained"))] = "sentence"
    text: Annotated[str, Text(MAX_CHARACTERS)] = DEFAULT_TEXT
    n_tokens: Annotated[int, Range(1, LONGEST, unit="tokens")] = 32
    cross: Annotated[bool, None] = False
    key_text: Annotated[str, Text(MAX_CHARACTERS)] = DEFAULT_KEY_TEXT
    n_keys: Annotated[int, Range(1, LONGEST, unit="tokens")] = 16
    d_model: Annotated[int, Range(2, 2048, unit="columns")] = 64
    n_heads: Annotated[int, Range(1, 2048)] = 8
    n_kv_heads: Annotated[int, Range(0, 2048)] = 0
    d_value: Annotated[int, Range(0, 256, unit="columns")] = 0
    mask: Annotated[Spec, Menu(MASKS, "Structure")] = field(default_factory=lambda: MASKS["full"].spec())
    sparsity: Annotated[Spec, Menu(MASKS, "Sparsity")] = field(default_factory=lambda: MASKS["dense"].spec())
    padding: Annotated[Spec, Menu(MASKS, "Padding")] = field(default_factory=lambda: MASKS["no_padding"].spec())
    position: Annotated[Spec, Menu(POSITIONS)] = field(default_factory=lambda: POSITIONS["sinusoidal"].spec())
    weights: Annotated[str, Choice(("designed", "random"))] = "designed"
    sharpness: Annotated[float, Range(0, 8, step=0.1)] = 1.0
    is_scaled: Annotated[bool, None] = True
    softcap: Annotated[float, Range(0, 100, step=1)] = 0.0
    sinks: Annotated[bool, None] = False
    dropout: Annotated[float, Range(0, 0.9, step=0.05)] = 0.0
    seed: Annotated[int, Range(0, 999_999)] = 0
    layer: Annotated[int, Range(0, 63)] = 0
    head: Annotated[int, Range(0, 2047)] = 0
    query: Annotated[int, Range(0, LONGEST - 1)] = 4
    key: Annotated[int, Range(0, LONGEST - 1)] = 0
    stage: Annotated[str, Choice(STAGES)] = "dot"
    step_view: Annotated[str, Choice(STEP_VIEWS)] = "row"
    mask_view: Annotated[str, Choice(MASK_VIEWS)] = "gallery"
    depth: Annotated[int, Range(1, 64, unit="layers")] = 2
    position_view: Annotated[str, Choice(POSITION_VIEWS)] = "effect"
    compared: Annotated[Spec, Menu(POSITIONS)] = field(default_factory=lambda: POSITIONS["rotary"].spec())
    trained_length: Annotated[int, Range(1, 4096, unit="tokens")] = 32
    heads_view: Annotated[str, Choice(HEADS_VIEWS)] = "alike"
    scope: Annotated[str, Choice(("layer", "all"))] = "layer"
    measure: Annotated[Spec, Menu(METRICS)] = field(default_factory=lambda: METRICS["entropy"].spec())
    similarity: Annotated[Spec, Menu(SIMILARITIES)] = field(default_factory=lambda: SIMILARITIES["cosine"].spec())
    other_layer: Annotated[int, Range(0, 63)] = 0
    other: Annotated[int, Range(-1, 2047)] = -1
    beside: Annotated[str, named.settings_of("beside", DOMAINS, MAX_CHARACTERS)] = ""
    removed: Annotated[str, Text(picks.LONGEST, picks.heads_in, ("3", "0, 5.11"))] = ""
    stand_in: Annotated[str, Choice(("zero", "mean"))] = "zero"
    kept_share: Annotated[float, Range(0.05, 1, step=0.05)] = 0.8
    gate_by: Annotated[str, Choice(("query", "sentence"))] = "query"
    layers_view: Annotated[str, Choice(LAYERS_VIEWS)] = "lines"
    drawn: Annotated[str, Choice(("head", "all"))] = "all"
    table_layers: Annotated[str, Text(named.LONGEST, whole_numbers("table_layers", 0, 63), ("0", "1, 5"))] = ""
    table_heads: Annotated[str, Text(picks.LONGEST, whole_numbers("table_heads", 0, 2047), ("0", "3, 11"))] = ""
    table_measures: Annotated[str, named.names_of("table_measures", METRICS.names)] = ""
    table_roles: Annotated[str, named.names_of("table_roles", ROLES)] = ""
    sort_by: Annotated[str, Choice(TABLE_COLUMNS)] = "layer"
    is_descending: Annotated[bool, None] = False
    scale: Annotated[str, Choice(("single hue", "viridis", "cividis"))] = "single hue"
    shared_scale: Annotated[bool, None] = True
    hidden: Annotated[str, Text(LONGEST_TEXT, whole_numbers("hidden", 0, LONGEST - 1), ("0", "0, 12"))] = ""
    row_scale: Annotated[bool, None] = False
    log_scale: Annotated[bool, None] = False

    def __post_init__(self) -> None:
        for name, domain in DOMAINS.items():
            value = getattr(self, name)
            if isinstance(domain, Menu):
                domain.check(value)
            elif isinstance(domain, Text):
                if len(value) > domain.longest:
                    rule = f"must have at most {domain.longest:,} characters"
                    raise SettingError(broken_rule(name, rule, f"{len(value):,}", "Shorten it."))
                if domain.check is not None and value:
                    domain.check(value)
            else:
                PARAMS[name].check(value)
        check_heads(self.n_heads, self.d_model)
        check_groups(self.n_heads, self.n_kv_heads or self.n_heads)

    @property
    def masks(self) -> tuple[Spec, Spec, Spec]:
        """Structure, sparsity and padding."""
        return (self.mask, self.sparsity, self.padding)

    def config(self) -> AttentionConfig:
        """The attention setting, for every input but the trained one.

        Raises
        ------
        SettingError
            If there is no word in the text or the setting is too large.
        """
        removed = picks.heads_of_layer(picks.heads_in(self.removed), 0, self.n_heads)
        return AttentionConfig(
            tokens=self._tokens(self.text, self.n_tokens, "x"),
            key_tokens=self._tokens(self.key_text, self.n_keys, "y") if self.cross else None,
            content="words" if self.input == "sentence" else "vectors",
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_kv_heads=self.n_kv_heads or None,
            d_value=self.d_value or None,
            masks=self.masks,
            position=self.position,
            projections=self.weights,
            sharpness=self.sharpness,
            is_scaled=self.is_scaled,
            softcap=self.softcap,
            sinks=self.sinks,
            dropout=self.dropout,
            seed=self.seed,
            removed=removed,
            stand_in=self.stand_in if removed else "zero",
        )

    def _tokens(self, text: str, length: int, letter: str) -> Tokens:
        return words_of(text)[0] if self.input == "sentence" else numbered(letter, length)

    def counts(self) -> dict[str, int]:
        """How many layers, heads, queries and keys there are, as far as that is known before a model has run."""
        if self.input == "trained":
            from attnviz.models import MINILM

            return {"layer": MINILM.n_layers, "head": MINILM.n_heads}
        counts = {"head": self.n_heads}
        with suppress(NothingYetError):
            counts["query"] = len(self._tokens(self.text, self.n_tokens, "x"))
            counts["key"] = len(self._tokens(self.key_text, self.n_keys, "y")) if self.cross else counts["query"]
        return counts

    def to_query(self) -> dict[str, str]:
        """Link form: field names with their values, those equal to the default left out.

        >>> Scenario(mask=MASKS["causal"].spec(align="top-left"), n_heads=4).to_query()
        {'n_heads': '4', 'mask': 'causal', 'mask.align': 'top-left'}
        """
        return dict(_link_parts(self))


PARAMS: dict[str, Param] = {}
for _name, _hint in get_type_hints(Scenario, include_extras=True).items():
    _kind, DOMAINS[_name] = get_args(_hint)
    _field = next(item for item in fields(Scenario) if item.name == _name)
    if _field.default is not MISSING:
        _domain = DOMAINS[_name]
        _is_range = isinstance(_domain, Range | Choice | Text)
        PARAMS[_name] = Param(_name, _kind, _field.default, _domain if _is_range else None)


def _link_parts(scenario: Scenario) -> Iterator[tuple[str, str]]:
    default = Scenario()
    for name, domain in DOMAINS.items():
        value, usual = getattr(scenario, name), getattr(default, name)
        if value == usual:
            continue
        if isinstance(domain, Menu):
            if value.name != usual.name:
                yield name, value.name
            standard = dict(domain.registry[value.name].spec().params)
            for param, chosen in value.params:
                if chosen != standard[param]:
                    yield f"{name}.{param}", format_value(chosen)
        else:
            yield name, format_value(value)


def fitting_divisor(wanted: int, number: int) -> int:
    """The largest divisor of a number up to `wanted`.

    >>> fitting_divisor(8, 12)
    6
    """
    return max(n for n in divisors(number) if n <= max(wanted, 1))


def past_the_last(scenario: Scenario) -> dict[str, int]:
    """Of layer, head, query and key those past the last there is, with the last."""
    return {name: count - 1 for name, count in scenario.counts().items() if getattr(scenario, name) >= count}


def fitting_heads(changes: Mapping[str, Any]) -> dict[str, int]:
    """Heads, and key/value heads, lowered to what divides the width, and the heads.

    >>> fitting_heads({"d_model": 12, "n_heads": 8, "n_kv_heads": 4})
    {'n_heads': 6, 'n_kv_heads': 3}
    """
    n_heads = fitting_divisor(changes["n_heads"], changes["d_model"])
    n_kv_heads = changes["n_kv_heads"]
    return {"n_heads": n_heads, "n_kv_heads": fitting_divisor(n_kv_heads, n_heads) if n_kv_heads else 0}


def adapted(scenario: Scenario, **changes: Any) -> Scenario:
    """The scenario with changes, lowered to what they leave: the heads for a new width, and what is looked at."""
    sizes = {name: getattr(scenario, name) for name in ("d_model", "n_heads", "n_kv_heads")} | changes
    changed = replace(scenario, **{**changes, **fitting_heads(sizes)})
    lowered = past_the_last(changed)
    return replace(changed, **lowered) if lowered else changed
