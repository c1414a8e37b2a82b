"""Any mask as a program of its own: NumPy, PyTorch's attention, FlexAttention.

A program is made of the registered functions' own source, without what only this package needs (decorators, types), so
that a newly registered mask can be exported as it is.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from attnviz.masks.combine import ALLOW_ALL, indices_of
from attnviz.masks.drawing import decode_drawing, drawn
from attnviz.masks.reading import read_rule
from attnviz.masks.rule import divided, remainder, rule, written
from attnviz.registries import MASKS
from attnviz.registry import Spec

RULE = '''
def rule(q, k, h):
    """{rule}, with q counted among the n keys."""
    n = k.shape[1]
    allowed = {expression}
    return np.logical_and(allowed, np.ones((q.shape[0], n), dtype=bool))
'''

DRAWN = '''
DRAWING = """
{rows}
"""


def drawn(q, k):
    """True where the drawing has a #; outside of it nothing is allowed."""
    cells = np.array([[cell == "#" for cell in row] for row in DRAWING.split()])
    side = len(cells)
    inside = (q >= 0) & (q < side) & (k < side)
    return inside & cells[np.clip(q, 0, side - 1), np.minimum(k, side - 1)]
'''

NUMPY = '''"""{title}

mask: broadcasts to (head, q, k); True = may attend, the opposite of nn.MultiheadAttention.
"""

import numpy as np
{imports}{functions}
n_q, n_k, n_heads = {n_q}, {n_k}, {n_heads}
q = np.arange(n_k - n_q, n_k)[:, None]
k = np.arange(n_k)[None, :]
h = np.arange(n_heads)[:, None, None]
mask = np.ones((n_q, n_k), dtype=bool)
{calls}
'''

SDPA_IMPORTS = """import torch
import torch.nn.functional as F
"""

SDPA = '''
allowed = torch.from_numpy(mask)


def attention(query, key, value):
    """Arrays (batch, head, token, d_head); a query that may attend to no key gets 0."""
    return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)
'''

FLEX_IMPORTS = """import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
"""

FLEX = '''
allowed = torch.from_numpy(np.broadcast_to(mask, (n_heads, n_q, n_k)).copy())


def mask_mod(b, h, q_idx, kv_idx):
    return allowed[h, q_idx, kv_idx]


def attention(query, key, value):
    """Arrays (batch, head, token, d_head); on a GPU, move `allowed` there and compile flex_attention."""
    device = query.device.type
    block_mask = create_block_mask(mask_mod, B=None, H=n_heads, Q_LEN=n_q, KV_LEN=n_k, device=device)
    return flex_attention(query, key, value, block_mask=block_mask)
