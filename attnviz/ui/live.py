"""The live figure: a Streamlit component that keeps a Plotly plot mounted while its data change.

What is sent is one block of bytes: the length of a JSON header (four bytes, little-endian), the header, then the arrays
that the header refers to. plotly.js is the one of the installed plotly package, served by this server.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
import plotly
import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseTraceType
from streamlit.components.v1 import declare_component
from streamlit.components.v2 import component

from attnviz.figures.theme import DARK_FOR_LIGHT

MOST_EXACT = 1 << 17
MISSING = 255
ASSETS = Path(__file__).parent / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data"


@dataclass(frozen=True)
class Words:
    """What is said around a picture: its question, the answer, how to read it, and what is seen."""

    title: str
    answer: str
    caption: str
    alt: str


@dataclass
class _Blob:
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def add(self, array: np.ndarray) -> int:
        at = self.size
        raw = np.ascontiguousarray(array).tobytes()
        raw += b"\0" * (-len(raw) % 8)
        self.parts.append(raw)
        self.size += len(raw)
        return at


def encoded(figure: go.Figure, name: str, words: Words) -> bytes:
    """A figure and its words as the component takes them.

    Notes
    -----
    Heatmaps of more than 131,072 cells are sent as 254 levels between their `zmin` and `zmax`, NaN as 255.
    """
    blob = _Blob()
    drawn = cast("tuple[BaseTraceType, ...]", figure.data)
    specs = [trace.to_plotly_json() for trace in drawn]
    levels = [_levels(spec) for spec in specs]
    traces = [_with_arrays(spec, blob, steps) for spec, steps in zip(specs, levels, strict=True)]
    header = {
        "name": name,
        "title": words.title,
        "answer": words.answer,
        "caption": words.caption,
        "alt": words.alt,
        "dark": DARK_FOR_LIGHT,
        "quantised": any(levels),
        "figure": {"data": traces, "layout": _with_arrays(figure.layout.to_plotly_json(), blob, None)},
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    return struct.pack("<I", len(text)) + text + b"".join(blob.parts)


def _levels(trace: dict[str, Any]) -> tuple[float, float] | None:
    if trace["type"] != "heatmap" or trace["z"].size <= MOST_EXACT:
        return None
    return float(trace["zmin"]), float(trace["zmax"])


def _with_arrays(value: Any, blob: _Blob, levels: tuple[float, float] | None) -> Any:
    if isinstance(value, dict):
        return {key: _with_arrays(item, blob, None if key == "customdata" else levels) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _packed(value, blob, levels)
    if isinstance(value, list | tuple):
        return [_with_arrays(item, blob, levels) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _packed(array: np.ndarray, blob: _Blob, levels: tuple[float, float] | None) -> dict[str, object]:
    if array.dtype == np.int64:
        array = array.astype(np.int32)
    packed: dict[str, object] = {"type": array.dtype.str[1:], "shape": array.shape}
    if levels and array.ndim == 2:
        low, high = levels
        share = (np.nan_to_num(array, nan=low) - low) / ((high - low) or 1.0)
        step = np.clip(np.rint(share * (MISSING - 1)), 0, MISSING - 1).astype(np.uint8)
        array = np.where(np.isnan(array), np.uint8(MISSING), step)
        packed |= {"type": "u1", "low": low, "high": high}
    return {"$array": {"at": blob.add(array), **packed}}


def _register() -> Callable[..., Any]:
    assets = declare_component("figure", path=ASSETS).name
    library = declare_component("plotly", path=PLOTLY).name
    loader = (ASSETS / "loader.js").read_text(encoding="utf-8")
    loader = loader.replace("{{ASSETS}}", f"component/{assets}")
    loader = loader.replace("{{PLOTLY}}", f"component/{library}/plotly.min.js?v={version('plotly')}")
    return component("attnviz_figure", js=loader, isolate_styles=False)


def is_available() -> bool:
    """Whether the component can be served: the plotly package brings its plotly.js along."""
    return (PLOTLY / "plotly.min.js").is_file()


def draw(figure: go.Figure, *, key: str, words: Words, on_click: Callable[[], None] | None) -> bool:
    """Show a figure; gives whether the browser could draw it."""
    result = _registered()(
        key=key,
        data=encoded(figure, key, words),
        on_click_change=on_click or _nothing,
        on_window_change=_nothing,
        on_failed_change=_nothing,
        on_fit_change=_nothing,
    )
    return not result.failed


def _nothing() -> None:
    return None


@st.cache_resource(show_spinner=False)
def _registered() -> Callable[..., Any]:
    return _register()
