"""What several views of the heads share."""

from __future__ import annotations

from attnviz.ui.layer import Layer


def height(layer: Layer) -> int:
    """Height in pixels of a picture with a line for each head."""
    return max(420, 24 * layer.trace.n_heads)
