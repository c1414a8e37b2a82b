"""One attention setting, checked when it is made and usable as a cache key."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from attnviz.errors import SettingError, broken_rule, listed
from attnviz.registries import MASKS, POSITIONS
from attnviz.registry import Spec
from attnviz.shapes import Tokens

MAX_WEIGHTS = 16 * 2048 * 2048
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


@dataclass(frozen=True)
class AttentionConfig:
    """A setting of one attention layer.

    Attributes
    ----------
    tokens
        What stands at each place; queries and keys are the same tokens.
    content
        `words`: a word has the same vector everywhere. `vectors`: each place draws its own from the seed.
    d_model, n_heads
        Width, and the number of heads it is divided over.
    masks
        Every mask must allow a pair for it to be attended.
    position
        How places are told apart.
    projections
        `designed`: W_Q and W_K built so that heads do recognisable work. `random`: drawn from the seed.
    sharpness
        Multiplies the scores; 1 is plain attention, 0 makes every row uniform.
    seed
        Where all random numbers start.

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

    def __post_init__(self) -> None:
        if not self.tokens:
            raise SettingError(broken_rule("tokens", "must hold at least one token", "none", "Type a word."))
        if not 1 <= self.d_model <= MAX_D_MODEL:
            raise SettingError(
                broken_rule("d_model", f"must be from 1 to {MAX_D_MODEL}", f"d_model={self.d_model}", "Try 64.")
            )
        check_heads(self.n_heads, self.d_model)
        self._check_size()
        self._check_numbers()
        self._check_names()

    def _check_size(self) -> None:
        n_weights = self.n_heads * self.n_tokens**2
        if n_weights > MAX_WEIGHTS:
            fitting = [n for n in divisors(self.d_model) if n * self.n_tokens**2 <= MAX_WEIGHTS]
            fewer = f"{max(fitting)} heads or fewer, or " if fitting else ""
            raise SettingError(
                broken_rule(
                    "n_heads",
                    f"times the square of the length must be at most {MAX_WEIGHTS:,} weights",
                    f"n_heads={self.n_heads}, n_tokens={self.n_tokens}",
                    f"Try {fewer}a shorter length.",
                )
            )

    def _check_numbers(self) -> None:
        if self.seed < 0:
            raise SettingError(broken_rule("seed", "must be 0 or more", f"seed={self.seed}", "Try 0."))
        if not isfinite(self.sharpness):
            raise SettingError(
                broken_rule("sharpness", "must be a finite number", f"sharpness={self.sharpness}", "Try 1.")
            )

    def _check_names(self) -> None:
        for spec in self.masks:
            MASKS.check(spec)
        POSITIONS.check(self.position)
        for name, value, known in (("content", self.content, CONTENTS), ("projections", self.projections, PROJECTIONS)):
            if value not in known:
                raise SettingError(broken_rule(name, f"must be {listed(known)}", f"{name}={value}", f"Try {known[0]}."))

    @property
    def n_tokens(self) -> int:
        """Length of the input."""
        return len(self.tokens)

    @property
    def d_head(self) -> int:
        """Columns of each head."""
        return self.d_model // self.n_heads
