"""Which BLAS kernel is measured."""

from __future__ import annotations

import os
import sys

from threadpoolctl import threadpool_info


def kernel() -> str:
    """Which BLAS kernel NumPy uses."""
    return ", ".join(
        f"{info['internal_api']} {info.get('version')} {info.get('architecture')}"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    )


def without_blas_settings() -> None:
    """Start again without the environment's own choice of a BLAS kernel."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    if len(clean) < len(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], clean)
