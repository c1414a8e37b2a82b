"""The scenario: everything that is on screen, and its form as a link.

A field's name, type, default, range and unit are written once, below; the controls and the link come from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from attnviz.core.config import AttentionConfig, check_heads, divisors
from attnviz.core.text import words_of
from attnviz.errors import AttnvizError, NothingYetError, SettingError, UnknownNameError, broken_rule
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Annotated, Choice, Param, Range, Registry, Spec, Value, format_value

DEFAULT_TEXT = "The cat sat on the mat because it was tired."
MAX_CHARACTERS = 20_000
D_MODELS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)


@dataclass(frozen=True)
class Text:
    """Free text of at most `longest` characters."""

    longest: int


@dataclass(frozen=True)
class Menu:
    """Entries of one group of a registry, or of all of it."""

    registry: Registry[Any, Any]
    group: str | None = None

    def names(self) -> list[str]:
        """Names to choose from, in menu order."""
        return self.registry.names(self.group)

    def check(self, spec: Spec) -> Spec:
        """The same choice, validated again.

        Raises
        ------
        UnknownNameError, SettingError
            If the name is not in this menu or a parameter breaks its rule.
        """
        self._check_name(spec.name)
        return self.registry.check(spec)

    def parse(self, name: str, chosen: Mapping[str, str]) -> tuple[Spec, list[AttnvizError]]:
        """The spec that a link's name and parameters stand for, and what is wrong with those left at their default.

        Raises
        ------
        UnknownNameError
            If the name is not in this menu.
        """
        self._check_name(name)
        entry = self.registry[name]
        params = {param.name: param for param in entry.params}
        good: dict[str, Value] = {}
        problems: list[AttnvizError] = []
        for key, text in chosen.items():
            try:
                if key not in params:
                    entry.spec(**{shortened(key): shortened(text)})
                good[key] = params[key].parse(text)
            except AttnvizError as error:
                problems.append(error)
        return entry.spec(**good), problems

    def _check_name(self, name: str) -> None:
        if name not in self.names():
            raise UnknownNameError(f"there is no entry {shortened(name)!r} here; try {', '.join(self.names())}.")


@dataclass(frozen=True)
class Scenario:
    """One input and one attention setting, with what is looked at.

    Attributes
    ----------
    input
        `sentence`: the words of `text`. `vectors`: `n_tokens` random vectors. `trained`: `text` through
        all-MiniLM-L6-v2, which fixes width, heads and positions.
    mask, sparsity, padding
        Three masks that must all allow a pair.
    weights
        How W_Q and W_K are made.
    layer, head, query, key
        What is looked at.
    scale, shared_scale
        Colours, and whether all heads share one range.

    Raises
    ------
    SettingError, UnknownNameError
        If a value breaks its rule.
    """

    input: Annotated[str, Choice(("sentence", "vectors", "trained"))] = "sentence"
    text: Annotated[str, Text(MAX_CHARACTERS)] = DEFAULT_TEXT
    n_tokens: Annotated[int, Range(1, 2048, unit="tokens")] = 32
    d_model: Annotated[int, Range(2, 2048, unit="columns")] = 64
    n_heads: Annotated[int, Range(1, 2048)] = 8
    mask: Annotated[Spec, Menu(MASKS, "Structure")] = field(default_factory=lambda: MASKS["full"].spec())
    sparsity: Annotated[Spec, Menu(MASKS, "Sparsity")] = field(default_factory=lambda: MASKS["dense"].spec())
    padding: Annotated[Spec, Menu(MASKS, "Padding")] = field(default_factory=lambda: MASKS["no_padding"].spec())
    position: Annotated[Spec, Menu(POSITIONS)] = field(default_factory=lambda: POSITIONS["sinusoidal"].spec())
    weights: Annotated[str, Choice(("designed", "random"))] = "designed"
    sharpness: Annotated[float, Range(0, 8, step=0.1)] = 1.0
    seed: Annotated[int, Range(0, 999_999)] = 0
    layer: Annotated[int, Range(0, 63)] = 0
    head: Annotated[int, Range(0, 2047)] = 0
    query: Annotated[int, Range(0, 2047)] = 4
    key: Annotated[int, Range(0, 2047)] = 0
    scale: Annotated[str, Choice(("single hue", "viridis", "cividis"))] = "single hue"
    shared_scale: Annotated[bool, None] = True

    def __post_init__(self) -> None:
        for name, domain in DOMAINS.items():
            value = getattr(self, name)
            if isinstance(domain, Menu):
                domain.check(value)
            elif isinstance(domain, Text):
                if len(value) > domain.longest:
                    rule = f"must have at most {domain.longest:,} characters"
                    raise SettingError(broken_rule(name, rule, f"{len(value):,}", "Shorten it."))
            else:
                PARAMS[name].check(value)
        check_heads(self.n_heads, self.d_model)

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
        is_text = self.input == "sentence"
        return AttentionConfig(
            tokens=words_of(self.text)[0] if is_text else tuple(f"x{i}" for i in range(self.n_tokens)),
            content="words" if is_text else "vectors",
            d_model=self.d_model,
            n_heads=self.n_heads,
            masks=self.masks,
            position=self.position,
            projections=self.weights,
            sharpness=self.sharpness,
            seed=self.seed,
        )

    def counts(self) -> dict[str, int]:
        """How many layers, heads, queries and keys there are, as far as that is known before a model has run."""
        if self.input == "trained":
            from attnviz.models import MINILM

            return {"layer": MINILM.n_layers, "head": MINILM.n_heads}
        counts = {"head": self.n_heads}
        with suppress(NothingYetError):
            n_tokens = self.n_tokens if self.input == "vectors" else len(words_of(self.text)[0])
            counts |= {"query": n_tokens, "key": n_tokens}
        return counts

    def to_query(self) -> dict[str, str]:
        """Link form: field names with their values, those equal to the default left out.

        >>> Scenario(mask=MASKS["causal"].spec(align="top-left"), n_heads=4).to_query()
        {'n_heads': '4', 'mask': 'causal', 'mask.align': 'top-left'}
        """
        return dict(_link_parts(self))


DOMAINS: dict[str, Range | Choice | Text | Menu | None] = {}
PARAMS: dict[str, Param] = {}
for _name, _hint in get_type_hints(Scenario, include_extras=True).items():
    _kind, DOMAINS[_name] = get_args(_hint)
    _field = next(item for item in fields(Scenario) if item.name == _name)
    if _field.default is not MISSING:
        _domain = DOMAINS[_name]
        PARAMS[_name] = Param(_name, _kind, _field.default, _domain if isinstance(_domain, Range | Choice) else None)


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


def shortened(text: str, longest: int = 40) -> str:
    """The start of a text that may be long.

    >>> shortened("abcdef", 3)
    'abc…'
    """
    return text if len(text) <= longest else f"{text[:longest]}…"


def fitting_heads(wanted: int, d_model: int) -> int:
    """The most heads up to `wanted` that divide the width.

    >>> fitting_heads(8, 12)
    6
    """
    return max(n for n in divisors(d_model) if n <= max(wanted, 1))


def too_far(field: str, asked: int, last: int) -> str:
    """Sentence for a link that asks for a layer, head, query or key past the last one.

    >>> too_far("head", 99, 7)
    '`head` must be a whole number from 0 to 7; got head=99. Shown with head=7.'
    """
    rule = f"must be a whole number from 0 to {last}"
    return broken_rule(field, rule, f"{field}={asked}", f"Shown with {field}={last}.")


def _past_the_last(scenario: Scenario) -> dict[str, Any]:
    """Of layer, head, query and key those past the last there is, with the last."""
    return {name: count - 1 for name, count in scenario.counts().items() if getattr(scenario, name) >= count}


def from_query(query: Mapping[str, str]) -> tuple[Scenario, list[str]]:
    """The scenario of a link, and a sentence for each part of it that was ignored.

    Never raises: a bad part leaves its field at the default, or at the nearest value that fits the other parts.

    >>> from_query({"n_heads": "3", "d_model": "32"})[1]
    ['`n_heads` must divide `d_model`; got n_heads=3, d_model=32. Try 1, 2, 4, 8, 16 or 32. Shown with n_heads=2.']
    """
    problems: list[str] = []
    chosen: dict[str, Any] = {}
    left = dict(query)
    for name, domain in DOMAINS.items():
        text = left.pop(name, None)
        params = {key.split(".", 1)[1]: left.pop(key) for key in list(left) if key.startswith(f"{name}.")}
        if not isinstance(domain, Menu):
            problems += [f"`{name}` has no parameter {shortened(param)!r}." for param in params]
        try:
            if isinstance(domain, Menu) and (text is not None or params):
                usual: Spec = getattr(Scenario(), name)
                chosen[name], wrong = domain.parse(usual.name if text is None else text, params)
                problems += [_named(name, error) for error in wrong]
            elif text is not None:
                chosen[name] = text[: domain.longest] if isinstance(domain, Text) else PARAMS[name].parse(text)
                if isinstance(domain, Text) and len(text) > domain.longest:
                    problems.append(
                        f"`{name}` has {len(text):,} characters; only the first {domain.longest:,} are used."
                    )
        except AttnvizError as error:
            problems.append(_named(name, error))
    problems += [f"`{shortened(name)}` is not a setting." for name in left]
    d_model = chosen.get("d_model", Scenario.d_model)
    n_heads = chosen.get("n_heads", Scenario.n_heads)
    try:
        check_heads(n_heads, d_model)
    except SettingError as error:
        chosen["n_heads"] = fitting_heads(n_heads, d_model)
        if "n_heads" in query:
            problems.append(f"{error} Shown with n_heads={chosen['n_heads']}.")
    asked = Scenario(**chosen)
    lowered = _past_the_last(asked)
    problems += [too_far(name, chosen[name], used) for name, used in lowered.items() if name in chosen]
    return replace(asked, **lowered), problems


def _named(name: str, error: AttnvizError) -> str:
    sentence = str(error)
    return sentence if f"`{name}`" in sentence else f"`{name}`: {sentence}"


def adapted(scenario: Scenario, **changes: Any) -> Scenario:
    """The scenario with changes, lowered to what they leave: the heads for a new width, and what is looked at."""
    d_model = changes.get("d_model", scenario.d_model)
    n_heads = changes.get("n_heads", scenario.n_heads)
    changed = replace(scenario, **{**changes, "n_heads": fitting_heads(n_heads, d_model)})
    lowered = _past_the_last(changed)
    return replace(changed, **lowered) if lowered else changed
