"""A mask that a person draws, and the short text that it travels in."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable

import numpy as np

from attnviz.errors import SettingError, broken_rule, listed
from attnviz.masks.combine import build_mask
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Spec, Text
from attnviz.shapes import KIndex, Mask, QIndex

LARGEST_SIDE = 64
LONGEST_DRAWING = 700
LINES = ("cell", "row", "column", "diagonal", "band")
TRIANGLE = "11-gBgDgHgPgfg_h_j_n_v_gA"
EXAMPLES = ("1-gA", "3-m4A", "20zeNo7wMDHwFDAwNzAIMPA8ICBnYHBgoHxAD5BAMVgBzw", "64zeNpjYBgFIxkAAAIAAAE")
FORM = re.compile(r"([1-9][0-9]?)([-z])([A-Za-z0-9_-]*)")


def encode_drawing(mask: Mask) -> str:
    """A square mask as text: its side, then its cells as packed bits in base64, compressed where that is shorter.

    Raises
    ------
    SettingError
        If it is not square, or has more than 64 rows.

    Examples
    --------
    >>> encode_drawing(np.tri(3, dtype=bool))
    '3-m4A'
    """
    n_q, n_k = mask.shape
    if n_q != n_k or not 1 <= n_q <= LARGEST_SIDE:
        rule = f"must have as many queries as keys, from 1 to {LARGEST_SIDE}"
        raise SettingError(broken_rule("drawing", rule, f"{n_q} by {n_k}", f"Draw on {LARGEST_SIDE} tokens or fewer."))
    bits = np.packbits(mask).tobytes()
    short = zlib.compress(bits, 9)
    mark, payload = ("z", short) if len(short) < len(bits) else ("-", bits)
    return f"{n_q}{mark}{base64.urlsafe_b64encode(payload).decode().rstrip('=')}"


def decode_drawing(text: str) -> Mask:
    """The mask that a drawing's text stands for, `(side, side)`.

    Raises
    ------
    SettingError
        If the text is not a drawing.

    Examples
    --------
    >>> decode_drawing("3-m4A").astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    form = FORM.fullmatch(text)
    if form is None:
        raise _refused(text, "that starts with its side, then - or z")
    side = int(form[1])
    if side > LARGEST_SIDE:
        raise _refused(text, f"of at most {LARGEST_SIDE} rows")
    n_bytes = (side * side + 7) // 8
    try:
        payload = base64.urlsafe_b64decode(form[3] + "=" * (-len(form[3]) % 4))
        bits = _unpacked(payload, n_bytes) if form[2] == "z" else payload
    except (binascii.Error, zlib.error):
        raise _refused(text, "with all its letters") from None
    if len(bits) != n_bytes:
        raise _refused(text, f"with all its letters: {n_bytes} bytes for {side} rows")
    cells = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=side * side)
    return cells.reshape(side, side).astype(bool)


def _unpacked(payload: bytes, n_bytes: int) -> bytes:
    """At most one byte more than there should be, however much a hostile text holds."""
    stream = zlib.decompressobj()
    return stream.decompress(payload, n_bytes + 1)


def _refused(text: str, rule: str) -> SettingError:
    found = f'"{text[:20]}{"…" if len(text) > 20 else ""}"' if text else "nothing"
    return SettingError(broken_rule("drawing", f"must be a drawing {rule}", found, f"Try {TRIANGLE}."))


def drawing_of(specs: Iterable[Spec], n: int) -> str:
    """The drawing that begins as these masks over `n` tokens, for someone who wants to draw on.

    Raises
    ------
    SettingError, UnknownNameError
        If there are more than 64 tokens, or a mask breaks its rule.
    """
    return encode_drawing(build_mask(specs, n, n))


def toggled(mask: Mask, kind: str, row: int, column: int) -> Mask:
    """The mask with one cell switched, and the whole line through it set to what that cell is now.

    Parameters
    ----------
    mask
        What is drawn so far.
    kind
        `cell`; `row` or `column`; `diagonal`, all pairs as far apart on the same side; `band`, all pairs from the
        main diagonal to that one.
    row, column
        The cell that was clicked.

    Raises
    ------
    SettingError
        If the kind is none of these or there is no such cell.

    Examples
    --------
    >>> toggled(np.zeros((3, 3), dtype=bool), "band", 2, 1).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]])
    """
    n_q, n_k = mask.shape
    if kind not in LINES:
        raise SettingError(broken_rule("kind", f"must be {listed(LINES)}", f"kind={kind}", "Try cell."))
    if not (0 <= row < n_q and 0 <= column < n_k):
        rule = f"must be a cell of {n_q} rows and {n_k} columns"
        raise SettingError(broken_rule("cell", rule, f"row={row}, column={column}", "Try row=0, column=0."))
    q, k = np.arange(n_q)[:, None], np.arange(n_k)[None, :]
    apart, clicked = k - q, column - row
    lines = {
        "cell": (q == row) & (k == column),
        "row": (q == row) & (k >= 0),
        "column": (q >= 0) & (k == column),
        "diagonal": apart == clicked,
        "band": (apart >= min(clicked, 0)) & (apart <= max(clicked, 0)),
    }
    return np.where(lines[kind], ~mask[row, column], mask)


@MASKS.register(label="Drawn", group="Structure", source="Vaswani et al. 2017, section 3.2.3")
def drawn(
    q: QIndex,
    k: KIndex,
    *,
    drawing: Annotated[str, Text(LONGEST_DRAWING, decode_drawing, EXAMPLES)] = TRIANGLE,
) -> Mask:
    """A query may attend to the keys whose cells are filled in your drawing.

    Parameters
    ----------
    drawing
        The drawing as a short text, with its side first; pairs outside of the drawing are forbidden, and a shorter text
        uses its upper left corner.

    Notes
    -----
    With fewer queries than keys a query's row is counted among the keys, q + n_k - n_q.
    """
    cells = decode_drawing(drawing)
    side = len(cells)
    inside = (q >= 0) & (q < side) & (k < side)
    return inside & cells[np.clip(q, 0, side - 1), np.minimum(k, side - 1)]
