"""What several views of the heads share."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.figures.head_names import head_name
from attnviz.picks import HeadAt
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


def with_head_names(frame: pd.DataFrame, n_layers: int) -> pd.DataFrame:
    """A table with heads as they are called everywhere: 5.11 is head 11 of layer 5."""
    names = [head_name(HeadAt(*at), n_layers) for at in zip(frame["layer"], frame["head"], strict=True)]
    return frame.assign(head=names)
