"""The control that the apps with a picture share, and the layer that it asks for."""

import streamlit as st

from attnviz.scenario import Scenario
from attnviz.ui.compute import Layer, shown_layer


def chosen() -> tuple[Scenario, Layer]:
    """Heads, length and seed of the link, with the sharpness of a slider."""
    sharpness = st.slider("Sharpness", 0.0, 8.0, 1.0, step=0.1)
    numbers = {name: int(st.query_params[name]) for name in ("n_heads", "n_tokens", "seed")}
    scenario = Scenario(input="vectors", sharpness=sharpness, **numbers)
    return scenario, shown_layer(scenario).layer
