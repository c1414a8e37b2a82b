"""How alike what heads write is, whatever the directions they write it in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from attnviz.core.rows import Rows
from attnviz.core.trace import AttentionTrace
from attnviz.metrics.alike import Alike, symmetric
from attnviz.metrics.similarity import cosine_of
from attnviz.registries import SIMILARITIES
from attnviz.shapes import Context, HeadPairs, PerHead

MOST_GRAM = 1 << 22
STEPS = 8
"""By how many steps of their precision the same numbers may differ."""
REASON = "writes the same for every query"
Features = Float[np.ndarray, "head sample feature"]


class Written(NamedTuple):
    """What heads take from the values, and which queries have a key."""

    heads: Context
    has_keys: Bool[np.ndarray, "head q"]


@SIMILARITIES.register(
    label="Linear CKA of outputs",
    group="Outputs",
    source="Kornblith et al. 2019, section 3",
    formula="‖X₁ᵀ X₂‖² / (‖X₁ᵀ X₁‖ ‖X₂ᵀ X₂‖), X = weights · value of a head, columns centred over the queries",
)
def linear_cka(layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None = None) -> Alike:
    """Whether two heads tell the same queries apart by what they write: 1 the same up to a rotation, 0 unrelated.

    Notes
    -----
    The queries are the samples; those without a key are left out. Compared is what the heads take from the values, not
    where they look: heads with the same map may carry different things. A head that writes the same for every query
    has no CKA (0 / 0), and is NaN. The baseline is what a head's output has in common, on
    average, with the same output in random order: tr(K)² / ((n − 1) ‖K‖²) for n queries and K = X Xᵀ, because a
    centred matrix in random order is on average its trace / (n − 1) on what is not constant. It is large where queries
    are few.
    """
    heads, has_keys = _written(layers, on_progress)
    heads = heads[:, has_keys.any(axis=0)]
    return Alike(cka(heads), _by_chance(heads), reason=REASON)


def _by_chance(features: Features) -> PerHead:
    """Mean CKA of each head's features with the same in random order; NaN where they are all the same."""
    traces, norms = np.square(centred(features)).sum(axis=(1, 2)), _norms(features)
    below = max(features.shape[1] - 1, 1) * np.square(norms)
    return np.divide(np.square(traces), below, out=np.full(len(features), np.nan), where=below > 0)


def centred(features: Features) -> Features:
    """Columns less their means over the samples, in float64."""
    wide = features.astype(np.float64)
    return wide - wide.mean(axis=1, keepdims=True) if wide.shape[1] else wide


def cka(features: Features) -> HeadPairs:
    """Linear CKA of each two heads' features; NaN for heads whose features are the same for all samples.

    Parameters
    ----------
    features
        A row for each sample, `(head, sample, feature)`; not centred.

    Notes
    -----
    ‖X₁ᵀX₂‖² is also the sum of the products of X₁X₁ᵀ and X₂X₂ᵀ; the one with the smaller arrays is computed.

    References
    ----------
    Kornblith et al. 2019, section 3, equation 3 and its linear kernel.
    """
    n_heads, n_samples, n_features = features.shape
    x = centred(features)
    is_smaller = n_samples * (n_features + n_heads) < n_heads * n_features**2
    if is_smaller and n_heads * n_samples**2 <= MOST_GRAM:
        kernels = np.matmul(x, x.transpose(0, 2, 1)).reshape(n_heads, -1)
        squared = kernels @ kernels.T
    else:
        squared = _by_features(x)
    is_same = np.diagonal(squared) <= _rounding(features) ** 2
    return np.where(np.logical_or.outer(is_same, is_same), np.nan, cosine_of(squared))


def _by_features(x: Features) -> HeadPairs:
    n_heads, n_samples, n_features = x.shape
    side = np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(n_samples, n_heads * n_features)
    upper = np.zeros((n_heads, n_heads))
    for head in range(n_heads):
        crossed = x[head].T @ side[:, head * n_features :]
        upper[head, head:] = np.square(crossed).reshape(n_features, n_heads - head, n_features).sum(axis=(0, 2))
    return symmetric(upper)


def _rounding(features: Features) -> PerHead:
    """What of the squares of each head's features is nothing but rounding: of their precision, and of their means."""
    share = STEPS * np.finfo(features.dtype).eps + features.shape[1] * np.finfo(np.float64).eps
    return share**2 * np.square(features.astype(np.float64)).sum(axis=(1, 2))


def _norms(features: Features) -> PerHead:
    """Norm of the sums of products of each head's centred features; 0 for what is nothing but rounding."""
    x = centred(features)
    norms = np.sqrt(np.square(np.matmul(x.transpose(0, 2, 1), x)).sum(axis=(1, 2)))
    return np.where(norms <= _rounding(features), 0.0, norms)


def _written(layers: Sequence[AttentionTrace], on_progress: Callable[[float], None] | None) -> Written:
    """What the heads of all layers take from the values."""
    parts: list[list[Written]] = []
    for place, trace in enumerate(layers):

        def tell(share: float, place: int = place) -> None:
            if on_progress is not None:
                on_progress((place + share) / len(layers))

        parts.append(list(trace.each_block(_writer(trace), on_progress=tell)))
    heads = np.concatenate([np.concatenate([one.heads for one in layer], axis=1) for layer in parts])
    return Written(heads, np.concatenate([np.concatenate([one.has_keys for one in layer], axis=1) for layer in parts]))


def _writer(trace: AttentionTrace) -> Callable[[Rows, range], Written]:
    value = np.where(np.isfinite(trace.value), trace.value, trace.value.dtype.type(0))
    n_heads, n_kv_heads = trace.n_heads, len(value)

    def write(rows: Rows, which: range) -> Written:
        del which
        read = value[:, rows.keys]
        n_q = rows.weights.shape[1]
        grouped = rows.weights.reshape(n_kv_heads, -1, n_q, len(rows.keys))
        context = np.matmul(grouped, read[:, None]).reshape(n_heads, n_q, -1)
        has_keys = np.broadcast_to(rows.n_allowed > 0, (n_heads, n_q))
        return Written(context, has_keys)

    return write
