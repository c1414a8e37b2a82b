"""What several views of the heads share."""

from __future__ import annotations

import streamlit as st

from attnviz.ui.layer import Layer, Shown

SCOPES = {"layer": "This layer", "all": "All layers"}
TALLEST = 1600


def height(layer: Layer) -> int:
    """Height in pixels of a picture with a line for each head."""
    return min(max(420, 24 * layer.trace.n_heads), TALLEST)


def scope_picker(shown: Shown) -> bool:
    """The control for one layer or all of them; gives whether there are several."""
    if shown.count > 1:
        st.segmented_control("Layers", list(SCOPES), key="scope", format_func=SCOPES.__getitem__, required=True)
    return shown.count > 1
