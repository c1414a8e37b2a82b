"""Array types: the only list of axis names.

`head` counts query heads and `kv_head` key and value heads; `q` is a query (a row), `k` a key (a column).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

Tokens: TypeAlias = tuple[str, ...]

QIndex: TypeAlias = Int[np.ndarray, "q 1"]
KIndex: TypeAlias = Int[np.ndarray, "1 k"]
HeadIndex: TypeAlias = Int[np.ndarray, "head 1 1"]
Mask: TypeAlias = Bool[np.ndarray, "q k"]
HeadMask: TypeAlias = Bool[np.ndarray, "#head q k"]

Embedded: TypeAlias = Float[np.ndarray, "token d_model"]
QueryInput: TypeAlias = Float[np.ndarray, "q d_model"]
KeyInput: TypeAlias = Float[np.ndarray, "k d_model"]
Queries: TypeAlias = Float[np.ndarray, "head q d_head"]
Keys: TypeAlias = Float[np.ndarray, "kv_head k d_head"]
Values: TypeAlias = Float[np.ndarray, "kv_head k d_value"]
Scores: TypeAlias = Float[np.ndarray, "head q k"]
Bias: TypeAlias = Float[np.ndarray, "#head #q #k"]
Weights: TypeAlias = Float[np.ndarray, "head q k"]
MapPart: TypeAlias = Float[np.ndarray, "row column"]
MaskRow: TypeAlias = Bool[np.ndarray, " k"]
Counts: TypeAlias = Int[np.ndarray, " q"]
HasKeys: TypeAlias = Bool[np.ndarray, " q"]
Context: TypeAlias = Float[np.ndarray, "head q d_value"]
Output: TypeAlias = Float[np.ndarray, "q d_out"]

Matrix: TypeAlias = Float[np.ndarray, "row column"]
PerHead: TypeAlias = Float[np.ndarray, " head"]
PerKey: TypeAlias = Float[np.ndarray, " k"]
PerQuery: TypeAlias = Float[np.ndarray, "head q"]
UniformPerQuery: TypeAlias = Float[np.ndarray, "#head q"]
HeadPairs: TypeAlias = Float[np.ndarray, "head head"]
PositionIds: TypeAlias = Int[np.ndarray, " token"]
QPositions: TypeAlias = Int[np.ndarray, " q"]
KPositions: TypeAlias = Int[np.ndarray, " k"]
Frequencies: TypeAlias = Float[np.ndarray, " pair"]
Waves: TypeAlias = Float[np.ndarray, "token pair"]
BiasTable: TypeAlias = Float[np.ndarray, "row head"]
