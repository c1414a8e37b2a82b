"""How many directions a matrix uses, read from its singular values; NaN where all of them are 0."""

from __future__ import annotations

import numpy as np

from attnviz.metrics.spectra import Spectra
from attnviz.registries import SPECTRA
from attnviz.registry import Annotated, Range
from attnviz.shapes import PerHead

ROUNDING = 1e-9
COUNTS = ("numerical_rank", "directions_for_most")
"""Measures whose values are whole numbers."""


def _where_any(values: PerHead, spectra: Spectra) -> PerHead:
    """Values, NaN for a matrix of zeros."""
    return np.where(spectra.largest > 0, values, np.nan)


@SPECTRA.register(
    label="Numerical rank",
    group="Rank",
    source="Golub & Van Loan 1996, section 5.5.8; bound d_head: Bhojanapalli et al. 2020, section 3",
    unit="directions",
    formula="number of σᵢ > σ₁ · max(rows, columns) · ε",
)
def numerical_rank(spectra: Spectra) -> PerHead:
    """How many directions are more than rounding: 0 for a matrix of zeros, at most the shorter side.

    Notes
    -----
    ε is the relative spacing of the numbers that the matrix was made of: 1.19e-7 in float32.
    """
    counts = (spectra.values > spectra.tolerance[:, None]).sum(axis=1)
    return np.where(np.isnan(spectra.values).any(axis=1), np.nan, counts.astype(np.float64))


@SPECTRA.register(
    label="Effective rank",
    group="Rank",
    source="Roy & Vetterli 2007, section 2",
    unit="directions",
    formula="exp(−Σ pᵢ ln pᵢ), pᵢ = σᵢ / Σ σ",
)
def effective_rank(spectra: Spectra) -> PerHead:
    """How many directions are used, counted by their size: 1 for a single one, n for n equal ones."""
    total = spectra.values.sum(axis=1, keepdims=True)
    shares = spectra.values / np.where(total > 0, total, 1.0)
    logs = np.log(shares, out=np.zeros(shares.shape), where=shares > 0)
    return _where_any(np.exp(-(shares * logs).sum(axis=1)), spectra)


@SPECTRA.register(
    label="Stable rank",
    group="Rank",
    source="Rudelson & Vershynin 2007, section 1",
    unit="directions",
    formula="Σ σᵢ² / σ₁²",
)
def stable_rank(spectra: Spectra) -> PerHead:
    """How many directions as strong as the strongest hold the same squared sum: 1 to the rank."""
    squared = np.square(spectra.values).sum(axis=1)
    return _where_any(squared / np.where(spectra.largest > 0, np.square(spectra.largest), 1.0), spectra)


@SPECTRA.register(
    label="Directions for most",
    group="Rank",
    source="Eckart & Young 1936; cumulated singular values of attention: Wang et al. 2020 (Linformer), section 3",
    unit="directions",
    formula="least m with σ₁² + … + σₘ² ≥ share · Σ σ²",
)
def directions_for_most(spectra: Spectra, *, share: Annotated[float, Range(0.5, 0.99, step=0.01)] = 0.9) -> PerHead:
    """How few directions hold most of the sum of the squared numbers of the matrix.

    Parameters
    ----------
    share
        How much of the sum they are to hold.

    Notes
    -----
    The sum is compared with the share less a billionth, so that rounding does not add a direction.
    """
    cumulated = np.cumsum(np.square(spectra.values), axis=1)
    enough = (share - ROUNDING) * cumulated[:, -1:]
    return _where_any(1.0 + (cumulated < enough).sum(axis=1), spectra)
