"""Keys that are in no input: the learned ones and the zero one of PyTorch's `nn.MultiheadAttention`."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from attnviz.errors import SettingError, broken_rule
from attnviz.shapes import HeadMask, Keys, Mask, Values


def extended_keys(
    key: Keys,
    value: Values,
    mask: Mask | HeadMask | None = None,
    *,
    bias_key: Float[np.ndarray, "kv_head 1 d_head"] | None = None,
    bias_value: Float[np.ndarray, "kv_head 1 d_value"] | None = None,
    zero: bool = False,
) -> tuple[
    Float[np.ndarray, "kv_head longer d_head"],
    Float[np.ndarray, "kv_head longer d_value"],
    Bool[np.ndarray, "q longer"] | Bool[np.ndarray, "#head q longer"] | None,
]:
    """Keys and values with the extra ones behind them, and the mask, which allows every query the extra ones.

    Parameters
    ----------
    key, value
        Arrays `(kv_head, k, d_head)` and `(kv_head, k, d_value)`.
    mask
        True = may attend, `(q, k)` or `(head, q, k)`.
    bias_key, bias_value
        A learned key and value for each head, `(kv_head, 1, d)`: `add_bias_kv`.
    zero
        Whether a key and value of zeros follow: `add_zero_attn`.

    Raises
    ------
    SettingError
        If only one of `bias_key` and `bias_value` is given.

    Examples
    --------
    >>> key, value, _ = extended_keys(np.ones((1, 2, 4)), np.ones((1, 2, 3)), zero=True)
    >>> key.shape, value.shape, float(key[0, -1].sum())
    ((1, 3, 4), (1, 3, 3), 0.0)
    """
    if (bias_key is None) != (bias_value is None):
        missing, given = ("bias_value", "bias_key") if bias_value is None else ("bias_key", "bias_value")
        raise SettingError(broken_rule(missing, f"must be given with `{given}`", "none", "Give both or neither."))
    keys, values = [key], [value]
    if bias_key is not None and bias_value is not None:
        keys.append(bias_key)
        values.append(bias_value)
    if zero:
        keys.append(np.zeros_like(key[:, :1]))
        values.append(np.zeros_like(value[:, :1]))
    extra = len(keys) - 1
    wider = None if mask is None else np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, extra)], constant_values=True)
    return np.concatenate(keys, axis=1), np.concatenate(values, axis=1), wider
