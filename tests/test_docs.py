"""What the documents show works as shown."""

import re
from pathlib import Path

import numpy as np

from attnviz.masks import build_mask
from attnviz.registries import MASKS
from attnviz.registry import Annotated, Range
from attnviz.shapes import KIndex, Mask, QIndex

ROOT = Path(__file__).resolve().parents[1]


def test_the_mask_of_the_contributing_guide_is_a_mask_once_its_block_has_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    names = {
        "MASKS": MASKS,
        "QIndex": QIndex,
        "KIndex": KIndex,
        "Mask": Mask,
        "Annotated": Annotated,
        "Range": Range,
        "np": np,
    }
    exec(blocks[0], names)
    try:
        allowed = build_mask([MASKS["stepping_window"].spec(window=2, dilation=2)], 4, 4)
        assert allowed.astype(int).tolist() == [[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
        assert (
            MASKS["stepping_window"].summary == "A query may attend to every `dilation`-th key of a window around it."
        )
        assert [param.summary for param in MASKS["stepping_window"].params] == [
            "How many keys it sees to each side, its own place counted.",
            "Steps from one key that it sees to the next.",
        ]
    finally:
        MASKS.unregister("stepping_window")


def test_every_file_that_the_documents_point_to_is_there() -> None:
    for document in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)#]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
        for target in (left or right for left, right in targets):
            if "://" not in target:
                assert ((ROOT / document).parent / target).exists(), target
