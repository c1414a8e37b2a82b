"""What a page sends to the browser, read back in Python as the browser reads it."""

from __future__ import annotations

import json
import re
import struct
from html import unescape
from typing import Any, NamedTuple

import numpy as np
from streamlit.testing.v1 import AppTest

TYPES = {
    "u1": np.uint8,
    "i1": np.int8,
    "i2": np.int16,
    "u2": np.uint16,
    "i4": np.int32,
    "f4": np.float32,
    "f8": np.float64,
}
MISSING = 255


class Sent(NamedTuple):
    """A header and the figure in it, arrays put back in their places."""

    header: dict[str, Any]
    figure: dict[str, Any]

    def trace(self, place: int = 0) -> dict[str, Any]:
        return self.figure["data"][place]


def decoded(block: bytes) -> Sent:
    """Length of the header (four bytes, little-endian), the header, the arrays."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length].decode("utf-8"))
    return Sent(header, _revived(header["figure"], block[4 + length :]))


def _revived(value: Any, body: bytes) -> Any:
    if isinstance(value, dict):
        if "$array" in value:
            return _array(value["$array"], body)
        return {key: _revived(item, body) for key, item in value.items()}
    if isinstance(value, list):
        return [_revived(item, body) for item in value]
    return value


def _array(packed: dict[str, Any], body: bytes) -> np.ndarray:
    assert packed["at"] % 8 == 0, "a typed array of the browser starts at a multiple of its item's size"
    shape = packed["shape"]
    flat = np.frombuffer(body, f"<{packed['type']}", int(np.prod(shape)), packed["at"]).reshape(shape)
    if "low" not in packed:
        return flat
    low, high = packed["low"], packed["high"]
    return np.where(flat == MISSING, np.nan, low + (high - low) * flat.astype(np.float64) / (MISSING - 1))


def pictures(app: AppTest) -> dict[str, Sent]:
    """Every live figure of the page, by its name."""
    sent = [decoded(element.proto.bytes) for element in app.get("bidi_component")]
    return {one.header["name"]: one for one in sent}


def table_rows(app: AppTest) -> list[list[str]]:
    """Headings and rows of the page's table, as the reader sees them."""
    (body,) = [element.proto.body for element in app.main.get("html") if "<table" in element.proto.body]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    return [[unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def sentences(app: AppTest) -> str:
    """Everything that is said in the page's own column, as the reader sees it."""
    return unescape("\n".join(element.value for element in app.main.markdown))
