"""A setting is checked when it is made and can be a cache key."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz import AttentionConfig
from attnviz.core.config import divisors
from attnviz.errors import AttnvizError, SettingError, UnknownNameError
from attnviz.registry import Spec
from tests.strategies import configs

PLAIN: dict[str, Any] = {"tokens": ("to", "be")}


def refusal(**changed: Any) -> str:
    with pytest.raises(AttnvizError) as refused:
        AttentionConfig(**PLAIN | changed)
    return str(refused.value)


@given(configs())
def test_equal_settings_are_equal_and_hash_alike(config: AttentionConfig) -> None:
    again = replace(config)

    assert again == config
    assert again is not config
    assert hash(again) == hash(config)
    assert {config: "cached"}[again] == "cached"


@given(configs())
def test_a_setting_that_differs_in_one_field_is_another_key(config: AttentionConfig) -> None:
    assert replace(config, seed=config.seed + 1) != config
    assert replace(config, tokens=(*config.tokens, "more")) != config
    assert replace(config, masks=()) != config


def test_a_setting_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        AttentionConfig(**PLAIN).seed = 3


def test_heads_that_do_not_divide_the_width_are_refused_with_both_numbers_and_the_counts_that_do() -> None:
    assert refusal(n_heads=3, d_model=32) == (
        "`n_heads` must divide `d_model`; got n_heads=3, d_model=32. Try 1, 2, 4, 8, 16 or 32."
    )


@given(st.integers(1, 64), st.integers(-2, 80))
def test_exactly_the_divisors_of_the_width_are_allowed_numbers_of_heads(d_model: int, n_heads: int) -> None:
    if n_heads in divisors(d_model):
        assert AttentionConfig(**PLAIN, d_model=d_model, n_heads=n_heads).d_head * n_heads == d_model
    else:
        message = refusal(d_model=d_model, n_heads=n_heads)
        assert f"n_heads={n_heads}, d_model={d_model}" in message
        assert all(str(divisor) in message for divisor in divisors(d_model))


@pytest.mark.parametrize("d_model", [0, -8, 2049])
def test_a_width_outside_its_limits_is_refused(d_model: int) -> None:
    assert refusal(d_model=d_model, n_heads=1) == (f"`d_model` must be from 1 to 2048; got d_model={d_model}. Try 64.")


def test_no_tokens_are_refused_with_a_request_for_text() -> None:
    assert refusal(tokens=()) == "`tokens` must hold at least one token; got none. Type a word."


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        ({"masks": (Spec("casual"),)}, UnknownNameError, "got mask=casual. Did you mean causal?"),
        ({"position": Spec("rotery")}, UnknownNameError, "got position=rotery. Did you mean rotary?"),
        ({"masks": (Spec("sliding_window", (("window", 0),)),)}, SettingError, "got window=0. Try 1."),
        ({"position": Spec("rotary", (("layout", "x"),))}, SettingError, "got layout=x. Try half-split."),
        ({"content": "images"}, SettingError, "`content` must be words or vectors; got content=images. Try words."),
        ({"projections": "odd"}, SettingError, "`projections` must be designed or random; got projections=odd."),
        ({"seed": -1}, SettingError, "`seed` must be 0 or more; got seed=-1. Try 0."),
        ({"sharpness": float("nan")}, SettingError, "`sharpness` must be a finite number; got sharpness=nan. Try 1."),
        ({"sharpness": float("inf")}, SettingError, "`sharpness` must be a finite number; got sharpness=inf. Try 1."),
    ],
)
def test_a_bad_name_or_number_is_refused_in_words(changed: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as refused:
        AttentionConfig(**PLAIN | changed)

    assert message in str(refused.value)


def test_too_many_weights_are_refused_with_the_number_of_heads_that_fits() -> None:
    message = refusal(tokens=("a",) * 30_000, n_heads=16)

    assert message == (
        "`n_heads` times the square of the length must be at most 8,589,934,592 weights; "
        "got n_heads=16, n_tokens=30000. Try 8 heads or fewer, or a shorter length."
    )
    assert AttentionConfig(("a",) * 30_000, n_heads=8).n_heads == 8


def test_a_length_that_fits_no_number_of_heads_is_refused_with_the_length_alone() -> None:
    message = refusal(tokens=("a",) * 92_682, n_heads=1)

    assert message.endswith("got n_heads=1, n_tokens=92682. Try a shorter length.")
    assert AttentionConfig(("a",) * 92_681, n_heads=1).n_q == 92_681


def test_a_width_that_is_too_much_for_the_length_is_refused_with_the_width_that_fits() -> None:
    assert refusal(tokens=("a",) * 32_768, d_model=512, n_heads=8) == (
        "`d_model` times the length must be at most 8,388,608 numbers; got d_model=512, 32768 tokens. "
        "Try 256 columns or fewer, or a shorter length."
    )
    assert AttentionConfig(("a",) * 32_768, d_model=256, n_heads=8).d_model == 256


def test_the_sizes_follow_from_the_setting() -> None:
    config = AttentionConfig(("a", "b", "c"), d_model=48, n_heads=6)

    assert (config.n_q, config.n_k, config.d_head, config.value_columns, config.kv_heads) == (3, 3, 8, 8, 6)


def test_divisors_of_a_number_are_all_that_divide_it() -> None:
    assert [divisors(n) for n in (1, 7, 12, 64)] == [[1], [1, 7], [1, 2, 3, 4, 6, 12], [1, 2, 4, 8, 16, 32, 64]]
