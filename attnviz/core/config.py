"""One attention setting, checked when it is made and usable as a cache key."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, sqrt

from attnviz.core.gating import check_removed, check_stand_in
from attnviz.errors import SettingError, broken_rule, listed
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec
from attnviz.shapes import Tokens

MAX_WEIGHTS = 8 * 32_768**2
MAX_NUMBERS = 256 * 32_768
MAX_D_MODEL = 2048
PROJECTIONS = ("designed", "random")
CONTENTS = ("words", "vectors")


def divisors(number: int) -> list[int]:
    """Whole numbers that divide it.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return [candidate for candidate in range(1, number + 1) if number % candidate == 0]


def check_heads(n_heads: int, d_model: int) -> None:
    """Refuse a number of heads that does not divide the width.

    Raises
    ------
    SettingError
        With both numbers and the counts that do.
    """
    if n_heads < 1 or d_model % n_heads:
        raise SettingError(
            broken_rule(
                "n_heads",
                "must divide `d_model`",
                f"n_heads={n_heads}, d_model={d_model}",
                f"Try {listed(divisors(d_model))}.",
            )
        )


def check_groups(n_heads: int, n_kv_heads: int) -> None:
    """Refuse a number of key/value heads that does not divide the number of query heads.

    Raises
    ------
    SettingError
        With both numbers and the counts that do.
    """
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        fitting = divisors(n_heads)
        raise SettingError(
            broken_rule(
                "n_kv_heads",
                "must divide `n_heads`",
                f"n_heads={n_heads}, n_kv_heads={n_kv_heads}",
                f"Try {listed(fitting)}.",
            )
        )


@dataclass(frozen=True)
class AttentionConfig:
    """A setting of one attention layer.

    Attributes
    ----------
    tokens
        What stands at each place; the queries, and the keys too where `key_tokens` is left out.
    key_tokens
        Tokens of the keys in cross-attention.
    content
        `words`: a word has the same vector everywhere. `vectors`: each place draws its own from the seed.
    d_model, n_heads
        Width, and the number of heads it is divided over.
    n_kv_heads
        Key/value heads, each of which serves as many query heads; None for one each.
    d_value
        Columns of each head's value; None for as many as of its query.
    masks
        Every mask must allow a pair for it to be attended.
    position
        How places are told apart.
    projections
        `designed`: W_Q and W_K built so that heads do recognisable work. `random`: drawn from the seed.
    sharpness
        Multiplies the scores; 1 is plain attention, 0 makes every row uniform.
    is_scaled
        Whether scores are divided by the square root of d_head.
    softcap
        Size within which every score is kept; 0 for none.
    sinks
        Whether each head has a sink: one more key, without a value, that takes a part of every row.
    dropout
        Share of the weights that training would drop; the trace's weights are those before it.
    seed
        Where all random numbers start.
    removed, stand_in
        Heads that are switched off, and whether nothing (`zero`) or its `mean` over the queries takes the place of
        such a head's context.

    Raises
    ------
    SettingError, UnknownNameError
        If a value breaks its rule.
    """

    tokens: Tokens
    d_model: int = 64
    n_heads: int = 8
    masks: tuple[Spec, ...] = field(default_factory=lambda: (MASKS["causal"].spec(),))
    position: Spec = field(default_factory=lambda: POSITIONS["sinusoidal"].spec())
    content: str = "words"
    projections: str = "designed"
    sharpness: float = 1.0
    seed: int = 0
    key_tokens: Tokens | None = None
    n_kv_heads: int | None = None
    d_value: int | None = None
    is_scaled: bool = True
    softcap: float = 0.0
    sinks: bool = False
    dropout: float = 0.0
    removed: tuple[int, ...] = ()
    stand_in: str = "zero"

    def __post_init__(self) -> None:
        for name, tokens in (("tokens", self.tokens), ("key_tokens", self.key_tokens)):
            if tokens is not None and not tokens:
                raise SettingError(broken_rule(name, "must hold at least one token", "none", "Type a word."))
        check_heads(self.n_heads, self.d_model)
        check_groups(self.n_heads, self.kv_heads)
        check_removed(self.removed, self.n_heads)
        check_stand_in(self.stand_in)
        self._check_size()
        self._check_width()
        self._check_numbers()
        self._check_names()

    def _check_size(self) -> None:
        pairs = self.n_q * self.n_k
        if self.n_heads * pairs > MAX_WEIGHTS:
            fitting = [n for n in divisors(self.d_model) if n * pairs <= MAX_WEIGHTS]
            fewer = f"{max(fitting)} heads or fewer, or " if fitting else ""
            square = self.key_tokens is None
            lengths = f"n_tokens={self.n_q}" if square else f"n_tokens={self.n_q}, n_keys={self.n_k}"
            raise SettingError(
                broken_rule(
                    "n_heads",
                    f"times {'the square of the length' if square else 'both lengths'} must be at most "
                    f"{MAX_WEIGHTS:,} weights",
                    f"n_heads={self.n_heads}, {lengths}",
                    f"Try {fewer}a shorter length.",
                )
            )

    def _check_width(self) -> None:
        longest = max(self.n_q, self.n_k)
        if longest * self.d_model > MAX_NUMBERS:
            rule = f"times the length must be at most {MAX_NUMBERS:,} numbers"
            found = f"d_model={self.d_model}, {longest} tokens"
            way_out = f"Try {MAX_NUMBERS // longest} columns or fewer, or a shorter length."
            raise SettingError(broken_rule("d_model", rule, found, way_out))

    def _check_numbers(self) -> None:
        rules = (
            ("d_model", 1 <= self.d_model <= MAX_D_MODEL, f"must be from 1 to {MAX_D_MODEL}", 64),
            ("d_value", self.value_columns >= 1, "must be 1 or more", self.d_head),
            ("seed", self.seed >= 0, "must be 0 or more", 0),
            ("sharpness", isfinite(self.sharpness), "must be a finite number", 1),
            ("softcap", isfinite(self.softcap) and self.softcap >= 0, "must be 0 (none) or more", 0),
            ("dropout", 0 <= self.dropout < 1, "must be from 0 to less than 1", 0.1),
        )
        for name, fits, rule, way_out in rules:
            if not fits:
                raise SettingError(broken_rule(name, rule, f"{name}={getattr(self, name)}", f"Try {way_out}."))

    def _check_names(self) -> None:
        for spec in self.masks:
            MASKS.check(spec)
        POSITIONS.check(self.position)
        for name, value, known in (("content", self.content, CONTENTS), ("projections", self.projections, PROJECTIONS)):
            if value not in known:
                raise SettingError(broken_rule(name, f"must be {listed(known)}", f"{name}={value}", f"Try {known[0]}."))

    @property
    def n_q(self) -> int:
        """Number of queries."""
        return len(self.tokens)

    @property
    def n_k(self) -> int:
        """Number of keys."""
        return len(self.tokens if self.key_tokens is None else self.key_tokens)

    @property
    def n_weights(self) -> int:
        """Number of weights of all heads."""
        return self.n_heads * self.n_q * self.n_k

    @property
    def d_head(self) -> int:
        """Columns of each head's query and key."""
        return self.d_model // self.n_heads

    @property
    def value_columns(self) -> int:
        """Columns of each head's value."""
        return self.d_head if self.d_value is None else self.d_value

    @property
    def kv_heads(self) -> int:
        """Number of key/value heads."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def scale(self) -> float:
        """What query times key is multiplied by."""
        return self.sharpness / (sqrt(self.d_head) if self.is_scaled else 1.0)
