"""Any mask as a program: what the NumPy program computes, and that it needs nothing of this package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import SettingError, UnknownNameError
from attnviz.masks import build_mask, encode_drawing, flex_attention_code, numpy_code, sdpa_code
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Range, Spec
from attnviz.shapes import KIndex, Mask, QIndex
from tests.strategies import lengths, mask_specs, seeds, specs

FIRST = 2


def run(code: str) -> dict[str, Any]:
    """What is left after running a program in an empty namespace."""
    left: dict[str, Any] = {}
    exec(compile(code, "exported", "exec"), left)
    return left


def assert_exported(masks: tuple[Spec, ...], n_q: int, n_k: int, n_heads: int) -> None:
    mask = run(numpy_code(masks, n_q, n_k, n_heads=n_heads))["mask"]

    assert mask.dtype == np.bool_
    shape = (n_heads, n_q, n_k)
    right = build_mask(masks, n_q, n_k, n_heads=n_heads)
    np.testing.assert_array_equal(np.broadcast_to(mask, shape), np.broadcast_to(right, shape))


@pytest.mark.parametrize("name", MASKS.names())
@given(data=st.data(), n_q=lengths, n_k=lengths, n_heads=st.integers(1, 4))
def test_the_program_of_a_mask_computes_the_mask(
    name: str, data: st.DataObject, n_q: int, n_k: int, n_heads: int
) -> None:
    assert_exported((data.draw(specs(MASKS[name])),), n_q, n_k, n_heads)


@given(mask_specs(), lengths, lengths, st.integers(1, 4))
def test_the_program_of_several_masks_computes_what_they_allow_together(
    masks, n_q: int, n_k: int, n_heads: int
) -> None:
    assert_exported(masks, n_q, n_k, n_heads)


@given(seeds, st.integers(1, 64))
def test_the_program_of_a_drawing_shows_it(seed: int, side: int) -> None:
    mask = np.random.default_rng(seed).random((side, side)) < 0.5
    spec = MASKS["drawn"].spec(drawing=encode_drawing(mask))

    assert "\n".join("".join(".#"[cell] for cell in row) for row in mask.astype(int).tolist()) in numpy_code(
        [spec], side, side
    )
    assert_exported((spec,), side, side, 1)


def test_the_same_mask_twice_with_other_settings_is_exported_twice() -> None:
    rules = (MASKS["rule"].spec(rule="k <= q"), MASKS["rule"].spec(rule="q - k != 1"))
    windows = (MASKS["sliding_window"].spec(window=5), MASKS["dilated_window"].spec(), MASKS["dilated_window"].spec())

    assert_exported((*rules, *windows), 9, 9, 2)
    assert numpy_code(windows, 9, 9).count("def dilated_window") == 1


def test_the_sizes_of_a_program_can_be_changed_afterwards() -> None:
    specs = (MASKS["causal"].spec(), MASKS["strided"].spec(heads="alternating"))
    code = numpy_code(specs, 4, 4, n_heads=2).replace("n_q, n_k, n_heads = 4, 4, 2", "n_q, n_k, n_heads = 6, 9, 3")

    np.testing.assert_array_equal(run(code)["mask"], build_mask(specs, 6, 9, n_heads=3))


@pytest.mark.parametrize("name", MASKS.names())
@pytest.mark.parametrize("write", [numpy_code, sdpa_code, flex_attention_code])
def test_a_program_needs_nothing_of_this_package_and_has_no_types_or_decorators(write: Any, name: str) -> None:
    code = write([MASKS[name].spec()], 11, 11, n_heads=2)

    tree = ast.parse(code)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"numpy", "torch", "torch.nn.functional", "torch.nn.attention.flex_attention"}
    assert "attnviz" not in code
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert node.decorator_list == []
            assert node.returns is None
            assert [a.annotation for a in (*node.args.args, *node.args.kwonlyargs) if a.annotation] == []
            assert ast.get_docstring(node) or node.name == "mask_mod"
    assert "True = may attend" in code
    assert max(map(len, code.splitlines())) <= 130


def test_the_program_of_a_causal_mask_is_one_that_a_reader_understands() -> None:
    assert numpy_code([MASKS["causal"].spec(), MASKS["dense"].spec(), MASKS["no_padding"].spec()], 4, 6) == (
        '"""Attention mask: Causal.\n\n'
        "mask: broadcasts to (head, q, k); True = may attend, the opposite of nn.MultiheadAttention.\n"
        '"""\n\n'
        "import numpy as np\n\n\n"
        "def causal(q, k, n_q, *, align='bottom-right'):\n"
        '    """A query may attend to itself and to the keys before it, as in a decoder."""\n'
        '    first = k.shape[1] - n_q if align == "top-left" else 0\n'
        "    return k <= q - first\n\n\n"
        "n_q, n_k, n_heads = 4, 6, 1\n"
        "q = np.arange(n_k - n_q, n_k)[:, None]\n"
        "k = np.arange(n_k)[None, :]\n"
        "h = np.arange(n_heads)[:, None, None]\n"
        "mask = np.ones((n_q, n_k), dtype=bool)\n"
        "mask = mask & causal(q, k, n_q, align='bottom-right')\n"
    )


def test_without_a_mask_everything_is_allowed() -> None:
    assert run(numpy_code([], 2, 3))["mask"].tolist() == [[True] * 3] * 2


@pytest.fixture
def beginning() -> Iterator[Spec]:
    """A mask that only this test knows, with a constant and a function of its own."""

    @MASKS.register(label="The beginning", group="Sparsity", source="Nobody 2020")
    def the_beginning(q: QIndex, k: KIndex, *, more: Annotated[int, Range(0, 9)] = 1) -> Mask:
        """A query may attend to the first keys."""
        return np.broadcast_to(is_early(k, FIRST + more), (q.shape[0], k.shape[1])).copy()

    yield MASKS["the_beginning"].spec(more=2)
    MASKS.unregister("the_beginning")


def is_early(k: np.ndarray, last: int) -> np.ndarray:
    return k < last


def test_a_newly_registered_mask_is_exported_with_all_that_it_uses(beginning: Spec) -> None:
    code = numpy_code([beginning], 3, 6)

    assert "FIRST = 2\n" in code
    assert "def is_early(k, last):\n    return k < last\n" in code
    assert run(code)["mask"].tolist() == [[True, True, True, True, False, False]] * 3
    assert_exported((beginning, MASKS["bigbird"].spec()), 5, 8, 3)


def test_an_unknown_mask_and_a_bad_parameter_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean causal"):
        numpy_code([Spec("casual")], 2, 2)
    with pytest.raises(SettingError, match="`rule` must be true or false"):
        sdpa_code([Spec("rule", (("rule", "exit()"),))], 2, 2)
