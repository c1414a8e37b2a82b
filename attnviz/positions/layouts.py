"""Where the two columns of a pair stand: the sine and the cosine of a wave, or two columns that turn together."""

from __future__ import annotations

from attnviz.errors import SettingError, broken_rule, listed

INTERLEAVED = "interleaved"
HALF_SPLIT = "half-split"
LAYOUTS = (INTERLEAVED, HALF_SPLIT)


def pair_columns(n_columns: int, layout: str) -> tuple[slice, slice]:
    """The first and the second columns of all pairs; an odd number of columns has one more first than second.

    Parameters
    ----------
    n_columns
        How many columns are paired, counted from the left.
    layout
        `interleaved` pairs neighbours (0-1, 2-3), `half-split` column i with column i + n_columns / 2.

    Raises
    ------
    SettingError
        If there is no such layout.

    Examples
    --------
    >>> pair_columns(6, "half-split")
    (slice(0, 3, None), slice(3, 6, None))
    >>> pair_columns(6, "interleaved")
    (slice(0, 6, 2), slice(1, 6, 2))
    """
    if layout not in LAYOUTS:
        raise SettingError(
            broken_rule("layout", f"must be {listed(LAYOUTS)}", f"layout={layout}", f"Try {HALF_SPLIT}.")
        )
    if layout == INTERLEAVED:
        return slice(0, n_columns, 2), slice(1, n_columns, 2)
    half = (n_columns + 1) // 2
    return slice(0, half), slice(half, n_columns)