'''


def numpy_code(specs: Iterable[Spec], n_q: int, n_k: int, *, n_heads: int = 1) -> str:
    """A NumPy program that leaves these masks' combination in `mask`.

    Parameters
    ----------
    specs
        The masks; a pair must be allowed by each.
    n_q, n_k, n_heads
        Sizes, which stand in the program as plain numbers.

    Returns
    -------
    str
        The program; its `mask` has the values of `build_mask`, `(q, k)` where no function asks for the head.

    Raises
    ------
    UnknownNameError, SettingError
        If a spec names no registered mask or breaks a parameter's rule.

    Examples
    --------
    >>> numpy_code([MASKS["causal"].spec()], 4, 4).splitlines()[-1]
    "mask = mask & causal(q, k, n_q, align='bottom-right')"
    """
    return _program(specs, n_q, n_k, n_heads)


def sdpa_code(specs: Iterable[Spec], n_q: int, n_k: int, *, n_heads: int = 1) -> str:
    """A program that passes the mask to `torch.nn.functional.scaled_dot_product_attention`.

    Raises
    ------
    UnknownNameError, SettingError
        If a spec names no registered mask or breaks a parameter's rule.
    """
    return _program(specs, n_q, n_k, n_heads, SDPA_IMPORTS) + SDPA


def flex_attention_code(specs: Iterable[Spec], n_q: int, n_k: int, *, n_heads: int = 1) -> str:
    """A program that passes the mask to PyTorch's FlexAttention as a `mask_mod`.

    Raises
    ------
    UnknownNameError, SettingError
        If a spec names no registered mask or breaks a parameter's rule.
    """
    return _program(specs, n_q, n_k, n_heads, FLEX_IMPORTS) + FLEX


def _program(specs: Iterable[Spec], n_q: int, n_k: int, n_heads: int, imports: str = "") -> str:
    chosen = [MASKS.check(spec) for spec in specs if spec.name not in ALLOW_ALL]
    functions: dict[str, str] = {}
    calls: list[str] = []
    for place, spec in enumerate(chosen):
        twice = any(spec.name == other.name and spec != other for other in chosen)
        name = f"{spec.name}_{place}" if twice and spec.name in WRITERS else spec.name
        for part, source in _functions_of(spec):
            functions[name if part == spec.name else part] = source.replace(f"def {spec.name}(", f"def {name}(")
        calls.append(f"mask = mask & {_call(spec, name)}")
    labels = " and ".join(MASKS[spec.name].label for spec in chosen) or MASKS["full"].label
    text = NUMPY.format(
        title=f"Attention mask: {labels}.",
        imports=imports,
        functions="".join(f"\n\n{source.strip()}\n" for source in functions.values()) + "\n" * bool(functions),
        n_q=n_q,
        n_k=n_k,
        n_heads=n_heads,
        calls="\n".join(calls),
    )
    return f"{text.rstrip()}\n"


def _rule_functions(spec: Spec) -> Iterator[tuple[str, str]]:
    expression = written(read_rule(str(spec["rule"])))
    for part in (divided, remainder):
        if f"{part.__name__}(" in expression:
            yield from _with_parts(part)
    yield "rule", RULE.format(rule=" ".join(str(spec["rule"]).split()), expression=expression)


def _drawn_functions(spec: Spec) -> Iterator[tuple[str, str]]:
    rows = np.where(decode_drawing(str(spec["drawing"])), "#", ".")
    yield "drawn", DRAWN.format(rows="\n".join("".join(row) for row in rows.tolist()))


WRITERS: dict[str, Callable[[Spec], Iterator[tuple[str, str]]]] = {
    rule.__name__: _rule_functions,
    drawn.__name__: _drawn_functions,
}


def _functions_of(spec: Spec) -> Iterator[tuple[str, str]]:
    """Names and sources of a mask's function and of all that it needs, what is needed first."""
    writer = WRITERS.get(spec.name)
    return writer(spec) if writer else _with_parts(MASKS[spec.name].function)


def _call(spec: Spec, name: str) -> str:
    indices = ", ".join(("q", "k", *indices_of(MASKS[spec.name].function)))
    params = "" if spec.name in WRITERS else "".join(f", {param}={value!r}" for param, value in spec.params)
    return f"{name}({indices}{params})"


def _with_parts(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    plain = inspect.unwrap(function)
    source = textwrap.dedent(inspect.getsource(plain))
    tree = ast.parse(source).body[0]
    assert isinstance(tree, ast.FunctionDef)
    own = {tree.name, *plain.__code__.co_varnames}
    head, body = _stripped(tree, source)
    for name in dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)):
        part = None if name in own else plain.__globals__.get(name)
        if inspect.isfunction(part):
            yield from _with_parts(part)
        elif isinstance(part, int | float | str | tuple):
            yield name, f"{name} = {part!r}"
    yield tree.name, f"{head}\n{body}"


def _stripped(tree: ast.FunctionDef, source: str) -> tuple[str, str]:
    """A function's head without decorators and types, with one sentence on it, and its body as it is written."""
    tree.decorator_list, tree.returns = [], None
    for argument in (*tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    said = ast.get_docstring(tree)
    first = tree.body[0] if said is None else tree.body[1]
    body = "\n".join(source.splitlines()[first.lineno - 1 : tree.end_lineno])
    summary: list[ast.stmt] = [] if said is None else [ast.Expr(ast.Constant(" ".join(said.split("\n\n")[0].split())))]
    head = ast.FunctionDef(tree.name, tree.args, summary, [])
    return ast.unparse(ast.fix_missing_locations(head)), body
